"""Recording and replaying a model: nothing of chance decides whether a request is found, and nothing else is."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from remit import Agent, ScriptedModel, skill
from remit.errors import ModelError, UsageError
from remit.models.protocol import Message, ModelReply, ModelRequest, Picture, ToolCall, ToolSpec
from remit.models.recording import RecordingModel, ReplayModel
from remit.models.recording_file import Recorder, read_recording
from remit.models.request_form import Form, form_of
from remit.models.scripted import ask
from remit.pipeline.redact import Redactor

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def request(*contents: str, role: Any = "user", **options: Any) -> ModelRequest:
    return ModelRequest(messages=tuple(Message(role=role, content=content) for content in contents), **options)


def result(content: str, call: str = "c1") -> ModelRequest:
    asked = Message(role="assistant", calls=(ToolCall(id=call, name="t__now", arguments="{}"),))
    return ModelRequest(messages=(asked, Message(role="tool", content=content, call_id=call)))


def say(model: Any, asked: ModelRequest) -> ModelReply:
    reply: ModelReply = asyncio.run(model.complete(asked))
    return reply


def recorded(path: Path, *turns: tuple[ModelRequest, str], **options: Any) -> None:
    answers = iter([answer for _, answer in turns])
    model = RecordingModel(ScriptedModel(lambda _: next(answers)), path, **options)
    for asked, _ in turns:
        say(model, asked)
    asyncio.run(model.aclose())


@skill(effect="read")
def now(pages: int = 1) -> dict[str, str]:
    """Tell the time."""
    moment = datetime.now(UTC)
    return {"iso": moment.isoformat(), "weekday": f"{moment:%A}", "clock": f"{moment:%H:%M:%S}", "long": "x" * 5000}


def read_on(asked: ModelRequest) -> ToolCall:
    found = re.search(r"r-[0-9a-f]{12}", asked.messages[-1].content)
    assert found is not None
    return ask("remit.read_result", handle=found[0], page=1)


def test_a_whole_run_is_replayed_with_handles_and_times_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    script = ScriptedModel([ask("local.now"), read_on, "It is late."], name="m")
    with Agent(skills=[now], model=RecordingModel(script, path)) as agent:
        first = agent.run("What time is it?")
    replay = ReplayModel(path)
    with Agent(skills=[now], model=replay) as agent:
        again = agent.run("What time is it?")
    assert (first.answer, first.status) == (again.answer, again.status) == ("It is late.", "answered")
    assert [call.status for call in again.calls] == ["ok", "ok"]
    assert again.calls[0].handle != first.calls[0].handle
    assert again.usage == first.usage and again.model == "m"
    assert replay.left == 0


def test_the_same_request_gets_the_replies_in_their_order_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    recorded(path, (request("a"), "one"), (request("a"), "two"))
    model = ReplayModel(path)
    assert [say(model, request("a")).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ModelError, match=r"was recorded 2 times in .*turns\.jsonl, and is asked once more"):
        say(model, request("a"))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (request("b c d"), r'message 1 \(the user\): at character 5: "b c d", was "b c e"'),
        (request("b c e", role="assistant"), "message 1 is of the model, was of the user"),
        (request("b c e", "f"), "the request has 2 messages, the recorded one 1"),
        (request("b c e", temperature=0.5), "temperature is 0.5, was 0.0"),
        (request("b c e", tools=(ToolSpec(name="x", description="", parameters={}),)), "the skill x is offered, and"),
    ],
    ids=["text", "role", "number", "option", "skill"],
)
def test_what_was_not_recorded_is_an_error_that_says_what_differs_first(
    asked: ModelRequest, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "turns.jsonl"
    recorded(path, (request("b c e"), "yes"))
    with pytest.raises(ModelError, match=says):
        say(ReplayModel(path), asked)
    assert say(ReplayModel(path), request("b c e")).text == "yes"


def test_a_changed_description_of_a_skill_is_named(tmp_path: Path) -> None:
    tool = ToolSpec(name="x", description="old words", parameters={})
    path = tmp_path / "turns.jsonl"
    recorded(path, (request("a", tools=(tool,)), "yes"))
    with pytest.raises(ModelError, match="description of the skill x: at character 2"):
        say(ReplayModel(path), request("a", tools=(replace(tool, description="new words"),)))
    with pytest.raises(ModelError, match="the skill x is not offered any more"):
        say(ReplayModel(path), request("a"))


def forms(left: str, right: str, *, later: timedelta = timedelta(0)) -> tuple[Form, Form]:
    return form_of(result(left), now=NOW), form_of(result(right, "other"), now=NOW + later)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2026-11-30T11:59:00Z", "2026-12-24T08:00:01.5+02:00"),
        (
            '{"date": "2026-11-30", "time": "11:59:00", "weekday": "Monday"}',
            '{"date": "2026-12-24", "time": "08:00:01", "weekday": "Thursday"}',
        ),
        ("1796039940", "1798092001.25"),
    ],
    ids=["moment", "parts", "seconds"],
)
def test_the_present_does_not_count_in_results(left: str, right: str) -> None:
    one, other = forms(left, right, later=datetime(2026, 12, 24, 7, tzinfo=UTC) - NOW)
    assert one.exact != other.exact
    assert one.loose == other.loose


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("2015-07-04", "2015-12-25"),
        ("a Monday", "a Tuesday"),
        ("11:00", "12:00"),
        ("2026-11-30: 4 apples", "2026-11-30: 5 apples"),
        ("1000000000", "1000000001"),
    ],
)
def test_what_is_not_the_present_counts(left: str, right: str) -> None:
    one, other = forms(left, right)
    assert one.loose != other.loose


def test_a_date_in_a_question_counts_although_it_is_today() -> None:
    assert form_of(request("2026-11-30"), now=NOW).loose != form_of(request("2026-11-29"), now=NOW).loose


def test_a_fixed_date_that_is_today_by_chance_is_found_later_by_the_exact_form(tmp_path: Path) -> None:
    text = f"made {datetime.now(UTC):%Y-%m-%d}"
    path = tmp_path / "turns.jsonl"
    recorded(path, (result(text), "yes"))
    later = form_of(result(text), now=datetime.now(UTC) + timedelta(days=30))
    (turn,) = read_recording(path).turns
    assert later.exact == turn.exact and later.loose != turn.loose
    assert say(ReplayModel(path), result(text)).text == "yes"


def test_ids_handles_and_folders_do_not_count_and_come_back_in_the_reply(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    told = "see r-0123456789ab in /tmp/one/notes"
    recorded(path, (result(told), "Read r-0123456789ab, /tmp/one/notes"), places={"/tmp/one": "${workspace}"})
    assert "0123456789ab" not in path.read_text() and "/tmp/one" not in path.read_text()
    model = ReplayModel(path, places={"/tmp/two": "${workspace}"})
    asked = result("see r-ba9876543210 in /tmp/two/notes", "c77")
    assert say(model, asked).text == "Read r-ba9876543210, /tmp/two/notes"


KEY = "sk-proj-abcdefghijklmnop1234567890ABCDEF"


def test_keys_are_not_recorded_and_the_replay_finds_the_request_all_the_same(tmp_path: Path) -> None:
    asked = request(f"Use {KEY}.", "again")
    hidden, plain = tmp_path / "hidden.jsonl", tmp_path / "plain.jsonl"
    recorded(hidden, (asked, f"I used {KEY}."), hide=lambda: Redactor().text)
    recorded(plain, (asked, f"I used {KEY}."))
    assert KEY not in hidden.read_text() and KEY in plain.read_text()
    reply = say(ReplayModel(hidden, hide=lambda: Redactor().text), asked)
    assert reply.text.startswith("I used [redacted")


def test_nothing_of_the_wire_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    reply = ModelReply(text="yes", sent=b"Authorization: Bearer hush", received=b"hush too", cost=0.25)
    model = RecordingModel(ScriptedModel([reply]), path)
    assert say(model, request("a")) == reply
    asyncio.run(model.aclose())
    assert "hush" not in path.read_text()
    assert say(ReplayModel(path), request("a")).cost == 0.25
    assert path.stat().st_mode & 0o077 == 0


def test_scopes_keep_apart_what_several_ask_at_once(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    shared = Recorder(path, "m")
    for scope in ("one", "two"):
        say(RecordingModel(ScriptedModel([scope]), shared, scope=scope), request("a"))
    shared.close()
    assert read_recording(path).scopes == {"one", "two"}
    assert [say(ReplayModel(path, scope=scope), request("a")).text for scope in ("two", "one")] == ["two", "one"]
    with pytest.raises(ModelError, match=r"holds no turn of three"):
        say(ReplayModel(path, scope="three"), request("a"))


def test_a_place_that_cannot_be_written_shows_before_a_model_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        Recorder(tmp_path / "absent" / "turns.jsonl", "m").begin()
    model = RecordingModel(ScriptedModel(["one"]), tmp_path)
    with pytest.raises(ModelError, match="cannot be written"):
        say(model, request("a"))


def test_each_part_of_a_conversation_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    words = [f"word {number} " * 50 for number in range(20)]
    recorded(path, *((request(*words[: number + 1]), "yes") for number in range(20)))
    assert path.read_text().count('{"part"') == 20 + 2
    assert len(read_recording(path).turns) == 20


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no recording of version 1"),
        ('{"remit_recording": 9}', "no recording of version 1"),
        ("{", "line 1"),
        ("[]", "an object is due"),
        ('{"remit_recording": 1, "model": "m"}\n{"scope": ""}', "line 2: no turn"),
        ('{"remit_recording": 1, "model": "m"}\n' + "[" * 100_000, "line 2"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        ReplayModel(path)


@pytest.mark.parametrize(
    ("use", "good"),
    [
        ('"usage": {"input_tokens": 7, "output_tokens": 1}, "cost": 0.5', True),
        ('"usage": {"input_tokens": 1' + "0" * 400 + ', "output_tokens": 1}', False),
        ('"usage": {"cached_tokens": null}', False), ('"usage": {"cache_writes": null}', False),
        ('"calls": [{"name": "a", "hidden": []}]', False), ('"calls": [{"name": "a", "repaired": 1}]', False),
        ('"cost": Infinity', False), ('"cost": NaN', False), ('"cost": 1' + "0" * 400, False), ('"cost": -1', False),
    ],
)  # fmt: skip
def test_a_recording_uses_no_more_than_can_be(use: str, good: bool, tmp_path: Path) -> None:
    turn = '{"scope": "", "exact": "e", "loose": "l", "parts": [], "reply": {"text": "hi", ' + use + "}}"
    path = tmp_path / "turns.jsonl"
    path.write_text('{"remit_recording": 1, "model": "m"}\n' + turn + "\n")
    if good:
        assert read_recording(path).turns[0].reply.usage.input_tokens == 7
        return
    with pytest.raises(UsageError, match="line 2: no turn"):
        read_recording(path)


def test_a_recording_that_is_not_there_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read") as refused:
        ReplayModel(tmp_path / "absent.jsonl")
    assert "--record" in refused.value.remedy


def test_images_that_are_sent_along_count_and_are_not_kept(tmp_path: Path) -> None:
    def seen(data: bytes) -> ModelRequest:
        shown = Picture(media_type="image/png", data=data, width=1, height=1)
        told = Message(role="user", content="look", images=("r-0123456789ab",))
        return ModelRequest(messages=(told,), pictures={"r-0123456789ab": shown})

    path = tmp_path / "turns.jsonl"
    model = ScriptedModel(["a cat"])
    model.images = True  # type: ignore[attr-defined]
    recording = RecordingModel(model, path)
    say(recording, seen(b"cat" * 100))
    asyncio.run(recording.aclose())
    assert ReplayModel(path).images and path.stat().st_size < 1500
    assert say(ReplayModel(path), seen(b"cat" * 100)).text == "a cat"
    with pytest.raises(ModelError, match=r"message 1 \(the user\): its images"):
        say(ReplayModel(path), seen(b"dog" * 100))


def test_a_recording_ends_early_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    model = RecordingModel(ScriptedModel(["one", RuntimeError("the program ends")]), path)
    say(model, request("a"))
    with pytest.raises(RuntimeError):
        say(model, request("b"))
    assert [json.loads(line).get("scope") for line in path.read_text().splitlines()][-1] == ""
    assert len(read_recording(path).turns) == 1
    asyncio.run(model.aclose())


@given(said=st.text(st.characters(exclude_categories=()), max_size=20))
@example(said="half \ud83d of a pair, \u00e9")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_reply_is_played_exactly_as_it_was_given(said: str, tmp_path: Path) -> None:
    path, asked = tmp_path / "turns.jsonl", request("2+3?")
    joined = json.loads(json.dumps(said))  # two halves of a surrogate pair are one letter in JSON
    call = ToolCall(name="t", arguments=joined)
    model = ScriptedModel([ModelReply(text=joined, reasoning=joined, carry=joined, calls=(call,))])
    recorder = RecordingModel(model, path)
    told = say(recorder, asked)
    asyncio.run(recorder.aclose())
    assert say(ReplayModel(path), asked) == told


@pytest.mark.parametrize("parts", [[], [["message 1 (user)", "[]"]], [["message 1 (user)", "{"]], [["skills", "[7]"]]])
def test_a_recorded_request_that_is_none_is_no_fault_of_the_replay(parts: list[list[str]], tmp_path: Path) -> None:
    texts = [json.dumps({"part": body, "body": body}) for _, body in parts]
    turn = json.dumps({"scope": "", "exact": "e", "loose": "l", "parts": parts, "reply": {"text": "hi"}})
    path = tmp_path / "turns.jsonl"
    path.write_text("\n".join(['{"remit_recording": 1, "model": "m"}', *texts, turn]))
    with pytest.raises(ModelError, match="cannot be read"):
        asyncio.run(ReplayModel(path).complete(ModelRequest(messages=(Message(role="user", content="How much?"),))))
