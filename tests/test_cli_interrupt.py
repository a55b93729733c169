"""Ctrl-C at any moment: the session is saved, nothing is left running, and the session goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import Home, home
from tests.model_server import calls, serve, text
from tests.processes import PROC, descendants, still_there, wait_until
from tests.terminal import INTERRUPT, on_terminal

pytestmark = pytest.mark.skipif(not (PROC / "self/stat").exists(), reason="looks at processes through /proc")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home(tmp_path_factory.mktemp("interrupt"), "good", "slow", "files", fixtures=("good", "slow"))


@contextmanager
def started(place: Home, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", *arguments],
        cwd=place.folder,
        env={**os.environ, **place.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process: subprocess.Popen[str], number: int = signal.SIGINT) -> str:
    """Send a signal to the process group, as a terminal does; return what was written to standard error."""
    os.killpg(process.pid, number)
    return process.communicate(timeout=30)[1]


def goes_on(place: Home, session: str) -> Sequence[str]:
    """Go on with the session; return the roles of what the model is shown."""
    with serve([text("Going on.")]) as server:
        arguments = ("run", "Go on.", "--model", "m", "--base-url", server.base_url, "--session", session)
        assert place.remit(*arguments).out == "Going on.\n"
        return [message["role"] for message in server.bodies[0]["messages"]]


def test_while_the_model_thinks(place: Home) -> None:
    with serve([text("Never.", delay=30)]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url, "--session", "think-1")
        with started(place, *arguments) as process:
            wait_until(lambda: server.requests, "the request")
            told = interrupted(process)
    assert process.returncode == 130
    assert "session think-1 is saved; --session think-1 goes on with it" in told
    assert "Traceback" not in told
    assert goes_on(place, "think-1")[:2] == ["system", "user"]


def test_sigterm_saves_the_session_as_ctrl_c_does(place: Home) -> None:
    with serve([text("Never.", delay=30)]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url, "--session", "term-1")
        with started(place, *arguments) as process:
            wait_until(lambda: server.requests, "the request")
            told = interrupted(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    assert "session term-1 is saved; --session term-1 goes on with it" in told
    assert told.endswith("ended by SIGTERM\n") and "Traceback" not in told
    assert goes_on(place, "term-1")[:2] == ["system", "user"]


def test_a_session_whose_process_is_gone_is_listed_as_interrupted(place: Home) -> None:
    with serve([text("Never.", delay=30)]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url, "--session", "gone-1")
        with started(place, *arguments) as process:
            wait_until(lambda: server.requests, "the request")
            live = place.remit("sessions", "list", "--status", "running")
            interrupted(process, signal.SIGKILL)
    dead = place.remit("sessions", "list", "--status", "running")
    assert "gone-1" in live.out and "interrupted" not in live.out
    assert "interrupted" in dead.out and "sessions resume" in dead.err
    told = place.remit("sessions", "list", "--json").json
    assert {one["session"]: one["interrupted"] for one in told}["gone-1"] is True


@pytest.mark.parametrize("seconds", [0, 1])
def test_while_a_call_runs_in_a_cell(place: Home, seconds: int) -> None:
    session = f"call-{seconds}"
    asked = calls(("slow__patient", {"steps": 1000, "pause": 0.05}))
    with serve([asked, text("Never.")]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url, "--session", session)
        with started(place, *arguments) as process:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            next(line for line in lines if "step 2 of 1000" in line)
            below = descendants(process.pid)
            assert len(below) >= 2, "a supervisor and a cell"
            told = interrupted(process)
    assert process.returncode == 130
    assert f"session {session} is saved" in told and "Traceback" not in told
    assert still_there(below) == set()
    assert goes_on(place, session)[:4] == ["system", "user", "assistant", "tool"]
    records = place.remit("log", "list", "--session", session, "--json").json
    finished = [record["body"]["status"] for record in records if record["event"] == "call.finished"]
    assert finished == ["cancelled"]


def test_while_a_call_without_a_model_runs(place: Home) -> None:
    with started(place, "call", "slow.patient", '{"steps": 1000, "pause": 0.05}') as process:
        assert process.stderr is not None
        next(line for line in iter(process.stderr.readline, "") if "step 2 of 1000" in line)
        below = descendants(process.pid)
        told = interrupted(process)
    assert process.returncode == 130
    assert told.endswith("interrupted\n") and "Traceback" not in told
    assert len(below) >= 2 and still_there(below) == set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_command_that_is_killed_leaves_nothing_behind(place: Home, number: int) -> None:
    with started(place, "call", "slow.patient", '{"steps": 1000, "pause": 0.05}') as process:
        assert process.stderr is not None
        next(line for line in iter(process.stderr.readline, "") if "step 2 of 1000" in line)
        below = descendants(process.pid)
        interrupted(process, number)
    assert process.returncode != 0
    assert len(below) >= 2 and still_there(below) == set()
    assert place.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_while_a_person_is_asked(place: Home) -> None:
    asked = calls(("files__write_file", {"path": "asked.txt", "content": "x"}))
    with serve([asked, text("Never.")]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url, "--session", "ask-1")
        with on_terminal(*arguments, folder=place.folder, environment=place.environment) as terminal:
            terminal.wait_for("(Enter denies): ")
            below = descendants(terminal.process.pid)
            terminal.type(INTERRUPT)
            assert terminal.finish() == 130
    assert "session ask-1 is saved" in terminal.text and "Traceback" not in terminal.text
    assert still_there(below) == set()
    assert not (place.workspace / "asked.txt").exists()
    assert goes_on(place, "ask-1")[:4] == ["system", "user", "assistant", "tool"]


def test_while_an_endpoint_is_waited_for(place: Home) -> None:
    arguments = ("run", "Hello", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--session", "retry-1")
    with started(place, *arguments) as process:
        assert process.stderr is not None
        next(line for line in iter(process.stderr.readline, "") if "asking again" in line)
        told = interrupted(process)
    assert process.returncode == 130
    assert "session retry-1 is saved" in told
    assert goes_on(place, "retry-1")[:2] == ["system", "user"]


def test_two_interrupts_leave_nothing_behind(place: Home) -> None:
    asked = calls(("slow__patient", {"steps": 1000, "pause": 0.05}))
    with serve([asked, text("Never.")]) as server:
        arguments = ("run", "Hello", "--model", "m", "--base-url", server.base_url, "--session", "twice-1")
        with started(place, *arguments) as process:
            assert process.stderr is not None
            next(line for line in iter(process.stderr.readline, "") if "step 2 of 1000" in line)
            below = descendants(process.pid)
            os.killpg(process.pid, signal.SIGINT)
            told = interrupted(process)
    assert process.returncode in (130, -signal.SIGINT)
    assert "session twice-1" in told or process.returncode == -signal.SIGINT
    assert still_there(below) == set()
    assert goes_on(place, "twice-1")[:2] == ["system", "user"]


def test_right_after_the_start(place: Home, tmp_path: Path) -> None:
    with started(place, "call", "slow.patient", '{"steps": 1000, "pause": 0.05}') as process:
        wait_until(lambda: descendants(process.pid), "the supervisor")
        below = descendants(process.pid)
        told = interrupted(process)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in told, told
    assert still_there(below) == set()
