"""The span `invoke_agent {agent}` around a run."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from remit.telemetry import names
from remit.telemetry.current import RUN, current
from remit.telemetry.instruments import Attributes, Instruments

if TYPE_CHECKING:
    from remit.models.protocol import Usage


class Ended(Protocol):
    """What is told of a run's end; `remit.loop.outcome.RunResult` fits."""

    @property
    def status(self) -> str:
        """`answered`, `stopped`, `parked` or `failed`."""
        ...

    @property
    def steps(self) -> int:
        """Model turns."""
        ...

    @property
    def usage(self) -> Usage:
        """Tokens of all turns."""
        ...


class ObservedRun:
    """A context manager around one run; what happens inside it becomes children of its span."""

    def __init__(self, made: Instruments, *, session: str, agent: str, model: str) -> None:
        from opentelemetry.trace import SpanKind

        self._made = made
        self._agent = {names.AGENT: agent} if agent else {}
        self._model = model
        self._stack = ExitStack()
        self._began = time.perf_counter()
        self._error = ""
        self.inferences = 0
        self.tools = 0
        attributes: Attributes = {
            names.OPERATION: names.INVOKE_AGENT,
            names.CONVERSATION: session,
            names.REQUEST_MODEL: model,
            **self._agent,
        }
        name = f"{names.INVOKE_AGENT} {agent}".strip()
        self._span = made.tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)

    def __enter__(self) -> ObservedRun:
        self._stack.enter_context(current(self._span))
        token = RUN.set(self)
        self._stack.callback(RUN.reset, token)
        return self

    def ended(self, result: Ended) -> None:
        """Take down how the run ended."""
        self._span.set_attributes({names.RUN_STATUS: result.status, names.STEPS: result.steps})
        counts = {names.INPUT_TOKENS: result.usage.input_tokens, names.OUTPUT_TOKENS: result.usage.output_tokens}
        self._span.set_attributes({name: count for name, count in counts.items() if count is not None})
        if result.status == "failed":
            self._failed(result.status)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._span.set_attribute(names.RUN_STATUS, "stopped")
            if issubclass(kind, Exception):
                self._failed(kind.__name__)
        self._stack.close()
        self._span.end()
        self._measure()

    def _failed(self, what: str) -> None:
        from opentelemetry.trace import StatusCode

        self._error = what
        self._span.set_attribute(names.ERROR, what)
        self._span.set_status(StatusCode.ERROR)

    def _measure(self) -> None:
        error = {names.ERROR: self._error} if self._error else {}
        made = self._made
        about = {**self._agent, names.REQUEST_MODEL: self._model, **error}
        made.run_duration.record(time.perf_counter() - self._began, about)
        made.run_inferences.record(self.inferences, self._agent)
        made.run_tools.record(self.tools, self._agent)
