"""A span that is current while it lasts, for OpenTelemetry and for `remit.trace`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from remit import trace as text

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from remit.telemetry.run import ObservedRun

RUN: ContextVar[ObservedRun | None] = ContextVar("remit_observed_run", default=None)
"""The run that model turns and calls count for."""


@contextmanager
def current(span: Span) -> Iterator[None]:
    """Make `span` the parent of what begins inside the block; ending it is the caller's business."""
    from opentelemetry.trace import use_span

    with (
        use_span(span, record_exception=False, set_status_on_exception=False),
        text.within(traceparent(span)),
    ):
        yield


def traceparent(span: Span) -> str:
    """Return the W3C `traceparent` of `span`, empty when it belongs to no trace."""
    context = span.get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
