from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox.errors import ProtocolError
from remit_sandbox.frames import DEPTH, Exchange, FrameReader, decode, encode

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
messages = st.dictionaries(st.text(max_size=8), plain, max_size=5)


def frame(message: object) -> bytes:
    body = msgpack.packb(message)
    return len(body).to_bytes(4, "big") + body


@given(messages)
def test_what_is_written_is_read(message: dict[str, object]) -> None:
    header, body = encode(message)
    assert FrameReader(1 << 20).feed(header + body) == message


@given(st.lists(messages, min_size=1, max_size=4), st.integers(1, 7))
def test_pieces_of_any_size_give_the_same_messages(sent: list[dict[str, object]], size: int) -> None:
    stream = b"".join(b"".join(encode(message)) for message in sent)
    reader, got = FrameReader(1 << 20), []
    for start in range(0, len(stream), size):
        message = reader.feed(stream[start : start + size])
        while message is not None:
            got.append(message)
            message = reader.feed(b"")
    assert got == sent
    assert not reader.pending


@given(st.binary(max_size=200))
def test_rubbish_is_a_protocol_error_or_waits(data: bytes) -> None:
    reader = FrameReader(100)
    try:
        reader.feed(data)
    except ProtocolError:
        return


@given(st.binary(max_size=200))
def test_a_long_body_of_rubbish_never_raises_anything_else(data: bytes) -> None:
    try:
        decode(data + bytes(17_000))
    except ProtocolError:
        return


def test_a_frame_beyond_the_limit_is_refused_by_its_length_alone() -> None:
    with pytest.raises(ProtocolError, match="longer than the limit"):
        FrameReader(100).feed((101).to_bytes(4, "big"))
    assert FrameReader(100).feed((100).to_bytes(4, "big")) is None


@pytest.mark.parametrize("message", [[], "text", 5, None, {1: 2}, {b"key": 1}])
def test_only_a_map_with_text_keys_is_a_message(message: object) -> None:
    with pytest.raises(ProtocolError):
        FrameReader(1000).feed(frame(message))


def test_extension_types_are_refused() -> None:
    with pytest.raises(ProtocolError):
        FrameReader(1000).feed(frame({"op": msgpack.ExtType(5, b"x")}))
    with pytest.raises(ProtocolError, match="extension"):
        decode(msgpack.packb({"op": [msgpack.Timestamp(1), b"x" * 20_000]}))


def test_a_long_frame_of_many_values_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(ProtocolError, match="too many values"):
        decode(msgpack.packb({"op": [[]] * 50_000}))
    assert decode(msgpack.packb({"op": "x" * 1_000_000})) == {"op": "x" * 1_000_000}


def test_a_deep_frame_is_refused() -> None:
    deep: object = b"x" * 20_000
    for _ in range(DEPTH + 1):
        deep = [deep]
    with pytest.raises(ProtocolError, match="too deep"):
        decode(msgpack.packb({"op": deep}))
    assert decode(msgpack.packb({"op": [[b"x" * 20_000]]}))


def test_an_exchange_gives_progress_and_then_the_answer() -> None:
    exchange = Exchange(FrameReader(1000), {"op": "call"}, 7)
    assert decode(exchange.outgoing[1]) == {"op": "call", "id": 7}
    assert exchange.feed(frame({"op": "progress", "id": 7, "text": "half"})) is None
    assert exchange.progress == ["half"]
    assert exchange.feed(frame({"op": "result", "id": 7})) == {"op": "result", "id": 7}


def test_progress_and_answer_may_come_together() -> None:
    exchange = Exchange(FrameReader(1000), {"op": "call"}, 7)
    both = frame({"op": "progress", "id": 7, "text": "half"}) + frame({"op": "result", "id": 7})
    assert exchange.feed(both) == {"op": "result", "id": 7}


@pytest.mark.parametrize("identity", [8, "7", None, True, 7.0])
def test_an_answer_to_nothing_breaks_the_protocol(identity: object) -> None:
    exchange = Exchange(FrameReader(1000), {"op": "call"}, 7)
    with pytest.raises(ProtocolError, match="answers no request"):
        exchange.feed(frame({"op": "result", "id": identity}))


def test_two_answers_break_the_protocol() -> None:
    exchange = Exchange(FrameReader(1000), {"op": "call"}, 7)
    with pytest.raises(ProtocolError, match="after the answer"):
        exchange.feed(frame({"op": "result", "id": 7}) * 2)


def test_bytes_before_the_request_break_the_protocol() -> None:
    reader = FrameReader(1000)
    assert reader.feed(b"\0\0") is None
    with pytest.raises(ProtocolError, match="before the request"):
        Exchange(reader, {"op": "call"}, 7)


def test_what_cannot_be_sent_is_said() -> None:
    with pytest.raises(ProtocolError, match="cannot be sent"):
        encode({"op": object()})
    with pytest.raises(ProtocolError, match="longer than the limit"):
        encode({"op": b"x" * 100}, limit=50)
