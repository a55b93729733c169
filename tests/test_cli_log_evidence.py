"""`remit log verify|anchor|prove|key|settle|backup`."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from remit.cli.main import run
from remit.deployment.init import init
from remit.state.chain import Entry
from remit.state.store import State
from remit.state_folder import find_state
from tests.evidence_parts import call_entries


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the state folder of a deployment in the working directory, with some calls in its log."""
    place = tmp_path / "deployment"
    place.mkdir()
    monkeypatch.chdir(place)
    init(place, enforcement="available").apply()
    found = find_state(place)
    assert found is not None
    with State(found.path) as state:
        for number in range(6):
            state.append_all(call_entries(number))
    return found.path


class Shell:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, expect: int = 0) -> str:
        self._capsys.readouterr()
        code = run(["log", *arguments])
        printed = self._capsys.readouterr()
        assert code == expect, printed
        self.err = printed.err
        return printed.out

    def json(self, *arguments: str, expect: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", expect=expect))


@pytest.fixture
def remit(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def records(folder: Path) -> int:
    """Return how many records there are."""
    with State(folder) as state:
        return next(state.records(newest_first=True, limit=1)).seq


def change(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "state.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_an_honest_log_holds_with_and_without_an_anchor(folder: Path, remit: Shell) -> None:
    count = records(folder)
    assert f"the log holds: {count} records" in remit("verify") and "no anchor was given" in remit.err
    remit("anchor", "--to", "anchor.txt")
    found = remit("verify", "--against", "anchor.txt")
    assert f"anchored     up to record {count}" in found and "no anchor was given" not in remit.err
    facts = remit.json("verify", "--against", "anchor.txt")
    assert (facts["holds"], facts["anchored"], facts["first"]) == (True, count, None)


def test_a_falsified_log_is_named_and_ends_with_1(folder: Path, remit: Shell) -> None:
    remit("anchor", "--to", "anchor.txt")
    key = remit("key").strip()
    change(folder, "UPDATE records SET who = 'mallory' WHERE seq = 7")
    assert "first bad record: 7, edited" in remit("verify", "--against", "anchor.txt", "--key", key, expect=1)
    assert "  next: end every program that uses it" in remit.err and "remit log verify --file COPY" in remit.err
    facts = remit.json("verify", expect=1)
    assert facts["holds"] is False and facts["first"]["seq"] == 7 and facts["first"]["kind"] == "edited"


def test_a_file_that_is_damaged_says_what_may_still_hold(folder: Path, remit: Shell, tmp_path: Path) -> None:
    (tmp_path / "no.db").write_bytes(b"x" * 8_192)
    remit("verify", "--file", str(tmp_path / "no.db"), expect=1)
    assert "cannot be read" in remit.err and "a copy that remit log backup made" in remit.err


def test_records_taken_from_the_end_are_missed_without_an_anchor_too(folder: Path, remit: Shell) -> None:
    left = records(folder) - 5
    change(folder, "DELETE FROM records WHERE seq > (SELECT max(seq) - 5 FROM records)")
    assert f"first bad record: {left + 1}, truncated" in remit("verify", expect=1)
    change(folder, f"UPDATE sqlite_sequence SET seq = {left} WHERE name = 'records'")
    assert f"5 records were written after record {left} and are gone" in remit("verify", expect=1)


def test_a_deleted_file_is_noticed(folder: Path, remit: Shell) -> None:
    remit("anchor", "--to", "anchor.txt")
    for path in folder.glob("state.db*"):
        path.unlink()
    with State(folder) as state:
        state.append_all(call_entries(0))
    assert "begun anew" in remit("verify")
    assert "another log" in remit("verify", "--against", "anchor.txt", expect=1)


def test_an_anchor_signed_by_somebody_else_is_refused(folder: Path, remit: Shell) -> None:
    remit("anchor", "--to", "anchor.txt")
    remit("key", "--new", f"file:{folder / 'other.key'}")
    from remit.evidence.keys import load_signer

    (folder / "other.pub").write_text(str(load_signer(folder, f"file:{folder / 'other.key'}").verifier))
    remit("verify", "--against", "anchor.txt", "--key", str(folder / "other.pub"), expect=1)
    assert "not signed by" in remit.err and "--key" in remit.err
    for wrong in ("none.txt", "git:refs/remit/none"):
        remit("verify", "--against", wrong, expect=1)


def test_an_anchor_is_printed_or_described(folder: Path, remit: Shell) -> None:
    count = records(folder)
    note = remit("anchor")
    assert note.startswith("remit.log/") and "\u2014 remit.log/" in note
    facts = remit.json("anchor")
    assert facts["size"] == count and facts["note"].strip() == note.strip()


def test_one_record_is_proved(folder: Path, remit: Shell) -> None:
    assert "record 9" in remit("prove", "9", "--out", "nine.tlog-proof")
    assert Path("nine.tlog-proof").read_text("utf-8").startswith("c2sp.org/tlog-proof@v1\n")
    assert remit("prove", "9").startswith("c2sp.org/tlog-proof@v1\n")
    remit("prove", "900", expect=1)
    assert "no record 900" in remit.err


def test_a_backup_verifies_and_is_not_written_over(folder: Path, remit: Shell) -> None:
    assert "copy.db" in remit("backup", "copy.db")
    assert "the log holds" in remit("verify", "--file", "copy.db")  # there is no checkpoint to be checked yet
    remit("backup", "copy.db", expect=2)
    shutil.copy("copy.db", "bad.db")
    connection = sqlite3.connect("bad.db")
    connection.execute("DELETE FROM records WHERE seq = 4")
    connection.commit()
    connection.close()
    assert "first bad record: 4, deleted" in remit("verify", "--file", "bad.db", expect=1)
    remit("verify", "--file", "none.db", expect=1)


def test_a_log_that_is_not_signed_by_the_key_given_is_not_verified(folder: Path, remit: Shell) -> None:
    from remit.evidence.notes import SignerKey

    Path("other.pub").write_text(str(SignerKey.generate("other").verifier))
    assert "no checkpoint in the log is signed by this key" in remit("verify", "--key", "other.pub", expect=1)
    remit("anchor", "--to", "anchor.txt")
    seq = records(folder)
    text = remit("verify", "--key", "other.pub", expect=1)
    assert f"not verified: the checkpoint at record {seq} is not signed by this key" in text and "holds" not in text
    facts = remit.json("verify", "--key", "other.pub", expect=1)
    assert facts["holds"] is False and facts["unsigned"] and facts["first"] is None
    key = remit("key").strip()
    assert "the log holds" in remit("verify", "--key", "other.pub", "--key", key)
    remit("backup", "copy.db")
    assert "no signature could be checked" in remit("verify", "--file", "copy.db", expect=1) and "--key" in remit.err
    assert "the log holds" in remit("verify", "--file", "copy.db", "--key", key)
    assert "the log holds" in remit("verify", "--file", "copy.db", "--against", "anchor.txt")


def test_a_key_kept_elsewhere_is_known_to_verify_from_its_first_checkpoint_on(folder: Path, remit: Shell) -> None:
    from remit.evidence.checkpoints import make_checkpoint

    old = remit("key").strip()
    remit("anchor")
    remit("key", "--new", f"file:{folder / 'other.key'}")
    with State(folder) as state:
        state.append("x")
        make_checkpoint(state, key=f"file:{folder / 'other.key'}")
    assert "the log holds" in remit("verify")
    assert "is not signed by this key" in remit("verify", "--key", old, expect=1)


def test_calls_in_doubt_are_listed_and_settled(folder: Path, remit: Shell) -> None:
    assert "no call is in doubt" in remit("settle")
    with State(folder) as state:
        about: dict[str, Any] = {"session": "s", "skill": "files.write_file", "effect": "write", "who": "ann"}
        state.append_all([Entry(event="call.started", call=call, **about) for call in ("lost\x1b[31m", "other")])
    shown = remit("settle")
    assert "files.write_file" in shown and "\x1b[31m" not in shown and "--not-done" in remit.err
    first, second = (one["seq"] for one in remit.json("settle"))
    assert second == first + 1
    remit("settle", "other", expect=2)
    assert "--done or --not-done" in remit.err
    assert "settled as not done" in remit("settle", "other", "--not-done", "--note", "looked")
    assert "settled as done" in remit("settle", str(first), "--done")
    remit("settle", str(first), "--done", expect=2)
    assert "no call is in doubt" in remit("settle")


def test_every_action_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("verify", "anchor", "prove", "key", "settle", "backup"):
        with pytest.raises(SystemExit):
            run(["log", action, "--help"])
        assert f"remit log {action}" in capsys.readouterr().out.partition("example")[2]
