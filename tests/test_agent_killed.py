"""kill -9 at any event of a run, and another process that goes on: no call twice, none lost.

`REMIT_KILL_POINTS=all` tries every event.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.evidence.verify import verify
from remit.loop.transcript import Transcript
from remit.state_folder import open_state
from tests.loop_parts import lawful

PROGRAM = Path(__file__).parent / "programs" / "killed_agent.py"
EFFECTS = ["one", "two", "three"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "deployment"
    place.mkdir()
    init(place, enforcement="available").apply()
    config = place / "remit.toml"
    text = config.read_text().replace('write = "ask"', 'write = "allow"')
    config.write_text(text + '\n[host_skills]\nallow = ["local.note", "local.look"]\n')
    trust(place)
    return tmp_path


def tried(folder: Path, *points: int) -> list[dict[str, Any]]:
    """Run the program; return what it tells of each point."""
    command = [sys.executable, str(PROGRAM), str(folder), *map(str, points)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(600)
def test_no_call_is_made_twice_and_none_is_lost(folder: Path) -> None:
    (plain,) = tried(folder, 0)
    assert (plain["status"], plain["effects"], plain["killed"]) == ("answered", EFFECTS, False)
    names = [event["event"] for event in plain["events"]]
    changes = [number for number, name in enumerate(names, 1) if name == "state_changed"]
    every = range(2, len(names) + 1)
    sample = [changes[0], changes[1], changes[2], changes[-1], names.index("call_progress") + 1]
    points = every if os.environ.get("REMIT_KILL_POINTS") == "all" else sample
    for found in tried(folder, *points):
        assert found["killed"] and found["status"] == "answered", found
        last = found["events"][-1]
        unknown = last["event"] == "call_progress" and last["skill"] == "local.note"
        lawful(Transcript.from_json(found["transcript"]).messages)
        statuses = [message["status"] for message in found["transcript"] if message["role"] == "tool"]
        if unknown:  # it died after the call was begun and before it was done: nobody can know that, so it is said
            assert statuses.count("lost") == len(found["doubts"]) == 1
            assert len(found["effects"]) == len(set(found["effects"])) == len(EFFECTS) - 1
        else:
            assert found["effects"] == EFFECTS and not found["doubts"]
            assert found["transcript"] == plain["transcript"]
    proof = verify(open_state(folder / "deployment").path / "state.db")
    assert proof.holds, proof.findings
