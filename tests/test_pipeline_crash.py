"""A process that dies in the middle of a call: what was started stays in the log, in doubt."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from remit.state.store import State

_PROGRAM = """
import os, signal, sys
from pathlib import Path
from tests.pipeline_parts import Bench, Person, host_skill

def act(die: bool) -> str:
    (Path(sys.argv[1]) / "acted").touch()
    if die:
        os.kill(os.getpid(), signal.SIGKILL)
    return "lived"

with Bench(Path(sys.argv[1]), host_skill(act, effect="write"), approver=Person()) as bench:
    bench.call("local.act", die=False)
    bench.call("local.act", die=True)
"""


def test_a_call_that_was_started_and_never_finished_is_in_the_log(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent
    ended = subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path)], cwd=root, timeout=60)
    assert ended.returncode == -signal.SIGKILL and (tmp_path / "acted").exists()
    with State(tmp_path / "remit-state") as state:
        started = [record.call for record in state.records(event="call.started")]
        finished = [record.call for record in state.records(event="call.finished")]
        assert len(started) == 2 and finished == started[:1]
        used = state.database.read(lambda c: c.execute("SELECT state FROM signoffs").fetchall())
        assert used == [("consumed",), ("consumed",)]
        assert state.append("log.read") > 0
