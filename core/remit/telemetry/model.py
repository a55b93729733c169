"""The span `chat {model}` around a model turn, retries included."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from remit.models.protocol import Model, ModelDelta, ModelReply, ModelRequest, OnDelta
from remit.telemetry import names
from remit.telemetry.content import input_messages, output_messages
from remit.telemetry.current import RUN, current
from remit.telemetry.instruments import Attributes, Instruments
from remit.telemetry.provider import endpoint, provider

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from remit.telemetry.telemetry import Telemetry


class ObservedModel:
    """A model that is measured; in everything else it is the model that it was made from."""

    def __init__(self, model: Model, made: Instruments, settings: Telemetry) -> None:
        self._model = model
        self._made = made
        self._settings = settings
        self._fixed: Attributes = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: provider(model),
            names.REQUEST_MODEL: model.name,
            **endpoint(model),
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def aclose(self) -> None:
        """Close what the model has open on the running event loop."""
        await self._model.aclose()

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer as the model does, and measure it. Raises what the model raises."""
        from opentelemetry.trace import SpanKind

        run = RUN.get()
        if run is not None:
            run.inferences += 1
        attributes = {**self._fixed, **_asked(request, streams=on_delta is not None)}
        if self._settings.content:
            attributes[names.INPUT_MESSAGES] = input_messages(request, self._settings.hide)
        name = f"{names.CHAT} {self._model.name}"
        span = self._made.tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)
        turn = _Turn(self._made, self._settings, self._fixed, span, on_delta)
        try:
            with current(span):
                reply = await self._model.complete(request, on_delta=turn.on_delta if on_delta is not None else None)
        except (Exception, asyncio.CancelledError) as error:
            turn.failed(error)
            raise
        turn.ended(reply)
        return reply


class _Turn:
    """What is measured of one turn."""

    def __init__(
        self, made: Instruments, settings: Telemetry, fixed: Attributes, span: Span, on_delta: OnDelta | None
    ) -> None:
        self._made, self._settings, self._fixed, self._span = made, settings, fixed, span
        self._on_delta = on_delta
        self._began = time.perf_counter()
        self._first: float | None = None

    def on_delta(self, delta: ModelDelta) -> None:
        if delta.kind == "retry":
            self._first = None
            self._span.add_event(names.RETRY, {"wait": delta.wait})
        elif self._first is None:
            self._first = time.perf_counter() - self._began
        if self._on_delta is not None:
            self._on_delta(delta)

    def failed(self, error: BaseException) -> None:
        from opentelemetry.trace import StatusCode

        cause = error.__cause__ or error
        what = {names.ERROR: type(cause).__name__}
        self._span.set_attributes(what)
        if isinstance(error, Exception):
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
        self._durations({**self._fixed, **what})

    def ended(self, reply: ModelReply) -> None:
        about = {**self._fixed, names.RESPONSE_MODEL: reply.model or self._fixed[names.REQUEST_MODEL]}
        found: Attributes = {
            names.RESPONSE_MODEL: about[names.RESPONSE_MODEL],
            names.RESPONSE_FINISH: ["content_filter" if reply.finish == "filter" else reply.finish],
        }
        if self._first is not None:
            found[names.RESPONSE_FIRST_CHUNK] = self._first
            self._made.first_chunk.record(self._first, about)
        self._tokens(reply, about, found)
        if self._settings.content:
            found[names.OUTPUT_MESSAGES] = output_messages(reply, self._settings.hide)
        self._span.set_attributes(found)
        self._span.end()
        self._durations(about)

    def _tokens(self, reply: ModelReply, about: Attributes, found: Attributes) -> None:
        made, usage = self._made, reply.usage
        for count, attribute, used, spread, kind in (
            (usage.input_tokens, names.INPUT_TOKENS, made.input_tokens, made.operation_input, "input"),
            (usage.output_tokens, names.OUTPUT_TOKENS, made.output_tokens, made.operation_output, "output"),
        ):
            if count is None:
                continue
            found[attribute] = count
            used.add(count, {**about, names.TOKEN_MODALITY: "unknown"})
            spread.record(count, about)
            if self._settings.older_metrics:
                made.older_tokens.record(count, {**about, names.TOKEN_TYPE: kind})

    def _durations(self, about: Attributes) -> None:
        passed = time.perf_counter() - self._began
        self._made.inference_duration.record(passed, about)
        if self._settings.older_metrics:
            self._made.older_duration.record(passed, about)


def _asked(request: ModelRequest, *, streams: bool) -> Attributes:
    found: Attributes = {names.REQUEST_TEMPERATURE: request.temperature, names.REQUEST_MAX_TOKENS: request.max_tokens}
    if request.stop:
        found[names.REQUEST_STOP] = list(request.stop)
    if streams:
        found[names.REQUEST_STREAM] = True
    return {name: value for name, value in found.items() if value is not None}
