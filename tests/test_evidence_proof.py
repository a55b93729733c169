"""Proof for one record, checked by a program that shares no line with Remit; and anchors in their places."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from remit.errors import EvidenceError, UsageError
from remit.evidence.anchors import get_anchor, put_anchor
from remit.evidence.notes import SignerKey
from remit.evidence.proof import Proof, prove
from remit.state.store import State
from tests.evidence_parts import Signed, make_log

CHECKER = Path(__file__).resolve().parent.parent / "examples" / "check_proof.py"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    return make_log(tmp_path_factory.mktemp("log"), 173, every=60)


def checked(folder: Path, proof: str, key: object) -> subprocess.CompletedProcess[str]:
    """Let the independent program check a proof."""
    (folder / "x.tlog-proof").write_text(proof, "utf-8")
    (folder / "log.pub").write_text(f"{key}\n", "utf-8")
    program = [sys.executable, "-I", str(CHECKER), str(folder / "x.tlog-proof"), str(folder / "log.pub")]
    return subprocess.run(program, capture_output=True, text=True, timeout=60)


def test_every_record_is_proved(log: Signed) -> None:
    with State(log.path.parent) as state:
        for seq in range(1, 174):
            proof = Proof.parse(str(prove(state, seq)))
            assert proof.problem(log.key) == "" and json.loads(proof.record)["seq"] == seq
        with pytest.raises(EvidenceError, match="no record"):
            prove(state, 10_000)


def test_an_independent_program_agrees(log: Signed, tmp_path: Path) -> None:
    with State(log.path.parent) as state:
        proof = prove(state, 42)
        ran = checked(tmp_path, str(proof), log.key)
        assert ran.returncode == 0, ran.stderr
        shown = json.loads(ran.stdout.partition("\n")[2])
        record = next(state.records(after=41, limit=1))
        assert (shown["seq"], shown["event"], shown["sealed"]) == (42, record.event, record.sealed)
        assert "arguments" not in ran.stdout


def test_a_false_proof_is_refused_by_both(log: Signed, tmp_path: Path) -> None:
    with State(log.path.parent) as state:
        honest, other = prove(state, 42), prove(state, 43)
    stranger = SignerKey.generate(log.key.name).verifier
    cases = [
        (str(honest).replace("index 41", "index 40"), log.key),
        (str(honest).replace("index 41", "index 900"), log.key),
        (str(honest).replace(str(honest).split("\n")[1], str(other).split("\n")[1]), log.key),
        (str(honest).replace(str(honest).split("\n")[3] + "\n", "", 1), log.key),
        (str(honest).replace(f"\n{honest.checkpoint.size}\n", "\n99\n"), log.key),
        (str(honest), stranger),
    ]
    for text, key in cases:
        assert text != str(honest) or key is stranger
        assert Proof.parse(text).problem(key)
        assert checked(tmp_path, text, key).returncode == 1
    for nonsense in ("", "x", str(honest)[:100], str(honest).replace("index 41", "index x")):
        with pytest.raises(EvidenceError):
            Proof.parse(nonsense)


def test_an_anchor_in_a_file(log: Signed, tmp_path: Path) -> None:
    put_anchor("anchor.txt", log.anchor, folder=tmp_path)
    assert get_anchor("anchor.txt", folder=tmp_path) == log.anchor
    with pytest.raises(EvidenceError, match="cannot be written"):
        put_anchor("none/anchor.txt", log.anchor, folder=tmp_path)
    with pytest.raises(EvidenceError, match="cannot be read"):
        get_anchor("none.txt", folder=tmp_path)


def test_an_anchor_in_a_git_ref(log: Signed, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for _ in range(2):
        put_anchor("git:refs/remit/log", log.anchor, folder=tmp_path)
    assert get_anchor("git:refs/remit/log", folder=tmp_path) == log.anchor
    history = subprocess.run(
        ["git", "log", "--format=%s", "refs/remit/log"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert history.stdout.splitlines() == [f"{log.anchor.origin} at 173 records"] * 2
    assert not [path for path in tmp_path.iterdir() if path.name != ".git"]
    for wrong in ("git:", "git:-x", "git:a b"):
        with pytest.raises(UsageError):
            put_anchor(wrong, log.anchor, folder=tmp_path)
    with pytest.raises(EvidenceError, match="git"):
        get_anchor("git:refs/remit/none", folder=tmp_path)


def test_an_anchor_given_to_a_command(log: Signed, tmp_path: Path) -> None:
    put_anchor(
        f'command:{sys.executable} -c \'import sys; open("kept", "w").write(sys.stdin.read())\'',
        log.anchor,
        folder=tmp_path,
    )
    assert get_anchor("kept", folder=tmp_path) == log.anchor
    with pytest.raises(EvidenceError, match="exit code 3"):
        put_anchor(f"command:{sys.executable} -c 'raise SystemExit(3)'", log.anchor, folder=tmp_path)
    with pytest.raises(EvidenceError, match="no program"):
        put_anchor("command:no-such-program-here", log.anchor, folder=tmp_path)
    with pytest.raises(UsageError):
        put_anchor("command:", log.anchor, folder=tmp_path)
