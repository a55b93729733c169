"""The terms of one run: fewer skills, a first call, required calls. They only narrow."""

from __future__ import annotations

from typing import Any

import pytest

from remit import Agent, ScriptedModel, skill
from remit.errors import ModelError, UsageError
from remit.models.scripted import ask


@skill(effect="read")
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


@skill(effect="read")
def half(n: int) -> float:
    """Half a number."""
    return n / 2


@skill(effect="write")
def note(text: str) -> str:
    """Write a note."""
    return text


def agent(script: Any, **options: Any) -> Agent:
    return Agent(model=ScriptedModel(script), skills=[double, half, note], **options)


def tools(bot: Agent, turn: int = 0) -> list[str]:
    return [tool.name for tool in bot.model.requests[turn].tools]  # type: ignore[attr-defined]


def test_only_the_named_skills_are_offered_and_can_be_called() -> None:
    with agent([ask("local.half", n=4), "no", ask("local.half", n=4), "2"]) as bot:
        narrowed = bot.run("go", skills=["local.double"])
        assert tools(bot) == ["local__double"]
        assert [(call.status, "no skill" in call.text) for call in narrowed.calls] == [("invalid", True)]
        assert [call.status for call in bot.run("go").calls] == ["ok"]
        assert len(tools(bot, 2)) == 3


def test_whole_packs_and_forbidden_skills() -> None:
    with agent(["a", "b", "c"]) as bot:
        bot.run("go", skills=["local"], without=["local.note"])
        bot.run("go", without=["local__half"])
        bot.run("go", skills=[])
        assert tools(bot) == ["local__double", "local__half"]
        assert tools(bot, 1) == ["local__double", "local__note"]
        assert tools(bot, 2) == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"skills": ["local.dubble"]}, "did you mean local.double"),
        ({"skills": "local.double"}, "a list of names is due"),
        ({"required": ["local"]}, "no skill 'local'"),
        ({"first": "never"}, "no skill 'never'"),
        ({"skills": ["local.half"], "first": "local.double"}, "may not call it"),
        ({"without": ["local"], "first": "required"}, "no skill to call"),
        ({"first": "none", "required": ["local.half"]}, "lets no skill be called"),
    ],
)
def test_terms_that_cannot_be_kept_are_refused(asked: Any, words: str) -> None:
    with agent([]) as bot, pytest.raises(UsageError, match=words):
        bot.run("go", **asked)


def test_the_first_call_is_forced_and_the_rest_is_free() -> None:
    """L129."""
    with agent([ask("local.double", n=1), "2"]) as bot:
        bot.run("go", first="local.double")
        assert [request.tool_choice for request in bot.model.requests] == ["local__double", ""]  # type: ignore[attr-defined]
    with agent(["It is 2.", ask("local.half", n=4), "2"]) as bot:
        result = bot.run("go", first="required")
        assert (result.answer, len(result.calls)) == ("2", 1)
        choices = [request.tool_choice for request in bot.model.requests]  # type: ignore[attr-defined]
        assert choices == ["required", "required", ""]
    with agent(lambda _: "It is 2.") as bot:
        result = bot.run("go", first="required")
        assert (result.status, result.answer, result.steps) == ("stopped", "It is 2.", 3)
        assert result.stop_reason == "the model called no skill, as it had to"


def test_in_text_a_first_call_is_asked_for() -> None:
    call = '<tool_call>{"name": "local__half", "arguments": {"n": 4}}</tool_call>'
    with agent([call, "2"], dialect="tagged") as bot:
        assert bot.run("go", first="local.half").answer == "2"
        first, second = bot.model.requests  # type: ignore[attr-defined]
        assert "Call this first: local__half" in first.messages[-1].content
        assert "Call this first" not in second.messages[-1].content


def test_no_call_first_is_an_answer_in_words() -> None:
    with agent(["hello"]) as bot:
        assert bot.run("go", first="none").answer == "hello"
        assert bot.model.requests[0].tool_choice == "none"  # type: ignore[attr-defined]
    with agent(lambda _: ask("local.double", n=1)) as bot:
        result = bot.run("go", first="none")
        assert (result.status, [call.status for call in result.calls]) == ("stopped", ["cancelled"])


def test_an_answer_without_a_required_call_does_not_count() -> None:
    with agent(["5", ask("local.double", n=1), "6"]) as bot:
        result = bot.run("go", required=["local.double"])
        assert (result.answer, len(result.calls)) == ("6", 1)
        assert "local__double" in bot.model.requests[1].messages[-1].content  # type: ignore[attr-defined]
    with agent(lambda _: "5") as bot:
        result = bot.run("go", required=["local.double"])
        assert result.stop_reason == "the model did not call local.double, as it had to"


def test_a_narrowed_run_that_is_resumed_stays_narrow() -> None:
    down = ModelError("the endpoint is down")
    with agent([down, down, ask("local.half", n=2), down, down]) as bot:
        session = bot.run("go", skills=["local.double", "local.note"]).session
        bot.resume(session, skills=["local.half", "local.double"])
        assert tools(bot, 1) == ["local__double"]
        assert [call.status for call in bot.resume(session).calls] == ["invalid"]
        assert tools(bot, 2) == ["local__double"]
        bot.run("and now?", session=session)
        assert {"local__double", "local__half", "local__note"} <= set(tools(bot, 4))
