"""Another question where a call waits: nothing approved is dead, nothing is made twice, and everybody is told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, ScriptedModel, skill
from remit.deployment.deployment import Deployment
from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.errors import SessionWaits, UsageError
from remit.loop.parked import waiting_in
from remit.models.scripted import ask
from remit.state.store import State
from remit_sandbox.signoff import Answer, SignoffDecision, SignoffState
from tests.delegation_parts import Cast, give, last

DONE: list[str] = []
ONE = ask("local.note", text="one")
MORE = '\n[host_skills]\nallow = ["local.note"]\n[agents.writer]\ndescription = "Writes."\n'


@skill(effect="write")
def note(text: str) -> str:
    """Note a text."""
    DONE.append(text)
    return f"noted {text}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    DONE.clear()
    place = tmp_path / "deployment"
    place.mkdir()
    init(place, enforcement="available").apply()
    config = place / "remit.toml"
    config.write_text(config.read_text() + MORE)
    trust(place)
    yield place


def speaker(folder: Path, *script: Any, **options: Any) -> Agent:
    return Agent(folder, model=ScriptedModel(list(script)), skills=(note,), **options)


def park(folder: Path, session: str = "s1") -> str:
    with speaker(folder, ONE) as agent:
        assert agent.run("note one", session=session).status == "parked"
    return session


def state_of(folder: Path) -> State:
    with Deployment.open(folder) as deployment:
        return State(deployment.state_folder)


def answer(folder: Path, kind: Answer = "once") -> SignoffState:
    with state_of(folder) as state:
        (asked,) = state.signoffs()
        given = SignoffDecision(answer=kind, digest=asked.digest, by="bea", channel="test", reason="wrong folder")
        return state.answer_signoff(asked, given)


@pytest.mark.parametrize("approved", [False, True])
def test_it_is_refused_and_what_waits_goes_on_as_before(folder: Path, approved: bool) -> None:
    session = park(folder)
    if approved:
        answer(folder)
    words = "is approved and has not run yet" if approved else "waits for a person's sign-off"
    with speaker(folder, "never said") as agent:
        before = agent.state.load_session(session)
        with pytest.raises(SessionWaits, match=f"note {words}") as refused:
            agent.run("and now?", session=session)
        assert f"remit sessions resume {session}" in refused.value.remedy and "--withdraw" in refused.value.remedy
        assert bool(refused.value.requests) is not approved
        assert agent.state.load_session(session) == before
    if not approved:
        answer(folder)
    with speaker(folder, "Noted.", "Nothing new.") as agent:
        assert agent.resume(session).answer == "Noted." and DONE == ["one"]
        assert agent.run("and now?", session=session).answer == "Nothing new.", "and then it takes another question"


@pytest.mark.parametrize("approved", [False, True])
def test_it_takes_back_what_waits_where_that_is_asked_for(folder: Path, approved: bool) -> None:
    session = park(folder)
    if approved:
        answer(folder)
    heard: list[Any] = []
    with speaker(folder, "Fine.", ONE) as agent:
        assert agent.run("leave it", session=session, withdraw=True, on_event=heard.append).answer == "Fine."
        (told,) = [event.text for event in heard if type(event).__name__ == "Told"]
        assert told.startswith("local.note: Not run: it waited")
        saved = agent.state.load_session(session)
        assert saved is not None
        (result,) = [one for one in saved.transcript if one["role"] == "tool"]
        assert result["status"] == "cancelled" and "Not run" in result["content"]
        (asked,) = agent.state.signoffs(everything=True)
        assert asked.state == "denied" and "taken back" in str(asked.decision)
        assert [one.body["nonce"] for one in agent.state.records(event="signoff.revoked")] == [asked.nonce]
        with pytest.raises(UsageError, match="come to its end"):
            agent.resume(session)
        assert DONE == []
        assert agent.run("note it after all", session=session).status == "parked", "it is no refusal of the action"


def test_an_approval_that_comes_too_late_changes_nothing(folder: Path) -> None:
    session = park(folder)
    with state_of(folder) as state:
        (asked,) = state.signoffs()
        with speaker(folder, "Fine.") as agent:
            agent.run("leave it", session=session, withdraw=True)
        late = SignoffDecision(answer="once", digest=asked.digest, by="bea", channel="test")
        assert state.give_answer(asked, late) == ("denied", "it is denied already")


@pytest.mark.parametrize("kind", ["deny", "stop"])
def test_what_was_refused_meanwhile_is_told_and_holds_nothing_up(folder: Path, kind: Answer) -> None:
    session = park(folder)
    answer(folder, kind)
    with speaker(folder, "I see.") as agent:
        assert agent.run("why not?", session=session).answer == "I see."
        saved = agent.state.load_session(session)
        assert saved is not None
        (result,) = [one for one in saved.transcript if one["role"] == "tool"]
    assert result["status"] == "denied" and "a person refused it: wrong folder." in result["content"]


def test_a_denial_is_told_as_one_first_and_as_an_earlier_one_after_that(folder: Path) -> None:
    session = park(folder)
    answer(folder, "deny")
    with speaker(folder, ONE, "I see.") as agent:
        own, again = agent.resume(session).calls
    assert own.text.startswith("Denied by a person: wrong folder. The same action will be refused again without asking")
    assert "a person refused the same action before in this session: wrong folder" in again.text


def test_a_request_that_no_run_comes_back_to_holds_nothing_up(folder: Path) -> None:
    session = park(folder)
    with state_of(folder) as state:
        (asked,) = state.signoffs()
        assert [one.nonce for one in waiting_in(state, session)] == [asked.nonce]
        state.database.write(lambda c: c.execute("UPDATE signoffs SET call = 'of-a-single-call'"))
        assert waiting_in(state, session) == ()
    with speaker(folder, "Fine.") as agent:
        assert agent.run("and now?", session=session).answer == "Fine."


def test_a_copy_takes_another_question_and_the_first_waits_on(folder: Path) -> None:
    session = park(folder)
    with speaker(folder, "Fine.") as agent:
        agent.state.fork_session(session, "copy")
        assert agent.run("and now?", session="copy").answer == "Fine."
        assert [one.session for one in waiting_in(agent.state, session)] == [session]


def test_a_run_that_was_killed_while_it_asked_is_not_asked_past(folder: Path) -> None:
    session = park(folder)
    with state_of(folder) as state:
        saved = state.load_session(session)
        assert saved is not None
        asking = [one for one in saved.transcript if one["role"] != "tool"]
        state.save_session(session, asking, status="running")  # as kill -9 leaves it
    answer(folder)
    with speaker(folder, "Noted.") as agent:
        with pytest.raises(SessionWaits):
            agent.run("and now?", session=session)
        assert agent.resume(session).answer == "Noted." and DONE == ["one"]


def test_the_sign_off_of_a_task_holds_up_the_session_at_the_top(folder: Path) -> None:
    cast = Cast(top=[give("writer"), "Fine."], writer=[ONE, last])
    with Agent(folder, model=ScriptedModel(cast), skills=(note,)) as agent:
        assert agent.run("note it", session="s1").status == "parked"
        with pytest.raises(SessionWaits, match="note waits"):
            agent.run("and now?", session="s1")
        assert agent.run("leave it", session="s1", withdraw=True).answer == "Fine."
        (task,) = agent.state.children_of("s1")
        (asked,) = agent.state.signoffs(everything=True)
        assert (task.status, asked.state, DONE) == ("stopped", "denied", [])
        saved = agent.state.load_session("s1")
    assert saved is not None and "The task was not brought to its end" in str(saved.transcript)


def test_a_task_whose_sign_off_was_given_goes_on_before_another_question(folder: Path) -> None:
    cast = Cast(top=[give("writer"), "Done.", "Nothing."], writer=[ONE, last])
    with Agent(folder, model=ScriptedModel(cast), skills=(note,)) as agent:
        agent.run("note it", session="s1")
        answer(folder)
        with pytest.raises(SessionWaits, match="approved and has not run yet"):
            agent.run("and now?", session="s1")
        assert agent.resume("s1").answer == "Done." and DONE == ["one"]
        assert agent.run("and now?", session="s1").answer == "Nothing."


def test_the_stream_refuses_too(folder: Path) -> None:
    session = park(folder)

    async def ask_on() -> None:
        with speaker(folder, "never said") as agent:
            async for _ in agent.stream("and now?", session=session):
                pass

    with pytest.raises(SessionWaits):
        asyncio.run(ask_on())
