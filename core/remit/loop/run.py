"""A run: from a person's message to an outcome, one step at a time over the transcript."""

from __future__ import annotations

from asyncio import timeout
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from remit.errors import RemitError
from remit.loop.acting import Round, not_run
from remit.loop.asking import Asking, Turn, Wanted
from remit.loop.budget import Budget, out_of_time
from remit.loop.events import Event, RunEnded, RunStarted, Told, TurnEnded
from remit.loop.finishing import Finishing, is_echo
from remit.loop.guards import Guards, Limits
from remit.loop.interpreter import Heard
from remit.loop.outcome import Instead, RunResult, RunStatus, Tally, with_instead
from remit.loop.ports import Caller, Store
from remit.loop.recorded import run_body, turn_body, turn_said
from remit.loop.sources import Sources
from remit.loop.terms import FREE, Terms
from remit.loop.transcript import Transcript
from remit.loop.voices import Voice
from remit.loop.wording import CLOSING, CUT, EMPTY, NOT_RUN_CLOSED, PARTLY, UNREADABLE
from remit.models.estimate import estimated
from remit.models.protocol import ModelReply, ToolCall
from remit.skills import READ_RESULT
from remit.values import Call, Result
from remit_sandbox.errors import SandboxError

RunState = Literal["thinking", "acting", "answered", "stopped", "parked", "failed"]


