"""The trace that running code belongs to, as text that every layer may read without OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TRACEPARENT: ContextVar[str] = ContextVar("remit_traceparent", default="")


def traceparent() -> str:
    """Return the current `traceparent` (W3C Trace Context, version 00), empty where nothing is traced."""
    return _TRACEPARENT.get()


def trace_id() -> str:
    """Return the 32 hexadecimal digits of the current trace, empty where nothing is traced."""
    return _TRACEPARENT.get()[3:35]


@contextmanager
def within(parent: str) -> Iterator[None]:
    """Let `traceparent()` return `parent` inside the block, in this task and those that it starts."""
    token = _TRACEPARENT.set(parent)
    try:
        yield
    finally:
        _TRACEPARENT.reset(token)
