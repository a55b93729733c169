"""A call that was lost with its process is not repeated in silence."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remit.evidence.verify import verify
from remit_sandbox.inside.context import Context
from tests.pipeline_parts import Bench, Person, host_skill

KEYS: list[str] = []

PROGRAM = """
import os, signal, sys
from pathlib import Path
from tests.pipeline_parts import Bench, Person, host_skill

def act(text: str) -> str:
    '''Act.'''
    os.kill(os.getpid(), signal.SIGKILL)
    return text

with Bench(Path(sys.argv[1]), host_skill(act, effect="write"), approver=Person()) as bench:
    bench.call("local.act", text=sys.argv[2])
"""


def act(text: str, ctx: Context) -> str:
    """Act."""
    KEYS.append(ctx.key)
    return text


@pytest.fixture
def died(tmp_path: Path) -> Path:
    """Return a folder where a process died while it did `act(text="once")`."""
    KEYS.clear()
    root = Path(__file__).resolve().parent.parent
    ended = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), "once"], cwd=root, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    return tmp_path


def test_the_same_call_is_refused_until_a_person_settled_it(died: Path) -> None:
    with Bench(died, host_skill(act, effect="write"), approver=Person()) as bench:
        refused = bench.call("local.act", text="once")
        assert refused.status == "denied" and "nobody knows whether it was done" in refused.text
        assert "remit log settle" in refused.remedy and KEYS == []
        assert bench.call("local.act", text="other").status == "ok"
        (doubt,) = bench.state.in_doubt()
        assert [record.call for record in bench.state.records(event="call.lost")] == [doubt.call]
        bench.state.settle(doubt, done=False, by="ann")
        assert bench.call("local.act", text="once").status == "ok"
    assert verify(bench.state.folder / "state.db").holds


def test_an_idempotent_skill_is_called_again_with_the_same_key(died: Path) -> None:
    with Bench(died, host_skill(act, effect="write", idempotent=True), approver=Person()) as bench:
        (doubt,) = bench.state.find_lost()
        assert bench.call("local.act", text="other").status == "ok"
        assert bench.state.in_doubt() == (doubt,)
        assert bench.call("local.act", text="once").status == "ok"
        assert KEYS[1] == doubt.key != KEYS[0] and len(KEYS[0]) == 32
        assert bench.state.in_doubt() == ()
        (settled,) = bench.state.records(event="call.settled")
        assert settled.body["how"] == "retry"
        assert bench.call("local.act", text="once").status == "ok" and KEYS[2] != doubt.key
    assert verify(bench.state.folder / "state.db").holds


def test_what_ran_is_in_the_record(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(act, effect="write"), approver=Person()) as bench:
        bench.call("local.act", text="a")
        (started,) = bench.state.records(event="call.started")
        (asked,) = bench.state.records(event="signoff.asked")
        assert started.body["signed"] == asked.body["action"]
        assert started.body["owner"] == bench.state.owner.id and started.body["key"]
        assert (started.who, started.effect, started.verdict) == ("person", "write", "ask")
    assert verify(bench.state.folder / "state.db").holds
