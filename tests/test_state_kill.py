"""kill -9 in the middle of writing: what was acknowledged is there and whole, and the log verifies.

`REMIT_KILLS=200` runs it as often as the issue asks.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remit.evidence.verify import verify
from remit.state.store import State

KILLS = int(os.environ.get("REMIT_KILLS", "4"))

PROGRAM = """
import asyncio, os, sys, threading
from pathlib import Path
from remit.evidence.checkpoints import Checkpoints
from remit.state.chain import Entry
from remit.state.store import State

state = State(Path(sys.argv[1]))
checkpoints = Checkpoints(state, every=200)
os.write(1, b"ready\\n")

def entries(name, number):
    about = dict(session=name, call=f"{name}-{number}", skill="files.write_file")
    sealed = {"arguments": "x" * (number * 37 % 3000)}
    return [
        Entry(event="call.decided", verdict="allow", **about),
        Entry(event="call.started", sealed=sealed, body={"owner": state.owner.id}, **about),
    ]

def thread(name):
    for number in range(10**9):
        seq = state.append_all(entries(name, number))
        os.write(1, f"{name} {number} {seq}\\n".encode())
        checkpoints.grown(seq)
        if number % 3:
            state.append("call.finished", session=name, call=f"{name}-{number}", durable=False)

async def task(name):
    for number in range(10**9):
        seq = await state.aappend_all(entries(name, number))
        os.write(1, f"{name} {number} {seq}\\n".encode())

async def tasks():
    await asyncio.gather(*(task(f"{sys.argv[2]}a{n}") for n in range(4)))

for n in range(4):
    threading.Thread(target=thread, args=(f"{sys.argv[2]}t{n}",), daemon=True).start()
asyncio.run(tasks())
"""


def _killed(folder: Path, name: str, seconds: float) -> list[tuple[str, int, int]]:
    """Run the program, kill it after so long, and return what it had been told was written."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), name], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    time.sleep(seconds)
    process.kill()
    text, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    lines = [line.split() for line in text.decode().split("\n")[:-1]]
    return [(session, int(number), int(seq)) for session, number, seq in lines]


@pytest.mark.timeout(1_800)
def test_what_was_acknowledged_survives_and_the_log_verifies(tmp_path: Path) -> None:
    rolled = random.Random(7)
    acknowledged: list[tuple[str, int, int]] = []
    for kill in range(KILLS):
        fresh = _killed(tmp_path, f"k{kill}", rolled.uniform(0.0, 0.4))
        acknowledged += fresh
        connection = sqlite3.connect(tmp_path / "state.db")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            assert not fresh
            connection.close()
            continue
        rows = dict(connection.execute("SELECT seq, call FROM records WHERE event = 'call.started'"))
        assert [f"{session}-{number}" for session, number, _ in fresh] == [rows.get(seq) for _, _, seq in fresh]
        connection.close()
        found = verify(tmp_path / "state.db")
        assert found.holds, found.findings
        with State(tmp_path) as state:
            lost = state.find_lost()
            assert {doubt.call for doubt in state.in_doubt()} >= {doubt.call for doubt in lost}
    told = {seq for _, _, seq in acknowledged}
    assert len(told) == len(acknowledged) > 0
    with State(tmp_path) as state:
        numbers = [record.seq for record in state.records()]
        assert numbers == list(range(1, len(numbers) + 1)) and told <= set(numbers)
        started = {r.call for r in state.records(event="call.started")}
        finished = {r.call for r in state.records(event="call.finished")}
        assert {doubt.call for doubt in state.in_doubt()} == started - finished
        assert all(json.dumps(record.body) for record in state.records(event="call.started"))
