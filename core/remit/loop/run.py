"""A run: from a person's message to an outcome, one step at a time over the transcript."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from remit.errors import ModelError, RemitError
from remit.loop.acting import Round, not_run
from remit.loop.context import Fitted, fit
from remit.loop.events import (
    Event,
    RunEnded,
    RunStarted,
    TextDelta,
    Told,
    TurnEnded,
    TurnRetried,
    TurnStarted,
)
from remit.loop.guards import Guards, Limits
from remit.loop.interpreter import Heard, Interpreter
from remit.loop.outcome import RunResult, RunStatus
from remit.loop.ports import Caller, Store
from remit.loop.sources import Sources
from remit.loop.transcript import Transcript
from remit.loop.wording import CLOSING, CUT, EMPTY, NOT_RUN_CLOSED, PARTLY, UNREADABLE
from remit.models.protocol import Model, ModelDelta, ModelReply, ModelRequest, ToolCall, Usage
from remit.values import Call, Result
from remit_sandbox.errors import SandboxError

ECHO = 20
"""Characters from which on a reply that stands in the loop's own words is no answer."""

RunState = Literal["thinking", "acting", "answered", "stopped", "parked", "failed"]


@dataclass(kw_only=True)
class Run:
    """One run in a session.

    Attributes:
        session: the session's id.
        transcript: the session's messages; the run adds to them.
        model: who is asked.
        interpreter: how it is spoken to.
        caller: who makes the calls.
        store: where the session and the records go.
        limits: when the run is ended.
        context: tokens that fit into the model; None for all there is.
        keep_raw: keep request and response of every turn as records.
        stream: ask the endpoint to stream, and emit `TextDelta`.
        emit: gets every event.
    """

    session: str
    transcript: Transcript
    model: Model
    interpreter: Interpreter
    caller: Caller
    store: Store
    limits: Limits = field(default_factory=Limits)
    context: int | None = None
    keep_raw: bool = False
    stream: bool = False
    emit: Callable[[Event], None] = lambda _: None
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._guards = Guards(self.limits)
        self._sources = Sources()
        self._usage = Usage(input_tokens=0, output_tokens=0)
        self._results: list[Result] = []
        self._asked: list[Call] = []
        self._said = ""
        self._after_round = ""
        self._closing = ""
        self._outcome: tuple[RunStatus, str] | None = None
        self._remedy = ""
        self._listen()

    @property
    def state(self) -> RunState:
        """Where the run stands; it follows from the transcript until there is an outcome."""
        if self._outcome is not None:
            return self._outcome[0]
        return "acting" if self.transcript.open_calls else "thinking"

    async def execute(self, question: str) -> RunResult:
        """Answer `question`. Cancelled at any point, it saves the session and lets the cancellation go on.

        Faults of the host and of the model's endpoint are an outcome (`failed`), no exception.
        """
        self.transcript.question(question)
        return await self._until_outcome(question)

    async def resume(self) -> RunResult:
        """Go on where the session was left: with the calls that wait for a person, or with the next model turn.

        Otherwise as `execute`.
        """
        self.transcript.reopen()
        self._asked = [self._call(call.id, call) for call in self.transcript.open_calls]
        return await self._until_outcome("")

    async def _until_outcome(self, question: str) -> RunResult:
        self.emit(RunStarted(session=self.session, question=question))
        try:
            begun = {"model": self.model.name} | ({} if question else {"resumed": True})
            self._record("run.started", begun, {"question": question})
            while self._outcome is None:
                await self.step()
        except (RemitError, SandboxError) as error:
            self._remedy = getattr(error, "remedy", "")
            self._end("failed", getattr(error, "message", "") or str(error))
        except BaseException as error:
            reason = "cancelled" if not isinstance(error, Exception) else "Remit itself failed"
            self._end("stopped", reason)
            with suppress(RemitError):
                self._record("run.ended", {"status": "stopped"}, {"reason": reason, "answer": self._said})
                self._save()
            raise
        return self._finish()

    async def step(self) -> None:
        """Make the next transition: ask the model, or make the calls that it asked for."""
        if self.state == "acting":
            await self._act()
        else:
            await self._think()

    async def _think(self) -> None:
        limit = self.limits.steps
        if self.steps >= limit:
            return self._end("stopped", self._closing or f"the step limit of {limit} is reached")
        self.steps += 1
        if self.steps == limit and self._results and not self._closing:
            self._close(f"the step limit of {limit} is reached")
        fitted = self._fitted()
        request = self.interpreter.request(fitted.messages, closing=bool(self._closing))
        self.emit(
            TurnStarted(
                session=self.session,
                step=self.steps,
                messages=len(request.messages),
                left_out=fitted.left_out,
                tokens=fitted.tokens + self.interpreter.fixed_tokens(),
            )
        )
        started = time.perf_counter()
        reply = await self._ask(request)
        heard = self.interpreter.hear(reply)
        self._usage += reply.usage
        self._heard(reply, heard, time.perf_counter() - started)
        return self._go_on(reply, heard)

    def _fitted(self) -> Fitted:
        fixed = self.interpreter.fixed_tokens()
        return fit(self.transcript.messages, None if self.context is None else max(0, self.context - fixed))

    async def _ask(self, request: ModelRequest) -> ModelReply:
        self._listen()
        try:
            return await self.model.complete(request, on_delta=self._delta if self.stream else None)
        except ModelError as error:
            if self.keep_raw:
                messages = [message.to_json() for message in request.messages]
                self._record("turn.request", {}, {"messages": messages})
            self._record("turn.reply", {"model": self.model.name, "failed": True}, {"error": error.message})
            raise

    def _heard(self, reply: ModelReply, heard: Heard, duration: float) -> None:
        if heard.text.strip():
            self._said = heard.text
        body: dict[str, Any] = {
            "model": reply.model or self.model.name,
            "finish": reply.finish,
            "calls": [call.name for call in heard.calls],
            "notes": list(reply.notes),
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "duration": duration,
        }
        said: dict[str, Any] = {"text": heard.text, "errors": list(heard.errors)}
        if self.keep_raw:
            self._record("turn.request", {}, {"raw": reply.sent.decode("utf-8", "replace")})
            said |= {"text": reply.text, "raw": reply.received.decode("utf-8", "replace")}
        self._record("turn.reply", body, said)
        if self.stream and heard.text.startswith(self._shown):
            self._show(heard.text[len(self._shown) :])
        self.emit(
            TurnEnded(
                session=self.session,
                step=self.steps,
                text=heard.text,
                calls=len(heard.calls),
                usage=reply.usage,
                duration=duration,
                notes=reply.notes,
            )
        )

    def _go_on(self, reply: ModelReply, heard: Heard) -> None:
        if reply.finish == "filter":
            self._keep_text(heard)
            return self._end("stopped", "the endpoint withheld the rest of the reply")
        if reply.finish == "length":
            return self._cut(heard)
        if self._closing and (heard.calls or heard.errors):
            return self._not_closed(heard)
        if heard.calls:
            self._after_round = PARTLY.format(errors=" ".join(heard.errors)) if heard.errors else ""
            own = self.transcript.reply(heard.text, heard.calls, reasoning=heard.reasoning)
            self._asked = [self._call(id_.id, call) for id_, call in zip(own, heard.calls, strict=True)]
            return self._save(durable=any(map(self._changes, self._asked)))
        if heard.errors:
            return self._unreadable(reply, heard)
        if not heard.text.strip() or self._is_echo(heard.text):
            return self._empty(reply)
        self._keep_text(heard)
        return self._end("answered", "")

    def _cut(self, heard: Heard) -> None:
        """Handle a reply that ended at the output limit: nothing of it runs; text alone is an answer, in part."""
        self._keep_text(heard)
        if heard.text.strip() and not heard.calls and not heard.errors:
            return self._end("stopped", "the answer reached the output limit before it was complete")
        if self._guards.strike("cut", self.limits.cut):
            return self._end("stopped", f"{self.limits.cut} replies in a row reached the output limit")
        return self._tell(CUT)

    def _close(self, reason: str) -> None:
        """Let the model only answer from now on: what it would call next cannot help."""
        self._closing = reason
        self._tell(CLOSING.format(reason=reason))

    def _close_or_stop(self, reason: str) -> None:
        """Let the model answer from the results that there are; stop where there are none, or it could already."""
        if self._results and not self._closing:
            return self._close(reason)
        return self._end("stopped", reason)

    def _not_closed(self, heard: Heard) -> None:
        """End a run whose model calls on although it may only answer; its calls are told that they did not run."""
        own = self.transcript.reply(heard.text, heard.calls, reasoning=heard.reasoning)
        calls = [self._call(id_.id, call) for id_, call in zip(own, heard.calls, strict=True)]
        self._take(tuple(not_run(call, NOT_RUN_CLOSED, "cancelled") for call in calls))
        return self._end("stopped", self._closing)

    def _unreadable(self, reply: ModelReply, heard: Heard) -> None:
        self.transcript.reply(reply.text or heard.text, reasoning=heard.reasoning)
        if self._guards.strike("unreadable", self.limits.unreadable):
            reason = f"the calls of {self.limits.unreadable} replies in a row could not be read"
            return self._close_or_stop(f"{reason}: {heard.errors[0]}")
        return self._tell(UNREADABLE.format(errors=" ".join(heard.errors)))

    def _empty(self, reply: ModelReply) -> None:
        if self._guards.strike("empty", self.limits.empty):
            return self._close_or_stop(f"{self.limits.empty} replies in a row were empty")
        again = self.transcript.messages[-1].content == EMPTY[0]
        return self._tell(EMPTY[again] + (f" ({'; '.join(reply.notes)})" if reply.notes else ""))

    def _is_echo(self, text: str) -> bool:
        """Say whether a reply is only what the loop told the model before: small models repeat that."""
        last = self.transcript.messages[-1]
        return last.role == "user" and last.origin == "loop" and text.strip() in last.content and len(text) >= ECHO

    def _keep_text(self, heard: Heard) -> None:
        if heard.text.strip():
            self.transcript.reply(heard.text, reasoning=heard.reasoning)

    async def _act(self) -> None:
        asked = self.transcript.open_calls
        making = Round(self.caller, self.emit, parallel=self.limits.parallel)
        try:
            results = await making.run(self._asked)
        except BaseException as error:
            cancelled = not isinstance(error, Exception)
            self._take(making.results(cancelled=cancelled))
            raise
        self._take(results)
        self._judge(asked, results)

    def _call(self, id_: str, call: ToolCall) -> Call:
        """Return what the pipeline gets: the arguments exactly as written, under the id of the transcript."""
        return Call(
            id=id_,
            skill=self.interpreter.names.full(call.name),
            arguments=call.arguments,
            session=self.session,
            step=self.steps,
            repaired=call.repaired,
            ledger=self._sources.follow(self.transcript.messages) if self.caller.weighs_origins else None,
        )

    def _changes(self, call: Call) -> bool:
        skill = self.caller.skills.get(call.skill)
        return skill is not None and skill.effect != "read"

    def _take(self, results: tuple[Result, ...]) -> None:
        for result in results:
            self.transcript.result(result.text, status=result.status, labels=result.labels)
        self._results += results

    def _judge(self, asked: tuple[ToolCall, ...], results: tuple[Result, ...]) -> None:
        advice = self._guards.round(asked, results)
        parked = next((result for result in results if result.status == "parked"), None)
        if any(result.stop for result in results):
            self._end("stopped", "a person stopped the run")
        elif parked is not None:
            self._end("parked", parked.reason or f"{parked.skill} waits for sign-off")
        elif advice.stop:
            self._end("stopped", advice.stop)
        for note in (self._after_round, advice.note):
            if note:
                self._tell(note)
        if advice.close and self._outcome is None:
            self._close(advice.close)
        self._after_round = ""
        self._save(durable=False)

    def _delta(self, delta: ModelDelta) -> None:
        match delta.kind:
            case "retry":
                self._listen()
                self.emit(TurnRetried(session=self.session, step=self.steps, reason=delta.text, wait=delta.wait))
            case "reasoning":
                self.emit(TextDelta(session=self.session, step=self.steps, text=delta.text, reasoning=True))
            case "text":
                self._show(self._filter(delta.text))

    def _listen(self) -> None:
        self._filter = self.interpreter.listen()
        self._shown = ""

    def _show(self, text: str) -> None:
        if text:
            self._shown += text
            self.emit(TextDelta(session=self.session, step=self.steps, text=text))

    def _tell(self, text: str) -> None:
        self.transcript.note(text)
        self.emit(Told(session=self.session, step=self.steps, text=text))

    def _end(self, status: RunStatus, reason: str) -> None:
        self._outcome = (status, reason)

    def _finish(self) -> RunResult:
        status, reason = self._outcome or ("failed", "")
        try:
            self._record("run.ended", {"status": status}, {"reason": reason, "answer": self._said})
            self._save()
        except RemitError as error:
            status, reason = "failed", f"{reason}; {error.message}".removeprefix("; ")
        result = RunResult(
            answer=self._said,
            status=status,
            stop_reason=reason,
            steps=self.steps,
            calls=tuple(self._results),
            usage=self._usage,
            session=self.session,
            remedy=self._remedy,
        )
        self.emit(RunEnded(session=self.session, result=result))
        return result

    def _save(self, *, durable: bool = True) -> None:
        """Save the session: on the disk before calls that change something, and at the end of the run.

        Elsewhere it is enough that the operating system has it. A power cut after a round leaves calls
        without results, which are told as lost; their records are on the disk.
        """
        status = "running" if self._outcome is None else self._outcome[0]
        self.store.save_session(self.session, self.transcript.to_json(), status=status, durable=durable)

    def _record(self, event: str, body: Mapping[str, Any], sealed: Mapping[str, Any]) -> None:
        """Record a turn, with texts apart; the session that is saved after it takes it to the disk."""
        about = {"step": self.steps, **body}
        self.store.append(event, session=self.session, body=about, sealed=sealed, durable=False)
