"""Server-sent events in any pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from remit.models.stream import EventLines

STREAM = 'data: {"a":"\u2028é"}\r\n\r\n: comment\nevent: x\ndata:one\ndata: two\n\ndata: [DONE]\r\rdata: last'.encode()
EVENTS = ['{"a":"\u2028é"}'.encode(), b"one\ntwo", b"[DONE]", b"last"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_any_chunking_gives_the_same_events(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    lines = EventLines()
    events = [e for start, end in pairwise(places) for e in lines.feed(STREAM[start:end])]
    assert events + lines.end() == EVENTS


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    lines, more = EventLines(), EventLines()
    whole = [*lines.feed(data), *lines.end()]
    assert whole == [event for byte in data for event in more.feed(bytes((byte,)))] + list(more.end())
