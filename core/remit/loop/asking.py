"""Asking for one model turn: streamed or whole, of the first model that answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remit.errors import EndpointDown, ModelError
from remit.loop.context import fit
from remit.loop.events import Event, TextDelta, TurnRetried, TurnStarted
from remit.loop.interpreter import Heard
from remit.loop.voices import Voice, in_order
from remit.models.protocol import Message, ModelDelta, ModelReply, ModelRequest

Record = Callable[[str, Mapping[str, Any], Mapping[str, Any]], None]
"""Writes one record of a run: event, body, and what of it can be erased."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a turn is asked for.

    Attributes:
        step: its number.
        closing: the model may only answer.
        choice: `required` or the full name of a skill, where a call is due; empty leaves it to the model.
        schema: JSON Schema that a reply in words has to fit.
    """

    step: int
    closing: bool = False
    choice: str = ""
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One model turn.

    Attributes:
        request: what was asked.
        reply: what came back.
        heard: what it means.
        model: name of the model that answered.
        fallback: it is not the first one of the run.
        duration: seconds.
    """

    request: ModelRequest
    reply: ModelReply
    heard: Heard
    model: str
    fallback: bool
    duration: float


class Asking:
    """Asks the models of one run.

    Args:
        voices: in the order in which they are tried.
        session: id, for events.
        emit: gets every event.
        record: writes one record.
        keep_raw: keep requests that failed, too.
        stream: ask the endpoint to stream, and emit `TextDelta`.
    """

    def __init__(
        self,
        voices: Sequence[Voice],
        *,
        session: str,
        emit: Callable[[Event], None],
        record: Record,
        keep_raw: bool,
        stream: bool,
    ) -> None:
        self._voices = tuple(voices)
        self._session = session
        self._emit = emit
        self._record = record
        self._keep_raw = keep_raw
        self._stream = stream
        self._step = 0
        self._shown = ""

    async def ask(self, messages: Sequence[Message], wanted: Wanted) -> Turn:
        """Return the turn of the first model that gives one.

        Raises:
            ModelError: none does; the error of the last one that was asked.
        """
        self._step = wanted.step
        voices = in_order(self._voices)
        for number, voice in enumerate(voices):
            try:
                return await self._turn(voice, messages, wanted, again=number > 0)
            except ModelError as error:
                if isinstance(error, EndpointDown):
                    voice.circuit.failed()
                self._record("turn.reply", {"model": voice.model.name, "failed": True}, {"error": error.message})
                if number + 1 == len(voices):
                    raise
                following = voices[number + 1].model.name
                reason = f"{error.message}; {following} is asked instead"
                self._emit(TurnRetried(session=self._session, step=self._step, reason=reason, wait=0.0))
        raise ModelError("a run has no model")

    async def _turn(self, voice: Voice, messages: Sequence[Message], wanted: Wanted, *, again: bool) -> Turn:
        request = self._request(voice, messages, wanted, quiet=again)
        started = time.perf_counter()
        reply = await self._reply(voice, request)
        voice.circuit.answered()
        heard = voice.interpreter.hear(reply)
        self._show_rest(heard.text)
        return Turn(
            request=request,
            reply=reply,
            heard=heard,
            model=voice.model.name,
            fallback=voice is not self._voices[0],
            duration=time.perf_counter() - started,
        )

    def _request(self, voice: Voice, messages: Sequence[Message], wanted: Wanted, *, quiet: bool) -> ModelRequest:
        fixed = voice.interpreter.fixed_tokens()
        fitted = fit(messages, None if voice.context is None else max(0, voice.context - fixed))
        request = voice.interpreter.request(fitted.messages, closing=wanted.closing, choice=wanted.choice)
        if wanted.schema is not None:
            request = replace(request, answer_schema=wanted.schema)
        if not quiet:
            self._emit(
                TurnStarted(
                    session=self._session,
                    step=self._step,
                    messages=len(request.messages),
                    left_out=fitted.left_out,
                    tokens=fitted.tokens + fixed,
                )
            )
        return request

    async def _reply(self, voice: Voice, request: ModelRequest) -> ModelReply:
        self._listen(voice)

        def on_delta(delta: ModelDelta) -> None:
            self._delta(voice, delta)

        try:
            return await voice.model.complete(request, on_delta=on_delta if self._stream else None)
        except ModelError:
            if self._keep_raw:
                sent = [message.to_json() for message in request.messages]
                self._record("turn.request", {}, {"messages": sent})
            raise

    def _delta(self, voice: Voice, delta: ModelDelta) -> None:
        match delta.kind:
            case "retry":
                self._listen(voice)
                self._emit(TurnRetried(session=self._session, step=self._step, reason=delta.text, wait=delta.wait))
            case "reasoning":
                self._emit(TextDelta(session=self._session, step=self._step, text=delta.text, reasoning=True))
            case "text":
                self._show(self._filter(delta.text))

    def _listen(self, voice: Voice) -> None:
        self._filter = voice.interpreter.listen()
        self._shown = ""

    def _show(self, text: str) -> None:
        if text:
            self._shown += text
            self._emit(TextDelta(session=self._session, step=self._step, text=text))

    def _show_rest(self, said: str) -> None:
        """Show what was held back of a reply that turned out to be words."""
        if self._stream and said.startswith(self._shown):
            self._show(said[len(self._shown) :])
