"""A program that uses Remit stays as it is: environment, signals, umask, folder, children, event loop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Home, home

PROGRAM = Path(__file__).parent / "programs/embedding_program.py"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home(tmp_path_factory.mktemp("embedding"), "good", fixtures=("good",))


@pytest.mark.parametrize("how", ["agent", "code", "deployment", "loop", "thread", "fork"])
def test_the_program_stays_as_it_is(place: Home, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", str(PROGRAM), how],
        cwd=place.folder,
        env={**os.environ, **place.environment, "OWN": "kept"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["answer"].startswith("It is 5")
    assert told["changed"] == {}
    assert told["codes"] == [3, 4], "the results of its own children are still its own"
    assert told["alive"], "its other child was left alone"
    assert told["left"] == 0, "no child of Remit is left for the program to reap"
    assert int(signal.SIGTERM) in told["heard"] and int(signal.SIGINT) not in told["heard"]
    assert done.stderr == ""


def test_the_program_notices_a_change() -> None:
    """The control: what the program compares does see a change."""
    code = "import os, embedding_program as p; b = p.surroundings(); os.umask(1); os.environ['X'] = '1'; import signal;"
    code += "signal.signal(signal.SIGINT, p.handler); a = p.surroundings(); print([n for n in b if a[n] != b[n]])"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROGRAM.parent, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "['environment', 'handlers', 'umask']", done.stderr
