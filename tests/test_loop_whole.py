"""What a kept session lacks changes neither whose words are whose, nor what runs when it is gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit import Agent, ScriptedModel, skill
from remit.loop.granting import own_words
from remit.loop.recall import Recall
from remit.loop.transcript import Transcript
from remit.loop.whole import cleaned, read_back
from remit.loop.wording import NOT_KEPT
from remit.models.protocol import Message
from remit.models.scripted import ask
from remit.pipeline.redact import Redactor
from remit.skills import Skill
from remit.state.store import State
from remit.values import Call
from remit_sandbox.signoff import Answer, SignoffDecision

SECRET = "log in with password: hunter22x"
SENT: list[str] = []


@skill(effect="external")
def send(text: str) -> str:
    """Send a text.

    Args:
        text: what to send.
    """
    SENT.append(text)
    return "sent"


@pytest.fixture(autouse=True)
def nothing_sent() -> Iterator[None]:
    SENT.clear()
    yield


def speaker(*script: Any) -> Agent:
    return Agent(model=ScriptedModel(list(script)), skills=[send], unattended="park")


def waiting(agent: Agent, text: str) -> str:
    result = agent.run("send it")
    assert result.status == "parked" and not SENT
    kept = agent.state.load_session(result.session)
    assert kept is not None and ("hunter22x" in str(kept.transcript)) is False
    return result.session


def settle(agent: Agent, answer: Answer) -> None:
    (asked,) = agent.state.signoffs()
    agent.state.answer_signoff(asked, SignoffDecision(answer=answer, digest=asked.digest, by="ann", channel="test"))


@pytest.mark.parametrize("text", ["hello", SECRET])
def test_what_was_approved_is_what_runs_after_a_resume(text: str) -> None:
    with speaker(ask("local.send", text=text), "done") as agent:
        session = waiting(agent, text)
        settle(agent, "once")
        assert agent.resume(session).status == "answered"
        assert [text] == SENT
        assert [one.state for one in agent.state.signoffs(everything=True)] == ["consumed"], "nobody is asked anew"


@pytest.mark.parametrize("text", ["hello", SECRET])
def test_what_was_refused_stays_refused(text: str) -> None:
    with speaker(ask("local.send", text=text), "done") as agent:
        session = waiting(agent, text)
        settle(agent, "deny")
        result = agent.resume(session)
    assert (result.status, [call.status for call in result.calls], SENT) == ("answered", ["denied"], [])


def test_a_fork_never_makes_a_call_without_all_of_its_arguments() -> None:
    for text, ended in (("hello", "parked"), (SECRET, "answered")):
        with speaker(ask("local.send", text=text), "done") as agent:
            agent.state.fork_session(waiting(agent, text), "fork-" + ended)
            result = agent.resume("fork-" + ended)
            assert result.status == ended, "the control: what is whole is asked about"
            assert [call.text for call in result.calls] == [NOT_KEPT] or ended == "parked"
            assert not SENT


def test_a_call_that_was_cut_is_not_made_unless_it_is_known_what_became_of_it(tmp_path: Path) -> None:
    call = Call(id="c1", skill="t.do", arguments='{"text": "[redacted: key]"}', session="s", hidden=True)
    plain = {"t.do": Skill(pack="t", name="do", description="", schema={}, effect="write")}
    with State(tmp_path) as state:
        recall = Recall(state, "s", plain, "running")
        for began in (False, True):
            if began:
                state.append("run.started", session="s", body={})
                state.append("turn.reply", session="s", body={})
            assert recall.of([call], ["c1"]).results["c1"].text == NOT_KEPT
            assert recall.of([replace(call, hidden=False)], ["c1"]).results == {}, "the control"
        state.append("call.finished", session="s", skill="t.do", call="c1", body={"status": "ok"}, sealed={"text": "7"})
        assert recall.of([call], ()).results["c1"].text == "7"


def test_what_an_older_remit_kept_is_made_whole_too() -> None:
    with speaker(ask("local.send", text=SECRET), "done") as agent:
        session = waiting(agent, SECRET)
        kept = agent.state.load_session(session)
        assert kept is not None
        for message in kept.transcript:
            for call in message.get("calls", ()):
                del call["hidden"]
        agent.state.save_session(session, kept.transcript, status="parked")
        settle(agent, "once")
        assert agent.resume(session).status == "answered"
        assert [SECRET] == SENT


def test_a_question_that_was_erased_gives_no_arguments_back() -> None:
    with speaker(ask("local.send", text=SECRET)) as agent:
        session = waiting(agent, SECRET)
        kept = agent.state.load_session(session)
        assert kept is not None
        (call,) = read_back(kept.transcript, agent.state, session).messages[-2].calls
        assert "hunter22x" in call.arguments and not call.hidden
        agent.state.database.write(
            lambda connection: connection.execute("UPDATE signoffs SET request = CAST('{}' AS BLOB)")
        )
        (call,) = read_back(kept.transcript, agent.state, session).messages[-2].calls
        assert "hunter22x" not in call.arguments and call.hidden


WORDS = st.sampled_from(
    ["password: ab1d; ", "api_key=abcd1234efgh5678 ", "plain words ", "4111 1111 1111 1111 ", "password: "]
)


@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=6))
def test_what_a_person_attached_never_becomes_their_own_words(own: list[str], attached: list[str]) -> None:
    transcript = Transcript()
    transcript.question("Q " + "".join(own), attached=["ATTACHED " + "".join(attached)])
    (message,) = transcript.to_json()
    kept = cleaned(message, Redactor())
    said = own_words([Message.from_json(kept)])
    assert "ATTACHED" not in said and "ATTACHED" in kept["content"]
    assert said.startswith("Q") or kept["attached"] == len(kept["content"])
    assert cleaned(kept, Redactor()) == kept, "done again, it changes nothing"


def test_fields_that_are_hidden_are_those_of_arguments_and_results_not_of_a_message() -> None:
    hiding = Redactor(fields=["role", "name", "content", "id", "arguments", "calls", "status", "call_id"])
    call = {"id": "c1", "name": "local__send", "arguments": '{"name": "Ada", "text": "hi"}'}
    asked = {"role": "assistant", "content": "", "calls": [call]}
    told = {"role": "tool", "name": "local.send", "call_id": "c1", "status": "ok", "content": '{"name": "Ada"}'}
    (kept,) = (clean := cleaned(asked, hiding))["calls"]
    assert {**clean, "calls": [call]} == asked and kept.items() >= {"id": "c1", "name": "local__send"}.items()
    assert "Ada" not in kept["arguments"] and '"hi"' in kept["arguments"] and kept["hidden"]
    assert cleaned(told, hiding) == {**told, "content": '{"name": "[redacted: field]"}'}
