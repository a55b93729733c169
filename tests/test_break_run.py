"""Attacks on a run and its session: each one failed to be held once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remit
from remit import Agent, ScriptedModel
from remit.deployment.deployment import Deployment
from remit.loop.events import CallDecided, CallProgress, Event, StateChanged
from remit.models.scripted import ask
from tests.extension_parts import make_place
from tests.pipeline_parts import Person

ran: list[str] = []


@remit.skill(effect="write")
def write(text: str) -> str:
    """Write."""
    ran.append(text)
    return f"written {text}"


@remit.skill(effect="write")
def wipe(text: str = "") -> str:
    """Wipe."""
    ran.append("wiped")
    return "wiped"


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    ran.clear()
    yield


def results(agent: Agent, session: str) -> list[tuple[str, str]]:
    saved = agent.state.load_session(session)
    assert saved is not None
    return [(one["status"], one["content"]) for one in saved.transcript if one["role"] == "tool"]


HOSTILE: dict[str, Callable[[Event], bool]] = {
    "decided": lambda event: isinstance(event, CallDecided),
    "asking": lambda event: isinstance(event, CallProgress) and event.kind == "asking",
    "waiting": lambda event: isinstance(event, StateChanged) and event.new == "waiting",
    "answered": lambda event: isinstance(event, CallProgress) and event.kind == "answered",
    "started": lambda event: isinstance(event, CallProgress) and event.kind == "started",
}


@pytest.mark.parametrize("when", HOSTILE)
def test_a_listener_that_fails_does_not_make_a_call_that_ran_one_that_did_not(when: str) -> None:
    """The model read `Not run` of a call that had run, and made it again."""
    failed: list[Event] = []

    def listen(event: Event) -> None:
        if HOSTILE[when](event) and not failed:
            failed.append(event)
            raise ValueError("a listener")

    with Agent(
        model=ScriptedModel([ask("local.write", text="a"), "Done."]), skills=[write], approver=Person()
    ) as agent:
        with pytest.raises(ValueError, match="a listener"):
            agent.run("Go", session="s", on_event=listen)
        assert failed and ran == ["a"] and results(agent, "s") == [("ok", "written a")]
        assert agent.resume("s").status == "answered" and ran == ["a"]


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    place = make_place(tmp_path)
    place.edit("[model]", '[host_skills]\nallow = ["local.write", "local.wipe"]\n[model]')
    with place.open() as opened:
        yield opened


def agent_of(deployment: Deployment, script: list[Any], **options: Any) -> Agent:
    return Agent(deployment, model=ScriptedModel(script), skills=[write, wipe], **options)


def test_a_copy_of_a_run_that_waits_is_bound_as_that_one_was(deployment: Deployment) -> None:
    terms: dict[str, Any] = {"skills": ["local.write"], "max_steps": 3}
    with agent_of(deployment, [ask("local.write", text="a")] * 2) as agent:
        assert agent.run("Go", session="first", **terms).status == "parked"
        assert agent.run("Go", session="free", max_steps=3).status == "parked"
        for session in ("first", "free"):
            agent.state.fork_session(session, f"{session}-copy")
        agent.state.fork_session("first-copy", "second-copy")
    script = [ask("local.wipe"), ask("local.wipe"), ask("local.wipe")]
    for session in ("first", "first-copy", "second-copy", "free-copy"):
        ran.clear()
        with agent_of(deployment, script, approver=Person()) as agent:
            result = agent.resume(session)
            assert result.status == "stopped" and result.steps == 3, session
            assert ran == ["a", *["wiped"] * (session == "free-copy")], "the last is the control"


@pytest.mark.parametrize("granted", [["local.write"], None])
def test_a_copy_of_a_session_that_was_granted_little_has_no_more(
    deployment: Deployment, granted: list[str] | None
) -> None:
    with agent_of(deployment, ["a", ask("local.wipe"), "b"], approver=Person()) as agent:
        agent.run("Go", session="s", grant=granted)
        agent.state.fork_session("s", "copy")
        agent.state.delete_session("s")
        agent.run("Go", session="copy")
        assert ran == ([] if granted else ["wiped"])
