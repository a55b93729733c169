"""What skills give is recorded and played again: then nothing runs, and what the recording lacks is a clear failure."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples.eval.rehearsal import reply

from remit import Agent, AgentSpec, ScriptedModel, skill
from remit.deployment.deployment import Deployment
from remit.errors import UsageError
from remit.evaluation import Report, Suite, evaluate
from remit.models.protocol import ModelRequest
from remit.models.recording import RecordingModel, ReplayModel, recorder_of
from remit.models.recording_file import Recorder, read_recording
from remit.models.scripted import ask
from remit.pipeline.redact import Redactor
from remit.pipeline.tape import PLAYED, CallPlayer, CallRecorder
from remit.state.store import State
from remit_sandbox.inside.context import Context
from tests.in_process import Here
from tests.pipeline_parts import Bench, host_skill

RAN: list[str] = []


@skill(effect="external")
def send(to: str, text: str = "") -> dict[str, Any]:
    """Send a text."""
    RAN.append(to)
    if to == "nobody":
        raise ValueError("no such person")
    return {"sent": to, "number": len(RAN)}


@skill(effect="read")
def diary(day: str) -> str:
    """Read a day of a diary."""
    RAN.append(day)
    return f"{day}: the key is sk-live-abcdefghijklmnop1234567890" if day == "keys" else f"{day}: rain"


def turns(*skills: Any) -> Any:
    """Make the calls of the question (`send ann, send bob`), one a turn, then say what came."""

    def play(request: ModelRequest) -> Any:
        told = [message.content for message in request.messages if message.role == "tool"]
        question = next(message.content for message in request.messages if message.role == "user")
        wanted = question.split(", ")
        if len(told) == len(wanted):
            return " | ".join(told)
        name, _, what = wanted[len(told)].partition(" ")
        return ask(f"local.{name}", **{"to" if name == "send" else "day": what})

    return play


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield


def suite(*questions: str, **more: Any) -> Suite:
    approved = {"approve": ["local.send"]}
    cases = [{"id": f"c{number}", "question": asked, **approved, **more} for number, asked in enumerate(questions)]
    return Suite.model_validate({"cases": cases})


def recorded(path: Path, asked: Suite, **options: Any) -> Report:
    model = ScriptedModel(turns(), name="m")
    options = {"record_calls": True, "approve_listed": True, **options}
    return evaluate(asked, model=model, skills=[send, diary], record=path, **options)


def replayed(path: Path, asked: Suite, **options: Any) -> Report:
    return evaluate(asked, skills=[send, diary], replay=path, approve_listed=True, **options)


def answers(report: Report) -> list[str]:
    return [attempt.turns[-1].answer for one in report.cases for attempt in one.attempts]


def reasons(report: Report) -> str:
    return " ".join(reason for one in report.cases for attempt in one.attempts for reason in attempt.failures)


def test_a_replay_runs_nothing_and_gives_the_same_in_any_order(tmp_path: Path) -> None:
    asked = suite("send ann, send ann", "diary monday, send nobody")
    first = recorded(tmp_path / "r.jsonl", asked)
    assert RAN == ["ann", "ann", "monday", "nobody"] and "no such person" in answers(first)[1]
    RAN.clear()
    again = replayed(tmp_path / "r.jsonl", asked, jobs=2)
    assert RAN == [] and answers(again) == answers(first) and again.figures.tokens == first.figures.tokens
    assert "what skills gave was played, too" in again.notes
    live = replayed(tmp_path / "r.jsonl", asked, run_calls=True)
    assert RAN[:3] == ["ann", "ann", "monday"] and "skills ran: only the model was replayed" in live.notes


def test_a_recording_of_turns_alone_lets_skills_run_as_ever(tmp_path: Path) -> None:
    asked = suite("send ann")
    recorded(tmp_path / "r.jsonl", asked, record_calls=False)
    assert read_recording(tmp_path / "r.jsonl").calls is None
    replayed(tmp_path / "r.jsonl", asked)
    assert RAN == ["ann", "ann"]


def test_a_call_that_is_not_in_the_recording_fails_the_run_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, suite("send ann"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    RAN.clear()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if "call" not in line))
    assert "no call of local.send of c0#1 is in" in reasons(replayed(path, suite("send ann")))
    other = [line | {"call": "0" * 64} if "call" in line else line for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in other))
    told = reasons(replayed(path, suite("send ann")))
    assert "local.send was called once of c0#1" in told and 'not with {"to":"ann"}' in told
    assert RAN == []


@pytest.mark.parametrize("hidden", ["private", "redacted"])
def test_private_results_are_recorded_only_when_asked_for(hidden: str, tmp_path: Path) -> None:
    day = "monday" if hidden == "private" else "keys"
    path, asked = tmp_path / "r.jsonl", Suite.model_validate({"cases": [{"id": "a", "question": f"diary {day}"}]})

    @skill(effect="read", labels={"private"} if hidden == "private" else ())
    def diary(day: str) -> str:
        """Read a day of a diary."""
        RAN.append(day)
        return f"{day}: rain" if day == "monday" else "the key is sk-live-abcdefghijklmnop1234567890"

    def record(**options: Any) -> Report:
        model = ScriptedModel(turns())
        return evaluate(asked, model=model, skills=[diary], record=path, record_calls=True, **options)

    record()
    assert [call.withheld != "" for call in read_recording(path).calls or ()] == [True]
    assert "rain" not in [call.text for call in read_recording(path).calls or ()]
    told = reasons(evaluate(asked, skills=[diary], replay=path))
    assert "cannot be played" in told and "only --record-private keeps" in told
    record(record_private=True)
    RAN.clear()
    assert evaluate(asked, skills=[diary], replay=path).success == 1 and RAN == []


def test_the_file_is_for_its_owner_alone_also_where_one_was_there(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("older")
    path.chmod(0o644)
    recorded(path, suite("send ann"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "change",
    [
        {"status": "denied"},
        {"status": 7},
        {"text": ["x"]},
        {"labels": ["trusted"]},
        {"labels": [[]]},
        {"follow_ups": [["a"]]},
        {"follow_ups": [["local.send", "{}"]] * 65},
        {"skill": "x" * 201},
        {"scope": None},
        {"began": "1"},
        {"began": -1},
    ],
)
def test_a_call_that_is_none_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, suite("send ann"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | change if "call" in line else line) + "\n" for line in lines))
    with pytest.raises(UsageError, match="no turn of a recording"):
        read_recording(path)


@pytest.mark.parametrize("text", ["NaN", "{", "[" * 100_000, '{"a": 1, "a": 2}', "\ud800"])
def test_what_a_recording_says_is_taken_no_better_than_from_a_cell(text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, suite("send ann"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"text": text} if "call" in line else line) + "\n" for line in lines))
    assert replayed(path, suite("send ann")).cases[0].attempts[0].turns[0].status == "failed"
    assert RAN == ["ann"]


def test_a_recording_cannot_take_a_label_away(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, suite("diary monday"))
    recording = read_recording(path)
    recording.calls = [replace(call, labels=frozenset()) for call in recording.calls or ()]
    tape = CallPlayer(recording, scope="c0#1", redactor=Redactor, places={})
    with Agent(skills=[diary], model=ScriptedModel(turns()), tape=tape) as agent:
        result = agent.run("diary monday")
    assert RAN == ["monday"] and result.calls[0].labels == {"untrusted"}
    assert dict(result.calls[0].enforcement) == PLAYED


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"record_calls": True}, "needs a recording"),
        ({"record_private": True, "record": "r"}, "about the results of calls"),
        ({"run_calls": True}, "run in any case"),
    ],
)
def test_options_that_say_nothing_together_are_refused(options: dict[str, Any], says: str, tmp_path: Path) -> None:
    options = {name: tmp_path / value if name == "record" else value for name, value in options.items()}
    with pytest.raises(UsageError, match=says):
        evaluate(suite("send ann"), model=ScriptedModel([]), skills=[send, diary], **options)


WRITE = {
    "id": "write",
    "question": 'Write "done" into status.txt.',
    "trajectory": [{"skill": "files.write_file", "arguments": {"path": "status.txt"}}],
    "workspace": {"files": {"notes.txt": "n"}},
    "approve": [{"skill": "files.write_file"}],
    "answer": {"contains": "status.txt"},
}


def test_policy_decides_in_a_replay_and_a_cell_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(place=tmp_path).make("files")
    monkeypatch.setenv("REMIT_STATE", str(here.place / "state"))
    asked = Suite.model_validate({"cases": [WRITE]})
    path = here.folder / "r.jsonl"
    with Deployment.open(here.folder) as house:
        model = ScriptedModel(reply, name="m")
        assert evaluate(asked, house, model=model, record=path, record_calls=True, approve_listed=True).success == 1
        again = evaluate(asked, house, replay=path, approve_listed=True)
        assert again.success == 1 and _enforced(house, again) == [PLAYED]
        parked = evaluate(asked, house, replay=path)
        assert "the run is parked" in reasons(parked)


def _enforced(house: Deployment, report: Report) -> list[Any]:
    """What the log says of who held the calls of a report to their rights."""
    with State(house.state_folder) as state:
        session = report.cases[0].attempts[0].session
        return [one.body["enforcement"] for one in state.records(session=session, event="call.finished")]


@skill(effect="read")
def outer(day: str, ctx: Context) -> str:
    """Look, and look into the diary as well."""
    RAN.append("outer")
    ctx.follow_up("local.diary", day=day)
    return "looked"


def test_follow_ups_and_tasks_of_agents_are_played_too(tmp_path: Path) -> None:
    path, case = tmp_path / "r.jsonl", {"id": "a", "question": "outer monday", "answer": {"contains": "monday: rain"}}
    asked = Suite.model_validate({"cases": [case]})
    options: dict[str, Any] = {"skills": [outer, diary]}
    script = [ask("local.outer", day="monday"), lambda request: request.messages[-1].content]
    first = evaluate(asked, model=ScriptedModel(script), record=path, record_calls=True, **options)
    assert first.success == 1 and RAN == ["outer", "monday"]
    assert [call.skill for call in read_recording(path).calls or ()] == ["local.outer", "local.diary"]
    RAN.clear()
    again = evaluate(asked, replay=path, **options)
    assert again.success == 1 and RAN == [] and answers(again) == answers(first)
    assert [call.skill for call in again.cases[0].attempts[0].turns[0].others] == ["local.diary"]


def test_what_an_agent_below_calls_is_played_from_the_same_tape(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    agents = (AgentSpec(name="reader", description="Reads the diary."),)

    def play(request: ModelRequest) -> Any:
        last = request.messages[-1]
        if last.role == "tool":
            return last.content
        if "You are the agent reader" in request.messages[0].content:
            return ask("local.diary", day="monday")
        return ask("remit.delegate", agent="reader", task="Read.")

    def run(model: Any, tape: Any) -> str:
        with Agent(skills=[diary], agents=agents, model=model, tape=tape) as agent:
            return agent.run("What was on Monday?").answer

    model = ScriptedModel(play)
    recorder = recorder_of(model, path, calls=True)
    about: dict[str, Any] = {"scope": "", "redactor": Redactor, "places": {}}
    told = run(RecordingModel(model, recorder), CallRecorder(recorder, **about))
    assert "monday: rain" in told and RAN == ["monday"]
    RAN.clear()
    assert run(ReplayModel(path), CallPlayer(read_recording(path), **about)) == told and RAN == []


def test_a_replay_keeps_labels_of_what_failed_and_leaves_nothing_for_later(tmp_path: Path) -> None:
    def look(name: str) -> str:
        """Look."""
        RAN.append(name)
        if name == "none":
            raise ValueError("there is none")
        return name

    about: dict[str, Any] = {"scope": "", "redactor": Redactor, "places": {}}
    looking = host_skill(look, cache=60.0, idempotent=True, hash="h", labels=frozenset())
    recorder = Recorder(tmp_path / "r.jsonl", "m", calls=True)
    with Bench(tmp_path / "first", looking, tape=CallRecorder(recorder, **about)) as bench:
        bench.call("local.look", name="one"), bench.call("local.look", name="none")
    recorder.close()
    recording = read_recording(tmp_path / "r.jsonl")
    recording.calls = [replace(call, labels=frozenset({"private"})) for call in recording.calls or ()]
    RAN.clear()
    with Bench(tmp_path / "second", looking, tape=CallPlayer(recording, **about)) as bench:
        found = [bench.call("local.look", name=name) for name in ("one", "none")]
        assert [(one.status, one.labels) for one in found] == [("ok", {"private"}), ("failed", {"private"})]
    assert RAN == []
    with Bench(tmp_path / "second", looking) as bench:
        assert not bench.call("local.look", name="one").cached and bench.call("local.look", name="one").cached


def test_equal_calls_at_the_same_time_are_played_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    first, number = asyncio.Event(), iter((1, 2))

    @skill(effect="read")
    async def look(name: str) -> int:
        """Look."""
        found = next(number)
        await first.wait() if found == 1 else first.set()
        return found

    def play(request: ModelRequest) -> Any:
        told = [message.content for message in request.messages if message.role == "tool"]
        return " ".join(told) or [ask("local.look", name="a"), ask("local.look", name="a")]

    case = {"id": "a", "question": "Look twice", "answer": {"equals": "1 2"}}
    about = Suite.model_validate({"cases": [case]})
    options: dict[str, Any] = {"skills": [look]}
    recording = tmp_path / "r.jsonl"
    assert evaluate(about, model=ScriptedModel(play), record=recording, record_calls=True, **options).success == 1
    assert [call.text for call in read_recording(recording).calls or ()] == ["2", "1"]
    assert evaluate(about, replay=recording, **options).success == 1
