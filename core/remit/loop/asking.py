"""Asking for one model turn: streamed or whole, of the first model that answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from remit.errors import EndpointDown, ModelError
from remit.loop.context import Fitted, fit
from remit.loop.events import Event, TextDelta, TurnRetried, TurnStarted
from remit.loop.guards import Limits
from remit.loop.interpreter import Heard
from remit.loop.showing import Showing
from remit.loop.summaries import Book
from remit.loop.voices import Voice, in_order
from remit.models.protocol import Message, ModelDelta, ModelReply, ModelRequest, Usage
from remit.values import Result

if TYPE_CHECKING:
    from remit.loop.run import Run

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
        showing: what of the conversation and of the skills is shown; None for the standard way.
        always: full names of skills that are offered whatever the question.
        spend: adds what summaries take to what the run took.
        affordable: whether the run has anything left for them.
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
        showing: Showing | None = None,
        always: Iterable[str] = (),
        spend: Callable[[Usage, float | None], object] = lambda usage, cost: None,
        affordable: Callable[[], bool] = lambda: True,
    ) -> None:
        self._voices = tuple(voices)
        shown = showing or Showing()
        book = Book(session=session, emit=emit, record=record, spend=spend, keep_raw=keep_raw, affordable=affordable)
        self._offering = shown.offering(self._voices[0].interpreter.skills, always)
        self._folding, self._shortening = shown.folding(book), shown.shortening(book)
        self._session = session
        self._emit = emit
        self._record = record
        self._keep_raw = keep_raw
        self._stream = stream
        self._step = 0
        self._shown = ""

    @classmethod
    def of(cls, run: Run, record: Record) -> Asking:
        """Return what asks the models of `run`, as it says; summaries count with what the run takes."""
        return cls(
            run.voices,
            session=run.session,
            emit=run.hear,
            record=record,
            keep_raw=run.keep_raw,
            stream=run.stream,
            showing=run.showing,
            always=(*run.terms.required, run.terms.first),
            spend=run.spend,
            affordable=lambda: _anything(run.left()),
        )

    @property
    def shown(self) -> str:
        """What was shown so far of the last turn, also of one that came to no end; empty where nothing is streamed."""
        return self._shown

    async def ask(self, messages: tuple[Message, ...], wanted: Wanted) -> Turn:
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

    async def shortened(self, results: tuple[Result, ...], messages: tuple[Message, ...]) -> tuple[Result, ...]:
        """Return the results of a round as the model is to read them: large ones summarised, where that is wanted."""
        if self._shortening is None:
            return results
        return await self._shortening.shortened(in_order(self._voices)[0], results, messages, step=self._step)

    async def _turn(self, voice: Voice, messages: tuple[Message, ...], wanted: Wanted, *, again: bool) -> Turn:
        request, counted = await self._request(voice, messages, wanted, quiet=again)
        started = time.perf_counter()
        reply = await self._reply(voice, request)
        voice.circuit.answered()
        voice.counting.learn(counted, reply.usage.input_tokens)
        heard = voice.interpreter.hear(reply).within_limits
        self._show_rest(heard.text)
        return Turn(
            request=request,
            reply=reply,
            heard=heard,
            model=voice.model.name,
            fallback=voice is not self._voices[0],
            duration=time.perf_counter() - started,
        )

    async def _request(
        self, voice: Voice, messages: tuple[Message, ...], wanted: Wanted, *, quiet: bool
    ) -> tuple[ModelRequest, int]:
        """Return the request, and its tokens before they are set right."""
        offered, counting = self._offered(messages, wanted), voice.counting
        head = voice.interpreter.head(offered, closing=wanted.closing)
        fixed = counting.bare_head(head)
        fitted = await self._fitted(voice, messages, fixed)
        request = voice.interpreter.request(
            fitted.messages, closing=wanted.closing, choice=wanted.choice, offered=offered
        )
        if wanted.schema is not None:
            request = replace(request, answer_schema=wanted.schema)
        if not quiet:
            self._tell(voice, request, fitted, fixed, len(offered))
        return request, fixed + fitted.tokens

    def _offered(self, messages: tuple[Message, ...], wanted: Wanted) -> tuple[str, ...]:
        self._offering.offer(wanted.choice)
        return self._offering.follow(messages)

    async def _fitted(self, voice: Voice, messages: tuple[Message, ...], fixed: int) -> Fitted:
        counting = voice.counting
        if voice.context is None:
            return fit(messages, None, counting.bare)
        budget = max(0, counting.room(voice.context - voice.interpreter.room) - fixed)
        if self._folding is None:
            return fit(messages, budget, counting.bare)
        return await self._folding.fitted(voice, messages, budget, counting, step=self._step)

    def _tell(self, voice: Voice, request: ModelRequest, fitted: Fitted, fixed: int, skills: int) -> None:
        counting, context, room = voice.counting, voice.context, voice.interpreter.room
        tokens = counting.right(fixed + fitted.tokens)
        self._emit(
            TurnStarted(
                session=self._session,
                step=self._step,
                messages=len(request.messages),
                left_out=fitted.left_out,
                summarised=fitted.summarised,
                tokens=tokens,
                fixed=counting.right(fixed),
                room=room,
                context=context,
                left=None if context is None else max(0, context - room - tokens),
                counted_by=counting.counted_by,
                skills=skills,
            )
        )

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


def _anything(left: Limits) -> bool:
    """Say whether a run has something left of each of its budgets."""
    return all(one is None or one > 0 for one in (left.tokens, left.cost, left.seconds))