@dataclass(kw_only=True)
class Run:
    """One run in a session.

    Attributes:
        session: the session's id.
        transcript: the session's messages; the run adds to them.
        voices: who is asked, and how; the first one, and the others in its place when it is down.
        caller: who makes the calls.
        store: where the session and the records go.
        limits: when the run is ended.
        terms: what this run asks for beside an answer.
        instead: makes the answer of a run that failed; None for the last that the model said.
        keep_raw: keep request and response of every turn as records.
        stream: ask the endpoint to stream, and emit `TextDelta`.
        emit: gets every event.
    """

    session: str
    transcript: Transcript
    voices: Sequence[Voice]
    caller: Caller
    store: Store
    limits: Limits = field(default_factory=Limits)
    terms: Terms = FREE
    instead: Instead | None = None
    keep_raw: bool = False
    stream: bool = False
    emit: Callable[[Event], None] = lambda _: None
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.names = self.voices[0].interpreter.names
        self._guards = Guards(self.limits, reads=self._reads)
        self._budget = Budget(self.limits)
        self._finishing = Finishing(self.terms, most_promises=self.limits.promises, shown=self.names.wire)
        self._asking = Asking(
            self.voices,
            session=self.session,
            emit=self.emit,
            record=self._record,
            keep_raw=self.keep_raw,
            stream=self.stream,
        )
        self._sources = Sources()
        self._tally = Tally()
        self._results: list[Result] = []
        self._asked: list[Call] = []
        self._said = ""
        self._after_round = ""
        self._closing = "no skill may be called first" if self.terms.first == "none" else ""
        self._outcome: tuple[RunStatus, str] | None = None
        self._remedy = ""

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
        self.transcript.question(question, attached=self.terms.attached, own_words=self.terms.own_words)
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
            begun = run_body(self.voices[0].model.name, self.terms, resumed=not question)
            self._record("run.started", begun, {"question": question})
            await self._in_time()
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

    async def _in_time(self) -> None:
        """Make steps until there is an outcome; when the time is up, what is running is cancelled."""
        seconds = self.limits.seconds
        try:
            async with timeout(seconds) as limit:
                while self._outcome is None:
                    await self.step()
        except TimeoutError:
            if seconds is None or not limit.expired():
                raise
            self._end("stopped", out_of_time(seconds))

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
        room, reason = self._budget.room()
        if room == "none":
            return self._end("stopped", reason)
        self.steps += 1
        if self.steps == limit:
            room, reason = "one more", f"the step limit of {limit} is reached"
        if room == "one more" and self._results and not self._closing:
            self._close(reason)
        self._budget.begin()
        turn = await self._asking.ask(self.transcript.messages, self._wanted())
        counted = self.limits.tokens is not None
        self._budget.took(estimated(turn.request, turn.reply) if counted else turn.reply.usage, turn.reply.cost)
        self._tally = self._tally.plus(turn.reply, turn.model)
        self._heard(turn)
        return self._go_on(turn.reply, turn.heard)

    def _wanted(self) -> Wanted:
        answer, may_call = self.terms.answer, self._may_call
        plain = answer is not None and (self._finishing.repairing or not may_call)
        first = self.terms.first if may_call and not self._results and self.terms.first not in ("auto", "none") else ""
        return Wanted(
            step=self.steps,
            closing=bool(self._closing),
            choice=first,
            schema=answer.schema if answer is not None and plain else None,
        )

    @property
    def _may_call(self) -> bool:
        """Whether the model is offered skills and may call them."""
        return not self._closing and any(full != READ_RESULT for full in self.caller.skills)

    def _heard(self, turn: Turn) -> None:
        reply, heard = turn.reply, turn.heard
        if heard.text.strip():
            self._said = heard.text
        if self.keep_raw:
            self._record("turn.request", {}, {"raw": reply.sent.decode("utf-8", "replace")})
        self._record("turn.reply", turn_body(turn), turn_said(turn, raw=self.keep_raw))
        self.emit(
            TurnEnded(
                session=self.session,
                step=self.steps,
                text=heard.text,
                calls=len(heard.calls),
                usage=reply.usage,
                duration=turn.duration,
                notes=reply.notes,
                model=turn.model,
                cost=reply.cost,
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
        if heard.errors and not self._finishing.fits(heard.text or reply.text):
            return self._unreadable(reply, heard)
        if not heard.text.strip() or is_echo(heard.text, self.transcript.messages[-1]):
            return self._empty(reply)
        self._keep_text(heard)
        return self._finish_or_object(heard.text)

    def _finish_or_object(self, text: str) -> None:
        """Take words as the answer, unless they promise something, lack a call, or have not the type asked for."""
        called = {result.skill for result in self._results}
        objection = self._finishing.judge(text, called=called, may_call=self._may_call)
        if objection is None:
            return self._end("answered", "")
        if not self._guards.strike(objection.kind, objection.most):
            return self._tell(objection.note)
        if objection.helpless:
            return self._close_or_stop(objection.reason)
        return self._end("stopped", objection.reason)

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
            self._take(making.results(cancelled=cancelled, late=self._budget.late))
            raise
        self._take(results)
        self._judge(asked, results)

    def _call(self, id_: str, call: ToolCall) -> Call:
        """Return what the pipeline gets: the arguments exactly as written, under the id of the transcript."""
        return Call(
            id=id_,
            skill=self.names.full(call.name),
            arguments=call.arguments,
            session=self.session,
            step=self.steps,
            repaired=call.repaired,
            ledger=self._sources.follow(self.transcript.messages) if self.caller.weighs_origins else None,
        )

    def _changes(self, call: Call) -> bool:
        return call.skill in self.caller.skills and not self._reads(call.skill)

    def _reads(self, name: str) -> bool:
        skill = self.caller.skills.get(name)
        return skill is not None and skill.effect == "read"

    def _take(self, results: tuple[Result, ...]) -> None:
        for result in results:
            made = isinstance(result.value, (dict, list))
            self.transcript.result(result.text, status=result.status, labels=result.labels, structured=made)
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

    def _tell(self, text: str) -> None:
        self.transcript.note(text)
        self.emit(Told(session=self.session, step=self.steps, text=text))

    def _end(self, status: RunStatus, reason: str) -> None:
        self._outcome = (status, reason)

    def _finish(self) -> RunResult:
        result = self._result(*(self._outcome or ("failed", "")))
        try:
            self._record(
                "run.ended", {"status": result.status}, {"reason": result.stop_reason, "answer": result.answer}
            )
            self._save()
        except RemitError as error:
            result = self._result("failed", f"{result.stop_reason}; {error.message}".removeprefix("; "))
        self.emit(RunEnded(session=self.session, result=result))
        return result

    def _result(self, status: RunStatus, reason: str) -> RunResult:
        result = RunResult(
            answer=self._said,
            status=status,
            stop_reason=reason,
            steps=self.steps,
            calls=tuple(self._results),
            usage=self._tally.usage,
            session=self.session,
            remedy=self._remedy,
            value=self._finishing.value if status == "answered" else None,
            cost=self._tally.cost,
            model=self._tally.model,
        )
        return with_instead(result, self.instead) if status == "failed" else result

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
