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
from remit.loop.events import CallFinished
from remit.loop.guards import Limits
from remit.loop.outcome import RunResult
from remit.models.protocol import ModelReply, Usage
from remit.models.scripted import ask
from remit.state.store import State
from remit_sandbox.signoff import Answer, SignoffDecision, SignoffRequest

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


def counted(*calls: Any, text: str = "") -> ModelReply:
    return ModelReply(text=text, calls=calls, usage=Usage(input_tokens=100, output_tokens=0), cost=1.0)


def test_limits_that_a_run_got_anew_count_on_when_it_waits_again(folder: Path) -> None:
    limits = Limits(steps=2, cost=50.0)

    def goes_on(*script: Any) -> RunResult:
        with speaker(folder, *script, limits=limits) as agent:
            return agent.resume("s1")

    with speaker(folder, counted(ask("local.note", text="one")), limits=limits) as agent:
        assert agent.run("note", session="s1").status == "parked"
    answer(folder)
    assert goes_on(counted(ask("local.note", text="two"))).status == "stopped"
    waits = goes_on(counted(ask("local.note", text="three")))
    assert (waits.status, waits.steps, waits.cost) == ("parked", 1, 1.0)
    assert goes_on().status == "parked", "nobody has answered yet"
    with speaker(folder) as agent:
        agent.state.fork_session("s1", "copy")
    answer(folder)
    result = goes_on(counted(text="It is noted."))
    assert (result.status, result.steps, result.cost, result.usage.input_tokens) == ("answered", 2, 2.0, 200)
    assert DONE == ["one", "three"]
    with speaker(folder, limits=limits) as agent:
        copied = agent.resume("copy")
        assert (copied.status, copied.steps) == ("parked", 1), "it waits for an answer of its own"


@pytest.mark.parametrize(("seconds", "status"), [(50.0, "stopped"), (500.0, "answered")])
def test_time_counts_on_in_a_run_that_waited(folder: Path, seconds: float, status: str) -> None:
    with speaker(folder, ask("local.note", text="one"), limits=Limits(seconds=seconds)) as agent:
        assert agent.run("note", session="s1").status == "parked"
        assert 0 <= next(agent.state.records(session="s1", event="run.ended")).body["seconds"] < 50
        agent.state.append("run.ended", session="s1", body={"status": "parked", "seconds": 60.0})
    answer(folder)
    with speaker(folder, "It is noted.", limits=Limits(seconds=seconds)) as agent:
        events: list[Any] = []
        result = agent.resume("s1", on_event=events.append)
        saved = agent.state.load_session("s1")
    assert result.status == status and len(DONE) == (status == "answered")
    assert status == "answered" or result.stop_reason == "the time limit of 50 s is reached"
    assert saved is not None
    (told,) = (message["status"] for message in saved.transcript if message["role"] == "tool")
    assert told == ("ok" if status == "answered" else "cancelled")
    assert [event.result.status for event in events if isinstance(event, CallFinished)] == [told]


class Thinking:
    """A person who has a question before them and does not answer the first so many."""

    def __init__(self, unanswered: int = 1) -> None:
        self.asked: list[SignoffRequest] = []
        self.unanswered = unanswered
        self.before_them = asyncio.Event()

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        self.asked.append(request)
        self.before_them.set()
        if len(self.asked) <= self.unanswered:
            await asyncio.Event().wait()
        return SignoffDecision(answer="once", digest=request.digest, by="bea", channel="test")


def test_a_call_whose_question_was_open_when_the_run_was_cancelled_has_not_run(folder: Path) -> None:
    person = Thinking()

    async def cancelled() -> None:
        with speaker(folder, [ask("local.note", text="one")], approver=person) as agent:
            run = asyncio.ensure_future(agent.arun("note one", session="s1"))
            await asyncio.wait_for(person.before_them.wait(), 60)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run

    asyncio.run(cancelled())
    told: list[str] = []

    def again(request: Any) -> Any:
        told.append(request.messages[-1].content)
        return [ask("local.note", text="one")]

    with speaker(folder, again, "Noted.", approver=person) as agent:
        assert agent.resume("s1").status == "answered"
    assert told[0].startswith("Not run: ") and "unknown" not in told[0]
    assert (DONE, len(person.asked)) == (["one"], 2), "it is asked about anew"


def test_a_call_that_ran_when_the_run_was_cancelled_is_said_to_have_run(folder: Path) -> None:
    person = Thinking(unanswered=0)

    async def slow(text: str) -> str:
        DONE.append(text)
        started.set()
        await asyncio.Event().wait()
        return text

    async def cancelled() -> str:
        with Agent(
            model=ScriptedModel([[ask("local.slow", text="one")]]),
            skills=(skill(effect="write")(slow),),
            approver=person,
        ) as agent:
            run = asyncio.ensure_future(agent.arun("slowly", session="s1"))
            await asyncio.wait_for(started.wait(), 60)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            saved = agent.state.load_session("s1")
            assert saved is not None
            return str(saved.transcript[-1]["content"])

    started = asyncio.Event()
    assert "unknown" in asyncio.run(cancelled()) and DONE == ["one"]


def test_a_question_of_a_terminal_that_is_gone_waits_as_long_as_any_that_is_parked(folder: Path) -> None:
    person = Thinking()
    with speaker(folder, [ask("local.note", text="one")], approver=person) as agent:

        async def closed() -> None:
            run = asyncio.ensure_future(agent.arun("note one", session="s1"))
            await asyncio.wait_for(person.before_them.wait(), 60)
            saved = agent.state.load_session("s1")
            assert saved is not None
            with pytest.MonkeyPatch.context() as patch:  # a process that is killed settles nothing
                patch.setattr(agent.state, "decide_signoff", lambda *_, **__: "pending")
                patch.setattr(agent.state, "append_all", lambda *_, **__: 0)
                run.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await run
            agent.state.save_session("s1", saved.transcript, status="running")

        asyncio.run(closed())
        (before,) = agent.state.signoffs()
    for _ in range(2):
        with speaker(folder) as agent:
            assert agent.resume("s1").status == "parked"
            (parked,) = agent.state.signoffs()
    assert before.expires - before.created < 3_700 < 6 * 86_400 < parked.expires - parked.created
    assert parked.digest != before.digest and parked.action == before.action
    answer(folder)
    with speaker(folder, "Noted.") as agent:
        late = SignoffDecision(answer="once", digest=before.digest, by="bea", channel="test")
        assert agent.state.answer_signoff(agent.state.signoff(before.nonce), late) == "denied"
        assert agent.resume("s1").status == "answered"
        events = [record.event for record in agent.state.records(session="s1")]
    assert (DONE, events.count("signoff.revoked"), events.count("signoff.asked")) == (["one"], 1, 2)
