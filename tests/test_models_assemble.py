"""One reply from the parts that endpoints send (field cases L79 to L99)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remit.models.assemble import Assembler
from remit.models.protocol import ModelReply, Usage


def streamed(*deltas: Any, names: tuple[str, ...] = (), finish: str | None = "tool_calls") -> ModelReply:
    assembler = Assembler(names)
    for delta in deltas:
        assembler.chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    assembler.chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return assembler.reply(sent=b"", received=b"")


def whole(message: Any, finish: str | None = "stop", **body: Any) -> ModelReply:
    assembler = Assembler()
    assert assembler.whole({"choices": [{"message": message, "finish_reason": finish}], **body})
    return assembler.reply(sent=b"", received=b"")


def part(name: str | None = None, arguments: Any = None, **rest: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"tool_calls": [{**rest, "function": function}]}


def read(reply: ModelReply) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in reply.calls]


def test_calls_without_an_index() -> None:
    reply = streamed(part("tide", '{"p":', id="c1"), part(None, '"N"}'), part("wind", '{"p":"S"}', id="c2"))
    assert read(reply) == [("c1", "tide", '{"p":"N"}'), ("c2", "wind", '{"p":"S"}')]


def test_a_name_after_complete_arguments_opens_a_call() -> None:
    assert read(streamed(part("a", "{}"), part("b", '{"x":'), part(None, "1}"))) == [
        ("", "a", "{}"),
        ("", "b", '{"x":1}'),
    ]


def test_a_name_in_every_chunk_is_one_name() -> None:
    chunks = [part("read_log", a, index=0, id="k1") for a in ("", '{"n"', ":2}")]
    assert read(streamed(*chunks)) == [("k1", "read_log", '{"n":2}')]


def test_a_name_cut_in_parts_is_joined_where_that_gives_a_known_one() -> None:
    chunks = [part("re", "", index=0, id="k"), part("ad_", None, index=0), part("log", "{}", index=0)]
    assert read(streamed(*chunks, names=("read_log",))) == [("k", "read_log", "{}")]


def test_one_index_for_all_with_ids_of_their_own() -> None:
    chunks = [part("a", "{}", index=0, id="x"), part("b", "{}", index=0, id="y")]
    assert read(streamed(*chunks)) == [("x", "a", "{}"), ("y", "b", "{}")]


def test_text_and_call_in_one_delta() -> None:
    first = {"content": "First I look: ", **part("ls", "", index=0, id="t1")}
    reply = streamed(first, {"content": "ok", **part(None, "{}", index=0)})
    assert reply.text == "First I look: ok"
    assert read(reply) == [("t1", "ls", "{}")]


def test_arguments_as_an_object() -> None:
    reply = whole({"tool_calls": [{"id": "c1", "function": {"name": "tide", "arguments": {"port": "N", "n": [1]}}}]})
    assert json.loads(reply.calls[0].arguments) == {"port": "N", "n": [1]}
    streamed_twice = streamed(part("tide", {"a": 1}, index=0), part(None, {"a": 2}, index=0))
    assert json.loads(streamed_twice.calls[0].arguments) == {"a": 2}


def test_the_same_id_twice_in_a_whole_message_is_two_calls() -> None:
    """L98, L99: pairing goes by position."""
    asked = [{"id": "temp", "function": {"name": "temp", "arguments": a}} for a in ('{"c":"Oslo"}', '{"c":"Rome"}')]
    assert [c.arguments for c in whole({"tool_calls": asked}).calls] == ['{"c":"Oslo"}', '{"c":"Rome"}']


def test_calls_without_a_name_are_left_out() -> None:
    asked = [{"id": "c1", "function": {}}, {"id": "c2"}, {"id": "c3", "type": "custom", "custom": {}}, None]
    reply = whole({"content": None, "tool_calls": asked})
    assert reply.calls == ()
    assert reply.notes


def test_usage_that_is_missing_is_unknown() -> None:
    """L95."""
    for usage in ({}, {"usage": None}, {"usage": {}}, {"usage": {"prompt_tokens": None, "completion_tokens": "7"}}):
        assert whole({"content": "ok"}, **usage).usage == Usage()
    assert whole({"content": "ok"}, usage={"prompt_tokens": 3, "completion_tokens": 4}).usage.total_tokens == 7


def test_finish_reasons() -> None:
    finishes = {"stop": "stop", "tool_calls": "stop", "": "stop", "length": "length", "content_filter": "filter"}
    assert {raw: whole({"content": "x"}, finish=raw).finish for raw in finishes} == finishes


def test_reasoning_and_parts_of_content() -> None:
    reply = whole({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 7], "reasoning": "hm"})
    assert (reply.text, reply.reasoning) == ("ab", "hm")


def test_old_function_call() -> None:
    assert read(whole({"content": None, "function_call": {"name": "tide", "arguments": "{}"}})) == [("", "tide", "{}")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "message", "tool_calls", "function", "name", "index", "id", "usage"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "model"]), JSON, max_size=3), max_size=4))
def test_nothing_that_an_endpoint_sends_raises(bodies: list[dict[str, Any]]) -> None:
    assembler = Assembler()
    for body in bodies:
        assembler.chunk(body)
        assembler.whole(body)
    assembler.reply(sent=b"", received=b"")
