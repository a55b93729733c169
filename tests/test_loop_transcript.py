"""Transcripts are whole, whatever was stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import StateError
from remit.loop.transcript import LOST, Transcript, bare_name, legal_name, object_text
from remit.models.protocol import Message, ToolCall
from tests.loop_parts import lawful


def asked(*ids: str) -> Message:
    return Message(role="assistant", origin="model", calls=tuple(ToolCall(id=i, name="t__x") for i in ids))


def answer(call_id: str, text: str = "r") -> Message:
    return Message(role="tool", origin="skill", call_id=call_id, content=text, status="ok")


def say(text: str = "hi") -> Message:
    return Message(role="user", content=text)


def test_what_a_crash_left_open_is_lost() -> None:
    transcript = Transcript([say(), asked("a", "b"), answer("a"), say("go on")])
    lawful(transcript.messages)
    assert [(m.role, m.status) for m in transcript.messages] == [
        ("user", ""), ("assistant", ""), ("tool", "ok"), ("tool", "lost"), ("user", ""),
    ]  # fmt: skip
    assert transcript.messages[3].content == LOST


def test_results_without_a_call_go_and_the_order_is_the_calls() -> None:
    transcript = Transcript([answer("x"), say(), asked("a", "b"), answer("b", "B"), answer("z"), answer("a", "A")])
    lawful(transcript.messages)
    assert [m.content for m in transcript.messages if m.role == "tool"] == ["A", "B"]


def test_an_id_that_is_used_again_becomes_another() -> None:
    messages = [asked("a", "a"), answer("a", "1"), answer("a", "2"), asked("a"), answer("a", "3")]
    transcript = Transcript(messages)
    lawful(transcript.messages)
    assert [m.content for m in transcript.messages if m.role == "tool"] == ["1", "2", "3"]


def test_a_session_survives_the_disk() -> None:
    transcript = Transcript([say(), asked("a"), answer("a")])
    transcript.note("note")
    transcript.reply("end", reasoning="why")
    again = Transcript.from_json(json.loads(json.dumps(transcript.to_json())))
    assert again.messages == transcript.messages


@pytest.mark.parametrize("stored", [[{}], [{"role": "king"}], ["x"], [{"role": "user", "calls": 7}]])
def test_what_is_no_session_is_refused(stored: list[object]) -> None:
    with pytest.raises(StateError, match="cannot be read"):
        Transcript.from_json(stored)  # type: ignore[arg-type]


MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "tool"]),
        content=st.text(max_size=3),
        call_id=st.sampled_from(["", "a", "b", "c"]),
    )
    | st.lists(st.sampled_from(["", "a", "b", "\n"]), max_size=3).map(lambda ids: asked(*ids)),
    max_size=12,
)


@given(MESSAGES)
def test_any_messages_become_a_whole_transcript(messages: list[Message]) -> None:
    nonempty = [m if m.role != "tool" else answer(m.call_id) for m in messages]
    transcript = Transcript(nonempty)
    lawful(transcript.messages)
    assert sum(len(m.calls) for m in transcript.messages) == sum(len(m.calls) for m in messages)
    assert Transcript(transcript.messages).messages == transcript.messages


@given(st.text())
def test_names_are_legal_and_arguments_are_objects(text: str) -> None:
    assert legal_name(text).isascii()
    assert 0 < len(legal_name(text)) <= 64
    assert isinstance(json.loads(object_text(text)), dict)


def test_names_and_arguments_that_are_fine_stay() -> None:
    assert legal_name("calc__evaluate") == "calc__evaluate"
    assert bare_name(" tide<|channel|>x ") == "tide"
    assert object_text('{"a": 1e999, "b":"é"}') == '{"a": 1e999, "b":"é"}'
    assert json.loads(object_text('{"a": "tab\there"}')) == {"a": "tab\there"}
