"""Delegation: a task goes to another agent, and its answer comes back as a result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import Agent, ScriptedModel, skill
from remit.errors import UsageError
from remit.loop.event_json import event_json
from remit.loop.events import CallFinished, Delegated, Event, RunEnded, TextDelta
from remit.models.protocol import ModelReply, ModelRequest, Usage
from remit.models.scripted import ask
from remit.values import Call
from tests.delegation_parts import Cast, bot, give, last, records, spec, who


@skill(effect="read", labels=())
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


@skill(effect="read")
def page(name: str) -> str:
    """A page that strangers write."""
    return f"the page {name}"


def test_a_task_is_done_and_its_answer_comes_back() -> None:
    cast = Cast(
        top=[give("maths", "double 21"), lambda request: f"They say {last(request)}."],
        maths=[ask("local.double", n=21), lambda request: f"It is {last(request)}"],
    )
    events: list[Event] = []
    with bot(cast, double, agents=[spec("maths")]) as agent:
        result = agent.run("How much is 21 doubled?", on_event=events.append)
        assert (result.answer, result.status, result.steps) == ("They say It is 42.", "answered", 2)
        assert [(call.skill, call.status, call.value) for call in result.calls] == [
            ("remit.delegate", "ok", "It is 42")
        ]
        (child,) = agent.state.children_of(result.session)
        assert (child.parent, child.status) == (result.session, "answered")
        assert [message["role"] for message in child.transcript] == ["user", "assistant", "tool", "assistant"]
        assert child.transcript[0]["origin"] == "agent"
    assert cast.asked == ["top", "maths", "maths", "top"]


def test_who_asked_whom_is_in_the_log() -> None:
    cast = Cast(top=[give("maths"), "done"], maths=[ask("local.double", n=1), "two"])
    with bot(cast, double, agents=[spec("maths")], name="desk") as agent:
        result = agent.run("go")
        (child,) = agent.state.children_of(result.session)
        (begun,) = records(agent, "run.started", child.id)
        assert begun["agents"] == ["maths", "desk"] and begun["parent"] == result.session
        assert begun["parent_call"] == result.calls[0].call
        (proposed,) = records(agent, "call.proposed", child.id)
        assert (proposed["agent"], proposed["agents"]) == ("maths", ["maths", "desk"])
        (above,) = records(agent, "call.proposed", result.session)
        assert above["agent"] == "desk" and "agents" not in above


def test_what_a_child_does_is_in_the_stream_of_events_marked_and_no_flood() -> None:
    cast = Cast(
        top=[give("chief"), "done"],
        chief=[give("maths"), "all right"],
        maths=[ask("local.double", n=1), "two"],
    )
    agents = [spec("chief", agents=["maths"]), spec("maths")]
    events: list[Event] = []
    with bot(cast, double, agents=agents) as agent:
        agent.run("go", on_event=events.append)
    told = [event for event in events if isinstance(event, Delegated)]
    assert {event.agents for event in told} == {("chief", "assistant"), ("maths", "chief", "assistant")}
    assert not any(isinstance(event.inner, TextDelta | Delegated) for event in told)
    assert any(isinstance(event.inner, CallFinished) and event.inner.call.skill == "local.double" for event in told)
    assert len({event.call for event in told}) == len({event.session for event in events}) == 1
    assert isinstance(events[-1], RunEnded)
    shown = event_json(told[0])
    assert (shown["event"], shown["agents"]) == ("delegated", ["chief", "assistant"])
    assert shown["inner"]["event"] == "run_started"


def test_the_model_is_told_who_there_is_and_an_unknown_name_is_invalid() -> None:
    cast = Cast(top=[give("nobody"), last], maths=[])
    with bot(cast, double, agents=[spec("maths"), spec("finder", description="Finds\n things.")]) as agent:
        described = agent.skills["remit.delegate"]
        assert described.effect == "read" and not described.confined
        assert "finder: Finds things.; maths:" in described.schema["properties"]["agent"]["description"]
        result = agent.run("go")
    assert result.calls[0].status == "invalid"
    assert "finder" in result.answer and "maths" in result.answer


def test_nobody_to_delegate_to_means_no_such_skill() -> None:
    with Agent(model=ScriptedModel(["hello"]), skills=(double,)) as agent:
        assert "remit.delegate" not in agent.skills


def test_an_agent_has_no_others_unless_it_names_them() -> None:
    seen: list[list[str]] = []

    def script(request: ModelRequest) -> Any:
        if who(request) == "maths":
            seen.append([tool.name for tool in request.tools])
            return "done"
        return give("maths") if last(request) == "go" else "end"

    with bot(script, double, agents=[spec("maths"), spec("finder")]) as agent:
        agent.run("go")
    assert seen == [["local__double"]]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ([ModelReply(text="half of it", finish="filter")], "withheld"),
        (["", "", ""], "empty"),
    ],
)
def test_an_agent_that_stops_or_fails_is_a_result_with_its_best_partial_answer(reply: list[Any], why: str) -> None:
    cast = Cast(top=[give("maths"), last], maths=reply)
    with bot(cast, double, agents=[spec("maths")]) as agent:
        result = agent.run("go")
    assert result.calls[0].status == "failed"
    assert why in result.answer and "maths" in result.answer
    assert ("half of it" in result.answer) == (reply[0] != "")


def test_an_endpoint_that_is_down_for_one_agent_is_told_to_the_other() -> None:
    from remit.errors import ModelError

    cast = Cast(top=[give("maths"), last], maths=[ModelError("the endpoint is down")])
    with bot(cast, double, agents=[spec("maths")]) as agent:
        result = agent.run("go")
    assert (result.status, result.calls[0].status) == ("answered", "failed")
    assert "maths failed" in result.answer and "the endpoint is down" in result.answer


def test_tokens_and_cost_count_above() -> None:
    def priced(text: str) -> ModelReply:
        return ModelReply(text=text, usage=Usage(input_tokens=10, output_tokens=1), cost=0.5)

    call = ModelReply(calls=(give("maths"),), usage=Usage(input_tokens=100, output_tokens=10), cost=2.0)
    cast = Cast(top=[call, priced("end")], maths=[priced("four")])
    with bot(cast, double, agents=[spec("maths")]) as agent:
        result = agent.run("go")
    assert (result.usage.input_tokens, result.usage.output_tokens, result.cost) == (120, 12, 3.0)


def test_a_person_cannot_go_on_in_the_session_of_a_task() -> None:
    cast = Cast(top=[give("maths"), "end"], maths=["two"])
    with bot(cast, double, agents=[spec("maths")]) as agent:
        result = agent.run("go")
        (child,) = agent.state.children_of(result.session)
        with pytest.raises(UsageError, match="is a task that an agent gave"):
            agent.run("and now?", session=child.id)
        assert agent.state.root_of(child.id) == result.session
        assert agent.state.delete_session(result.session)
        assert agent.state.load_session(child.id) is None


def test_a_task_needs_a_run() -> None:
    with bot(Cast(), double, agents=[spec("maths")]) as agent:
        call = Call(id="c1", skill="remit.delegate", arguments='{"agent": "maths", "task": "x"}', session="s")
        result = asyncio.run(agent.pipeline.call(call))
    assert result.status == "failed" and "while an agent runs" in result.text


def test_an_agent_may_have_a_model_of_its_own() -> None:
    own = ScriptedModel(["from my own model"], name="small")
    cast = Cast(top=[give("maths"), last])
    with bot(cast, double, agents=[spec("maths", model=own, prompt="Count.")]) as agent:
        assert agent.run("go").answer == "from my own model"
    assert own.requests[0].messages[0].content.startswith("Count.")


def test_answers_are_cut_and_can_be_read_in_pages() -> None:
    long = " ".join(str(n) for n in range(2_000))
    cast = Cast(top=[give("maths"), "end"], maths=[long])
    with bot(cast, double, agents=[spec("maths")]) as agent:
        result = agent.run("go")
    assert result.calls[0].value == long and result.calls[0].handle and len(result.calls[0].text) <= 2_000
