"""Going on with a session: after a sign-off, after a crash, in another process, and never twice."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, ScriptedModel, skill
from remit.deployment.deployment import Deployment
from remit.deployment.init import init
from remit.errors import ModelError, UsageError
from remit.loop.guards import Limits
from remit.models.protocol import ModelReply
from remit.models.scripted import ask
from remit.state.store import State
from remit_sandbox.signoff import Answer, SignoffDecision

DONE: list[str] = []


@skill(effect="write")
def note(text: str) -> str:
    """Note a text.

    Args:
        text: what to note.
    """
    DONE.append(text)
    return f"noted {text}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    DONE.clear()
    place = tmp_path / "deployment"
    place.mkdir()
    init(place, enforcement="available").apply()
    config = place / "remit.toml"
    text = config.read_text()
    config.write_text(text + '\n[host_skills]\nallow = ["local.note"]\n')
    from remit.deployment.trust import trust

    trust(place)
    yield place


def speaker(folder: Path, *script: Any, **options: Any) -> Agent:
    return Agent(folder, model=ScriptedModel(list(script)), skills=(note,), **options)


def parked(folder: Path, *calls: Any, session: str = "s1") -> str:
    with speaker(folder, list(calls) or [ask("local.note", text="one")]) as agent:
        result = agent.run("note one", session=session)
        assert result.status == "parked"
        assert DONE == []
    return session


def answer(folder: Path, kind: Answer = "once") -> None:
    with Deployment.open(folder) as deployment, State(deployment.state_folder) as state:
        (asked,) = state.signoffs()
        decision = SignoffDecision(answer=kind, digest=asked.digest, by="bea", channel="test", reason="why not")
        assert state.answer_signoff(asked, decision) == ("approved" if kind == "once" else "denied")


def test_an_approved_call_runs_once_and_the_run_goes_on(folder: Path) -> None:
    session = parked(folder)
    answer(folder)
    with speaker(folder, "It is noted.") as agent:
        result = agent.resume(session)
        assert (result.status, result.answer, DONE) == ("answered", "It is noted.", ["one"])
        events = [record.event for record in agent.state.records(session=session)]
        assert events.count("call.started") == events.count("signoff.answered") == 1
        saved = agent.state.load_session(session)
        assert saved is not None
        assert [message["role"] for message in saved.transcript] == ["user", "assistant", "tool", "assistant"]
        with pytest.raises(UsageError, match="come to its end"):
            agent.resume(session)


def test_a_denied_call_is_told_to_the_model(folder: Path) -> None:
    session = parked(folder)
    answer(folder, "deny")
    with speaker(folder, lambda request: request.messages[-1].content) as agent:
        result = agent.resume(session)
    assert "why not" in result.answer
    assert DONE == []


def test_what_nobody_answered_waits_on_under_the_same_question(folder: Path) -> None:
    session = parked(folder)
    with speaker(folder, "never said") as agent:
        assert agent.resume(session).status == "parked"
        assert len(agent.state.signoffs(everything=True)) == 1
    assert DONE == []


def test_the_calls_behind_a_parked_one_are_made_too(folder: Path) -> None:
    session = parked(folder, ask("local.note", text="one"), ask("local.note", text="two"))
    answer(folder)
    with speaker(folder, "never said") as agent:
        assert agent.resume(session).status == "parked"
    assert DONE == ["one"]
    answer(folder)
    with speaker(folder, "Both.") as agent:
        assert agent.resume(session).answer == "Both."
    assert DONE == ["one", "two"]


def test_an_approval_binds_the_arguments(folder: Path) -> None:
    session = parked(folder)
    answer(folder)
    with speaker(folder) as agent:
        saved = agent.state.load_session(session)
        assert saved is not None
        transcript: list[Any] = [dict(message) for message in saved.transcript]
        transcript[1]["calls"][0]["arguments"] = '{"text": "other"}'
        agent.state.save_session(session, transcript, status="parked")
        assert agent.resume(session).status == "parked"
    assert DONE == []


def test_two_that_resume_at_the_same_time_run_it_once(folder: Path) -> None:
    session = parked(folder)
    answer(folder)
    gate, seen = threading.Barrier(4), []

    def go() -> None:
        with speaker(folder, "Noted.", "Noted.") as agent:
            gate.wait()
            try:
                seen.append(agent.resume(session).status)
            except UsageError as error:
                seen.append(error.message)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert DONE == ["one"]
    assert seen.count("answered") == 1


def _hold(folder: str, session: str, ready: Any, leave: Any) -> None:
    with State(Path(folder)) as state, state.leased(session):
        ready.set()
        leave.wait(30)


def test_a_session_that_another_process_has_is_left_alone_until_that_dies(folder: Path) -> None:
    session = parked(folder)
    answer(folder)
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Event(), context.Event()
    with speaker(folder, "Noted.") as agent:
        other = context.Process(target=_hold, args=(str(agent.state.folder), session, ready, leave))
        other.start()
        try:
            assert ready.wait(30)
            with pytest.raises(UsageError, match="another process"):
                agent.resume(session)
        finally:
            other.kill()
            other.join()
        assert agent.resume(session).status == "answered"


def test_an_interrupted_session_goes_on_with_the_next_turn(folder: Path) -> None:
    with speaker(folder) as agent:
        call = {"id": "c1", "name": "local__note", "arguments": '{"text": "x"}'}
        broken = [
            {"role": "user", "content": "note x", "origin": "person"},
            {"role": "assistant", "content": "", "origin": "model", "calls": [call]},
        ]
        agent.state.save_session("s2", broken, status="running")
    with speaker(folder, lambda request: request.messages[-1].content) as agent:
        result = agent.resume("s2")
    assert result.status == "answered"
    assert "interrupted" in result.answer
    assert DONE == []


def test_what_cannot_be_resumed_says_why(folder: Path) -> None:
    with speaker(folder, "hello") as agent:
        with pytest.raises(UsageError, match="there is no session"):
            agent.resume("nothing")
        agent.run("hi", session="s3")
        with pytest.raises(UsageError, match="come to its end"):
            asyncio.run(agent.aresume("s3"))


def test_limits_and_terms_go_on_counting_in_a_run_that_waited(folder: Path) -> None:
    quiet = [ModelReply(calls=(ask("local.note", text="one"),))]
    with speaker(folder, *quiet, limits=Limits(steps=2, tokens=5_000)) as agent:
        assert agent.run("note one", session="s1", required=["local.note"]).status == "parked"
    answer(folder)
    script = [ModelReply(calls=(ask("local.note", text="two"),)), ModelReply(text="never said")]
    with speaker(folder, *script, limits=Limits(steps=2, tokens=5_000)) as agent:
        result = agent.resume("s1")
    assert (result.steps, result.stop_reason, DONE) == (2, "the step limit of 2 is reached", ["one"])
    assert result.usage.total_tokens is not None, "estimated, before the run waited and after that"
    with speaker(folder, "Noted.", limits=Limits(steps=2)) as agent:
        assert agent.resume("s1").answer == "Noted.", "a run that was stopped gets its limits anew"


def test_what_a_run_must_do_it_must_do_when_it_goes_on(folder: Path) -> None:
    with speaker(folder, ModelError("down")) as agent:
        assert agent.run("note one", session="s1", required=["local.note"], max_steps=5).status == "failed"
        saved = agent.state.load_session("s1")
        assert saved is not None
        agent.state.save_session("s1", saved.transcript, status="running")  # as if its process had died
    with speaker(folder, "No.", "No.", "No.", "never said") as agent:
        result = agent.resume("s1")
    assert (result.status, result.stop_reason) == ("stopped", "the model did not call local.note, as it had to")
