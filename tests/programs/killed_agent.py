"""Agents that are killed at one of their events, and others that go on in their place; see tests/test_agent_killed.py.

    python killed_agent.py DEPLOYMENT POINT...

Each point is a number of events, after the last of which the process kills itself; 0 lets it live. For each, one line
of JSON tells what was done, what the session says, and of what the last event was.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remit import Agent, ScriptedModel, skill
from remit.loop.event_json import event_json
from remit.loop.events import Event
from remit.models.protocol import ModelRequest
from remit.models.scripted import ask

FOLDER = Path(sys.argv[1])


@skill(effect="write")
def note(text: str) -> str:
    """Note a text.

    Args:
        text: what to note.
    """
    with open(FOLDER / "effects", "a") as file:
        file.write(f"{text}\n")
    return f"noted {text}"


@skill(effect="read")
def look(n: int) -> list[int]:
    """Look something up.

    Args:
        n: what.
    """
    return [n, n]


TURNS: list[Any] = [
    [ask("local.note", text="one"), ask("local.look", n=1), ask("local.note", text="two")],
    "Let me look that up.",
    [ask("local.look", n=2), ask("local.look", n=3)],
    [ask("local.note", text="three"), ask("local.nothing")],
    "It is all noted.",
]


def turn(request: ModelRequest) -> Any:
    """Say what follows from the conversation alone, so that another process says the same."""
    return TURNS[sum(message.role == "assistant" for message in request.messages)]


def speaker() -> Agent:
    """Return the agent, over the state that all of them share."""
    return Agent(FOLDER / "deployment", model=ScriptedModel(turn), skills=(note, look))


def in_a_process(work: Callable[[], None]) -> int:
    """Do something in a process of its own; return its exit code, negative for a signal."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def begin(session: str, point: int) -> None:
    """Run, telling every event to a file, and die after so many."""
    seen = 0

    def listen(event: Event) -> None:
        nonlocal seen
        seen += 1
        print(json.dumps(event_json(event)), file=told, flush=True)
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)

    with open(FOLDER / "events", "w") as told, speaker() as agent:
        agent.run("note it all", session=session, on_event=listen)


def go_on(session: str) -> None:
    """Go on with the session, unless it has come to its end."""
    with speaker() as agent:
        saved = agent.state.load_session(session)
        if saved is not None and saved.status != "answered":
            agent.resume(session)


def tell(session: str, point: int, ended: int) -> None:
    """Print what there is now."""
    with speaker() as agent:
        saved, doubts = agent.state.load_session(session), agent.state.in_doubt()
        for doubt in doubts:  # or the same call of the next session would be refused
            agent.state.settle(doubt, done=False, by="ada")
        line = {
            "point": point,
            "killed": ended == -signal.SIGKILL,
            "events": [json.loads(line) for line in (FOLDER / "events").read_text().splitlines()],
            "effects": (FOLDER / "effects").read_text().split() if (FOLDER / "effects").exists() else [],
            "status": None if saved is None else saved.status,
            "transcript": [] if saved is None else list(saved.transcript),
            "doubts": [doubt.skill for doubt in doubts],
        }
    os.write(1, json.dumps(line).encode() + b"\n")


def main() -> None:
    """Try each point."""
    for point in map(int, sys.argv[2:]):
        session = f"s{point}"
        (FOLDER / "effects").unlink(missing_ok=True)
        ended = in_a_process(lambda session=session, point=point: begin(session, point))  # type: ignore[misc]
        if ended == -signal.SIGKILL:
            in_a_process(lambda session=session: go_on(session))  # type: ignore[misc]
        in_a_process(lambda session=session, point=point, ended=ended: tell(session, point, ended))  # type: ignore[misc]


main()
