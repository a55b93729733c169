"""Terms of a run reach the agents that it delegates to: they name their skills, and what they call counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit import Agent, skill
from remit.errors import UsageError
from remit.loop.wording import TASK_REQUIRED
from remit.models.scripted import ask
from tests.delegation_parts import Cast, bot, give, last, spec
from tests.test_delegation_resume import answer, folder, speaker, write

__all__ = ["folder"]

DONE: list[str] = []


@skill(effect="read", labels=())
def look() -> str:
    """Look."""
    DONE.append("looked")
    return "seen"


@skill(effect="read", labels=())
def listen() -> str:
    """Listen."""
    DONE.append("listened")
    return "heard"


@skill(effect="read", labels=())
def unused() -> str:
    """Do what no agent may do."""
    return "no"


def agents() -> tuple[Any, ...]:
    return spec("chief", agents=["scout"], only_delegates=True), spec("scout", skills=["local.look", "local.listen"])


def only(cast: Any, **options: Any) -> Agent:
    DONE.clear()
    return bot(cast, look, listen, unused, agents=agents(), only_delegates=True, **options)


def test_a_run_is_narrowed_to_skills_of_its_agents() -> None:
    cast = Cast(
        top=[give("scout"), last],
        scout=[[ask("local.look"), ask("local.listen")], lambda request: last(request)],
    )
    with only(cast) as agent:
        result = agent.run("Go.", skills=["local.look"])
    assert DONE == ["looked"] and result.status == "answered"
    offered = [tool.name for tool in cast.requests["scout"][0].tools]
    assert offered == ["local__look"]
    assert [tool.name for tool in cast.requests["top"][0].tools] == ["remit__delegate"]


def test_a_run_goes_without_a_skill_of_its_agents() -> None:
    cast = Cast(top=[give("scout"), "end"], scout=["nothing"])
    with only(cast) as agent:
        agent.run("Go.", without=["local.look"])
        assert [tool.name for tool in cast.requests["scout"][0].tools] == ["local__listen"]
        agent.run("Again.")


def test_what_an_agent_two_below_calls_counts_as_called() -> None:
    told = TASK_REQUIRED.format(names="local.look")
    cast = Cast(
        top=["I am done.", lambda request: give("chief") if last(request) == told else "not told", "Now I am."],
        chief=[give("scout"), "done"],
        scout=[ask("local.look"), "seen"],
    )
    with only(cast) as agent:
        result = agent.run("Go.", required=["local.look"])
    assert (result.status, result.answer, DONE) == ("answered", "Now I am.", ["looked"])
    with only(Cast(top=["I am done."] * 9)) as agent:
        control = agent.run("Go.", required=["local.look"])
    assert control.status != "answered" and "did not call local.look" in control.stop_reason


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"skills": ["local.lok"]}, "no skill 'local.lok'; did you mean local.look\\?"),
        ({"required": ["local.unused"]}, "no skill 'local.unused'"),
        ({"first": "local.look"}, "only agents that this one delegates to call it"),
        ({"required": ["local.look"], "without": ["local.look"]}, "this run may not call it"),
        ({"required": ["local.look"], "without": ["remit.delegate"]}, "this run may not call it"),
    ],
)
def test_names_that_nobody_below_has_are_refused(asked: Any, says: str) -> None:
    with only(Cast()) as agent, pytest.raises(UsageError, match=says):
        agent.run("Go.", **asked)


def test_what_an_agent_called_still_counts_when_the_run_is_gone_on_with(folder: Path) -> None:
    """A first task has ended, a second one waits for a person; whoever goes on knows what the first one called."""
    first = Cast(top=[give("writer"), give("writer")], writer=[ask("local.look"), "seen", write()])
    required = {"required": ["local.look"]}
    with speaker(folder, first, only_delegates=True) as agent:
        parked = agent.run("Look, then write.", **required)
    assert parked.status == "parked"
    answer(folder)
    with speaker(folder, Cast(top=["Done."], writer=["noted"]), only_delegates=True) as agent:
        assert agent.resume(parked.session).status == "answered"
