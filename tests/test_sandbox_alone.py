"""The sandbox without Remit: read-only mode, time limits and sign-off in a program that never imports `remit`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from remit_sandbox import Sandbox
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest, fits, may_follow
from remit_sandbox.values import Rights
from tests.sandbox_parts import call, make_pack, run, spec_of, value

ROOT = Path(__file__).parents[1]

ALONE = """
import importlib.abc, sys
class NoRemit(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "remit" or name.startswith("remit."):
            raise ImportError("remit was imported")
sys.meta_path.insert(0, NoRemit())
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from remit_sandbox import Sandbox
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest, fits
from tests.sandbox_parts import call, make_pack, spec_of, value
spec = spec_of(make_pack(Path(sys.argv[2])))
with Sandbox() as sandbox, sandbox.borrow(spec, "s") as cell:
    print(value(call(cell, "echo", text="called")))
    print(call(cell, "spin", timeout=0.2).kind)
action = Action(skill="mail.send", version="1", skill_hash="h", arguments={}, session="s", principal="p", policy="d")
request = SignoffRequest(action=action)
print(repr(fits(request, SignoffDecision(answer="once", digest=request.digest))))
print("remit" in sys.modules)
"""


def test_everything_here_works_without_remit(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(ALONE), str(ROOT), str(tmp_path / "packs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["called", "timeout", "''", "False"], done.stderr


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


WRITES = [
    "open('{root}/old', 'w').write('changed')",
    "open('{root}/old', 'a').write('changed')",
    "import os; os.truncate('{root}/old', 0)",
    "open('{root}/new', 'w').close()",
    "import os; os.unlink('{root}/old')",
    "import os; os.rename('{root}/old', '{root}/moved')",
    "import os; os.mkdir('{root}/folder')",
    "import os; os.symlink('/etc', '{root}/link')",
]


@pytest.mark.confinement
@pytest.mark.parametrize("write", WRITES)
def test_read_only_means_no_write_root(pack: Path, tmp_path: Path, write: str) -> None:
    """What a host takes from a skill in read-only mode is `Rights.write`; the control still has it."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "old").write_text("kept", encoding="utf-8")
    everything = spec_of(pack, confined=True, rights=Rights(read=(f"{root}/**",), write=(f"{root}/**",)))
    read_only = replace(everything, rights=replace(everything.rights, write=()))
    with Sandbox() as sandbox:
        with sandbox.borrow(read_only, "s") as cell:
            assert value(run(cell, f"out = open('{root}/old').read()")) == "'kept'"
            assert run(cell, write.format(root=root)).kind == "failed"
            assert value(run(cell, "open('own', 'w').close(); out = 'its own folder'")) == "'its own folder'"
        assert [path.name for path in root.iterdir()] == ["old"]
        assert (root / "old").read_text(encoding="utf-8") == "kept"
        with sandbox.borrow(everything, "s") as cell:
            assert run(cell, write.format(root=root)).kind == "result"


@pytest.mark.confinement
def test_strictly_read_only_means_no_network_either(pack: Path) -> None:
    look = "import socket; out = socket.getaddrinfo('allowed.example', 443)[0][4][1]"
    net = spec_of(pack, confined=True, rights=Rights(net=("allowed.example:443",)))
    with Sandbox() as sandbox:
        with sandbox.borrow(net, "s") as cell:
            assert value(run(cell, look)) == "443"
        with sandbox.borrow(replace(net, rights=Rights()), "s") as cell:
            assert run(cell, look).kind == "failed"


def test_time_is_hard_and_the_next_call_is_served(pack: Path) -> None:
    with Sandbox() as sandbox:
        with sandbox.borrow(spec_of(pack), "s") as cell:
            assert value(call(cell, "sleep", seconds=0.05, timeout=30)) == "awake"
            started = time.monotonic()
            assert call(cell, "spin", timeout=0.2).kind == "timeout"
            assert time.monotonic() - started < 20
        with sandbox.borrow(spec_of(pack), "s") as cell:
            assert value(call(cell, "echo", text="next")) == "next"


ACTION = Action(
    skill="files.delete",
    version="1",
    skill_hash="h",
    arguments={"path": "a"},
    resolved={"path": "/w/a"},
    session="s",
    principal="p",
    policy="d",
)


@pytest.mark.parametrize("change", [{"arguments": {"path": "b"}}, {"session": "t"}, {"resolved": {"path": "/w/b"}}])
def test_a_sign_off_is_good_for_one_exact_action(change: dict[str, object]) -> None:
    request = SignoffRequest(action=ACTION)
    other = replace(request, action=replace(ACTION, **change))  # type: ignore[arg-type]
    decision = SignoffDecision(answer="once", digest=request.digest)
    assert fits(request, decision) == ""
    assert "another action" in fits(other, decision)
    assert "another action" in fits(SignoffRequest(action=ACTION), decision), "its nonce is its own"


def test_a_sign_off_expires_and_a_denial_does_not() -> None:
    request = SignoffRequest(action=ACTION, expires=100.0)
    approval = SignoffDecision(answer="once", digest=request.digest)
    assert fits(request, approval, now=99.0) == ""
    assert "expired" in fits(request, approval, now=101.0)
    assert fits(request, replace(approval, answer="deny"), now=101.0) == ""


def test_a_sign_off_is_consumed_once_and_nothing_leads_back() -> None:
    assert may_follow("pending", "approved") and may_follow("approved", "consumed")
    for end in ("denied", "expired", "consumed"):
        assert not any(may_follow(end, after) for after in ("pending", "approved", "consumed"))  # type: ignore[arg-type]
    assert not may_follow("pending", "consumed")
