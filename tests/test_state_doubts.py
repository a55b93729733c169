"""Calls whose process died: lost, in doubt, and settled once."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.evidence.verify import verify
from remit.state.chain import Entry
from remit.state.owner import is_alive
from remit.state.store import State

PROGRAM = """
import os, signal, sys
from pathlib import Path
from remit.state.chain import Entry
from remit.state.store import State
state = State(Path(sys.argv[1]))
owner = {"owner": state.owner.id, "action": "a", "key": "k"}
kinds = ("write", "read")
calls = [Entry(event="call.decided", call=kind, session="s", verdict="allow") for kind in kinds]
calls += [Entry(event="call.started", call=kind, session="s", effect=kind, body=owner) for kind in kinds]
state.append_all(calls)
print(state.owner.id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path) as state:
        yield state


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_calls_of_a_live_process_are_left_alone(state: State, other: subprocess.Popen[bytes]) -> None:
    assert state.find_lost() == () and state.in_doubt() == ()
    _kill(other)
    assert len(state.find_lost()) == 2


def test_a_lost_write_is_in_doubt_and_a_lost_read_is_not(state: State, other: subprocess.Popen[bytes]) -> None:
    _kill(other)
    state.find_lost()
    assert state.find_lost() == ()
    (doubt,) = state.in_doubt()
    assert (doubt.call, doubt.effect, doubt.key) == ("write", "write", "k")
    assert state.doubt_about("a") == doubt and state.doubt_about("b") is None
    lost = list(state.records(event="call.lost"))
    assert [(one.call, one.status, one.body["started"]) for one in lost] == [("write", "lost", 3), ("read", "lost", 4)]
    assert verify(state.database.path).holds


def test_a_doubt_is_settled_once(state: State, other: subprocess.Popen[bytes]) -> None:
    _kill(other)
    state.find_lost()
    (doubt,) = state.in_doubt()
    assert state.settle(doubt, done=False, by="ann", note="the file is not there")
    assert not state.settle(doubt, done=True, by="ben")
    assert state.in_doubt() == ()
    (settled,) = state.records(event="call.settled")
    assert (settled.body["done"], settled.body["by"], settled.body["note"]) == (False, "ann", "the file is not there")


def test_two_that_look_at_once_write_it_once(tmp_path: Path, other: subprocess.Popen[bytes]) -> None:
    _kill(other)
    with State(tmp_path) as one, State(tmp_path) as two:
        gone = one._open("running")
        assert len(gone) == 2
        assert len(two.find_lost()) == 2 and one.find_lost() == ()
        assert len(list(one.records(event="call.lost"))) == 2


def test_a_finished_call_is_in_no_doubt_even_when_its_process_is_gone(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        started = Entry(event="call.started", session="s", call="1", effect="write", body={"owner": state.owner.id})
        state.append_all([started])
        state.append("call.finished", session="s", call="1")
    with State(tmp_path) as state:
        assert state.find_lost() == () and state.in_doubt() == ()


def test_a_second_call_of_the_same_id_does_not_settle_the_first(state: State, other: subprocess.Popen[bytes]) -> None:
    _kill(other)
    state.find_lost()
    state.append("call.started", session="s", call="write", body={"owner": state.owner.id})
    state.append("call.finished", session="s", call="write")
    assert [doubt.call for doubt in state.in_doubt()] == ["write"]


def test_the_lock_of_an_owner_is_private_and_goes_with_it(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        owner = state.owner.id
        (path,) = (tmp_path / "running").iterdir()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert is_alive(tmp_path, owner) and state.owner.id == owner
    assert not is_alive(tmp_path, owner) and not list((tmp_path / "running").iterdir())
    for strange in ("", "../x", "1-../../x", "no"):
        assert not is_alive(tmp_path, strange)


def test_a_forked_child_is_another_owner(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        owner = state.owner.id
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, state.owner.id.encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        theirs = os.read(reading, 100).decode()
        os.close(reading)
        assert theirs and theirs != owner
        assert is_alive(tmp_path, owner) and not is_alive(tmp_path, theirs)
