"""Processes that die, and many that come at once: an approval runs its call once, and what is in doubt is said."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.evidence.verify import verify
from remit_sandbox.signoff import SignoffDecision
from tests.pipeline_parts import Bench, host_skill

ROOT = Path(__file__).resolve().parent.parent
written: list[str] = []


def write(text: str, note: str = "") -> str:
    """Write."""
    written.append(text + note)
    return "written"


WRITE = host_skill(write, effect="write", targets={"text": "name"}, hash="h1", version="1.0")


@pytest.fixture(autouse=True)
def nothing_written() -> Iterator[None]:
    written.clear()
    yield


def answer(bench: Bench) -> None:
    """Approve the only request that waits."""
    (one,) = bench.state.signoffs()
    decision = SignoffDecision(answer="once", digest=one.digest, by="ann", channel="command")
    assert bench.state.give_answer(one, decision) == ("approved", "")


_PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from remit.state.signoffs import Signoffs
from tests.pipeline_parts import Bench, call, host_skill

folder, stage, together = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def write(text: str, note: str = "") -> str:
    with open(folder / "count", "a") as file:
        file.write("x")
    if stage == "in the call":
        os.kill(os.getpid(), signal.SIGKILL)
    return "written"

original = Signoffs.astart_call

async def dying(self, *args, **options):
    if stage == "before the start":
        os.kill(os.getpid(), signal.SIGKILL)
    done = await original(self, *args, **options)
    if stage == "after the start":
        os.kill(os.getpid(), signal.SIGKILL)
    return done

async def all_at_once(bench):
    calls = [bench.pipeline.call(call("local.write", text="a")) for _ in range(together)]
    return [result.status for result in await asyncio.gather(*calls)]

Signoffs.astart_call = dying
skill = host_skill(write, effect="write", targets={"text": "name"}, hash="h1", version="1.0")
with Bench(folder, skill) as bench:
    print(" ".join(asyncio.run(all_at_once(bench))))
"""


def program(folder: Path, stage: str, together: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROGRAM, str(folder), stage, str(together)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def count(folder: Path) -> int:
    file = folder / "count"
    return len(file.read_text()) if file.exists() else 0


@pytest.mark.parametrize(
    ("stage", "later", "runs"),
    [("before the start", "ok", 0), ("after the start", "denied", 0), ("in the call", "denied", 1)],
)
def test_a_process_that_is_killed_between_approval_and_end_runs_nothing_twice(
    tmp_path: Path, stage: str, later: str, runs: int
) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        answer(bench)
    killed = program(tmp_path, stage)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL and count(tmp_path) == runs
    with Bench(tmp_path, WRITE) as bench:
        again = bench.call("local.write", text="a")
        assert again.status == later and written == (["a"] if later == "ok" else [])
        assert len(bench.state.in_doubt()) == (later == "denied")
        assert bench.state.signoffs(everything=True)[0].state == "consumed"


def test_fifty_calls_in_two_processes_take_one_approval_up_once(tmp_path: Path) -> None:
    with Bench(tmp_path, WRITE) as bench:
        bench.call("local.write", text="a")
        answer(bench)
    running = [program(tmp_path, "", together=25) for _ in range(2)]
    told = [status for process in running for status in process.communicate(timeout=60)[0].split()]
    assert len(told) == 50 and told.count("ok") == 1 and set(told) <= {"ok", "denied", "parked"}
    assert count(tmp_path) == 1 and verify(tmp_path / "remit-state" / "state.db").holds
