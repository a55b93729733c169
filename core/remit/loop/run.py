"""A run: from a person's message to an outcome, one step at a time over the transcript."""

from __future__ import annotations

from asyncio import timeout
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from remit.errors import RemitError
from remit.loop.acting import Round, asked_for
from remit.loop.asking import Asking, Turn, Wanted
from remit.loop.budget import Budget, out_of_time
from remit.loop.events import Event, RunEnded, RunStarted, RunState, Told
from remit.loop.finishing import Finishing
from remit.loop.guards import Guards, Limits
from remit.loop.interpreter import Heard
from remit.loop.outcome import Gathered, Instead, RunResult, RunStatus, with_instead
from remit.loop.past import last_round, replay, results_of
from remit.loop.ports import Caller, Store
from remit.loop.recall import Recalled, all_lost, settled
from remit.loop.recorded import Journal, run_body, turn_body, turn_ended, turn_said
from remit.loop.replying import Replies
from remit.loop.showing import Showing
from remit.loop.sources import Sources
from remit.loop.states import Course
from remit.loop.terms import FREE, Terms
from remit.loop.transcript import Transcript
from remit.loop.voices import Voice
from remit.loop.wording import CLOSING, NOT_RUN_CLOSED, NOT_RUN_LATE, PARTLY
from remit.models.estimate import estimated
from remit.models.protocol import ModelReply, ToolCall, Usage
from remit.skills import READ_RESULT
from remit.values import Call, Result
from remit_sandbox.errors import SandboxError


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
        recall: knows what became of calls that have no result; by call id, those that waited for a person.
        showing: what of the conversation and of the skills a model is shown; None for the standard way.
        ended: status and reason of a run that may not begin: what it needs waits for a person, or failed.
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
    recall: Callable[[Sequence[Call], Collection[str]], Recalled] = all_lost
    ended: tuple[RunStatus, str] | None = None
    showing: Showing | None = None
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.names = self.voices[0].interpreter.names
        self._guards = Guards(self.limits, reads=self._reads)
        self._budget = Budget(self.limits)
        own, promises = self.caller.skills, self.limits.promises
        self._finishing = Finishing(self.terms, most_promises=promises, shown=self.names.wire, own=own)
        self._replies = Replies(self._finishing, self._guards, self.limits)
        self._course = Course(self.session, self.emit)
        self.watched = self.stream
        self._journal = Journal(self.store, self.session)
        self._asking = Asking.of(self, self._record)
        self._sources = Sources()
        self._gathered = Gathered()
        self._called: set[str] = set()
        self._asked: list[Call] = []
        self._left: tuple[Result, ...] = ()
        self._known: Mapping[str, Result] = {}
        self._making: Round | None = None
        self._anew: int | None = None
        self._after_round = ""
        self._closing = "no skill may be called first" if self.terms.first == "none" else ""
        self._outcome: tuple[RunStatus, str] | None = self.ended

    @property
    def state(self) -> RunState:
        """Where the run stands; before it begins that follows from the transcript."""
        return self._course.state or ("acting" if self.transcript.open_calls else "thinking")

    def hear(self, event: Event) -> None:
        """Take an event of a call or a turn of this run, and pass it on; the state follows from some."""
        if self._making is not None:
            self._making.heard(event)
        self._course.hear(event)

    def hear_of_call(self, event: Event) -> None:
        """Do what `hear` does in the middle of a call; what a listener raises waits until the call has its result."""
        try:
            self.hear(event)
        except Exception as error:
            if self._making is None:
                raise
            self._making.broken(error)

    def left(self) -> Limits:
        """Return the limits with what is left now of tokens, cost and seconds: a run that a call starts gets that."""
        return self._budget.left()

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Count what a run that a call started used up, as if this one had; a cost of None is not known."""
        self._budget.spend(usage, cost)
        self._gathered.count(usage, cost)

    def called_below(self, skills: Collection[str]) -> None:
        """Count skills that an agent called for this run as called."""
        self._called |= set(skills)

    async def execute(self, question: str) -> RunResult:
        """Answer `question`. Cancelled at any point, it saves the session and lets the cancellation go on.

        Faults of the host and of the model's endpoint are an outcome (`failed`), no exception.
        """
        self._left = settled(self.transcript, lambda call: self._call(call.id, call), self.recall)
        self.transcript.ask(question, self.terms)
        return await self._until_outcome(question)

    async def resume(self) -> RunResult:
        """Go on where the session was left: with the calls that have no result yet, or with the next model turn.

        A run that was interrupted, or waits for a person, goes on with the counts that it had; one that had ended
        gets its limits anew. Otherwise as `execute`.
        """
        interrupted = {call.id for call in self.transcript.open_calls}
        self.transcript.reopen()
        self._asked = [self._call(call.id, call) for call in self.transcript.open_calls]
        recalled = self.recall(self._asked, {call.id for call in self._asked} - interrupted)
        self._known = recalled.results
        self._anew = len(self.transcript.messages) if recalled.anew else None
        if self._anew is None:
            self._go_back(recalled)
        return await self._until_outcome("")

    def _go_back(self, recalled: Recalled) -> None:
        """Count again what the run had counted before it was left."""
        said, begin = self.transcript.messages, recalled.begin
        past = replay(said, guards=self._guards, replies=self._replies, names=self.names, begin=begin)
        self._budget.go_on(recalled.seconds)
        self.steps = self._course.step = past.steps
        self._called, self._gathered.said = past.called | recalled.called, past.said
        self._closing = past.closing or self._closing
        self._after_round = PARTLY.format(errors=" ".join(recalled.errors)) if recalled.errors and self._asked else ""
        for took in recalled.turns:
            self.spend(took.usage if self.limits.tokens is None else took.counted, took.cost)

    async def _until_outcome(self, question: str) -> RunResult:
        self.hear(RunStarted(session=self.session, question=question))
        for left in self._left:
            self.hear(Told(session=self.session, step=0, text=f"{left.skill}: {left.text}"))
        try:
            begun = run_body(self.voices[0].model.name, self.terms, resumed=not question, anew=self._anew)
            self._record("run.started", begun, {"question": question})
            self._save(durable=False)
            self._course.to(self.state, "a person asks" if question else "the session is gone on with")
            await self._in_time()
        except (RemitError, SandboxError) as error:
            self._gathered.remedy = getattr(error, "remedy", "")
            self._end("failed", getattr(error, "message", "") or str(error))
        except BaseException as error:
            reason = "cancelled" if not isinstance(error, Exception) else "Remit itself failed"
            self._end("stopped", reason)
            with suppress(RemitError):
                self._record("run.ended", {"status": "stopped"}, {"reason": reason, "answer": self._gathered.said})
                self._save()
            with suppress(Exception):  # whoever listens may be what failed
                self._course.to("stopped", reason)
            raise
        return self._finish()

    async def _in_time(self) -> None:
        """Make steps until there is an outcome; when the time is up, what is running is cancelled."""
        seconds = self.limits.seconds
        if seconds is not None and self._budget.late:
            self._take(self._round().decline(self._asked, NOT_RUN_LATE, self._known))
            return self._end("stopped", out_of_time(seconds))
        try:
            async with timeout(self._budget.seconds) as limit:
                while self._outcome is None:
                    await self.step()
        except TimeoutError:
            if seconds is None or not limit.expired():
                raise
            self._end("stopped", out_of_time(seconds))

    async def step(self) -> None:
        """Make the next transition: ask the model, or make the calls that it asked for."""
        if self.transcript.open_calls:
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
        self._course.step = self.steps
        if self.steps == limit:
            room, reason = "one more", f"the step limit of {limit} is reached"
        if room == "one more" and self._called and not self._closing:
            self._close(reason)
        self._budget.begin()
        turn = await self._asking.ask(self.transcript.messages, self._wanted())
        counted = self.limits.tokens is not None
        usage, cost = estimated(turn.request, turn.reply) if counted else turn.reply.usage, turn.reply.cost
        self._budget.took(usage, cost)
        self._gathered.count(usage, cost, model=turn.model)
        self._heard(turn)
        return self._go_on(turn.reply, turn.heard)

    def _wanted(self) -> Wanted:
        answer, may_call = self.terms.answer, self._may_call
        plain = answer is not None and (self._finishing.repairing or not may_call)
        first = self.terms.first if may_call and not self._called and self.terms.first not in ("auto", "none") else ""
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
        if heard.text.strip() and (heard.calls or not heard.errors):
            self._gathered.said = heard.text
        if self.keep_raw:
            self._record("turn.request", {}, {"raw": reply.sent.decode("utf-8", "replace")})
        self._record("turn.reply", turn_body(turn), turn_said(turn, raw=self.keep_raw))
        self.hear(turn_ended(turn, session=self.session, step=self.steps))

    def _go_on(self, reply: ModelReply, heard: Heard) -> None:
        """Do what the reply leads to."""
        move = self._replies.judge(
            reply,
            heard,
            last=self.transcript.messages[-1],
            called=self._called,
            may_call=self._may_call,
            closing=bool(self._closing),
        )
        if move.kind in ("act", "refuse"):
            own = self.transcript.reply(heard.text, heard.calls, reasoning=heard.reasoning, carry=heard.carry)
            self._asked = [self._call(id_.id, call) for id_, call in zip(own, heard.calls, strict=True)]
        elif move.kept is not None:
            self.transcript.reply(move.kept, reasoning=heard.reasoning, carry=heard.carry)
        match move.kind:
            case "act":
                self._after_round = move.text
                self._save(durable=any(map(self._changes, self._asked)))
                self._course.to("acting")
            case "refuse":
                self._take(self._round().decline(self._asked, NOT_RUN_CLOSED, {}))
                self._end("stopped", self._closing)
            case "answer":
                self._gathered.said = move.kept or self._gathered.said
                self._end("answered", "")
            case "tell":
                self._tell(move.text)
                self._save(durable=False)
            case "close":
                self._close_or_stop(move.text)
            case "stop":
                self._end("stopped", move.text)

    def _close(self, reason: str) -> None:
        """Let the model only answer from now on: what it would call next cannot help."""
        self._closing = reason
        self._tell(CLOSING.format(reason=reason))

    def _close_or_stop(self, reason: str) -> None:
        """Let the model answer from the results that there are; stop where there are none, or it could already."""
        if self._called and not self._closing:
            return self._close(reason)
        return self._end("stopped", reason)

    async def _act(self) -> None:
        self._making = self._round()
        try:
            results = await self._making.run(self._asked, self._known)
            results = await self._asking.shortened(results, self.transcript.messages)
        except BaseException as error:
            cancelled = not isinstance(error, Exception)
            self._take(self._making.results(cancelled=cancelled, late=self._budget.late))
            raise
        self._making, self._known = None, {}
        self._course.settle()
        self._take(results)
        self._judge(results)

    def _call(self, id_: str, call: ToolCall) -> Call:
        weighs = self.caller.weighs_origins
        return asked_for(call, id_, self, self._sources.follow(self.transcript.messages) if weighs else None)

    def _round(self) -> Round:
        return Round(self.caller, self.hear, parallel=self.limits.parallel)

    def _changes(self, call: Call) -> bool:
        return call.skill in self.caller.skills and not self._reads(call.skill)

    def _reads(self, name: str) -> bool:
        skill = self.caller.skills.get(name)
        return skill is not None and skill.effect == "read"

    def _take(self, results: tuple[Result, ...]) -> None:
        for result in results:
            self.transcript.take(result)
        self._gathered.results += results
        self._called |= {result.skill for result in results}

    def _judge(self, results: tuple[Result, ...]) -> None:
        """Say what follows a round; some of its calls may have had their results before the run was gone on with."""
        place, calls = last_round(self.transcript.messages)
        made = {call.id: result for call, result in zip(self._asked, results, strict=True)}
        all_results = [made.get(one.call, one) for one in results_of(self.transcript.messages, place, self.names)]
        advice = self._guards.round(calls, all_results)
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
        if self._outcome is None:
            self._save(durable=False)
            self._course.to("thinking")

    def _tell(self, text: str) -> None:
        self.transcript.note(text)
        self.hear(Told(session=self.session, step=self.steps, text=text))

    def _end(self, status: RunStatus, reason: str) -> None:
        self._outcome = (status, reason)

    def _finish(self) -> RunResult:
        result = self._result(*(self._outcome or ("failed", "")))
        try:
            said = {"reason": result.stop_reason, "answer": result.answer}
            self._record("run.ended", {"status": result.status}, said)
            self._save()
        except RemitError as error:
            result = self._result("failed", f"{result.stop_reason}; {error.message}".removeprefix("; "))
        self._course.to(result.status, result.stop_reason)
        self.emit(RunEnded(session=self.session, result=result))
        return result

    def _result(self, status: RunStatus, reason: str) -> RunResult:
        self._gathered.said = self._gathered.said or self._asking.shown
        value = self._finishing.value if status == "answered" else None
        gathered = self._gathered.result(status, reason, steps=self.steps, session=self.session, value=value)
        return with_instead(gathered, self.instead) if status == "failed" else gathered

    def _save(self, *, durable: bool = True) -> None:
        """Save the session: on the disk before calls that change something, and at the end of the run.

        Elsewhere it is enough that the operating system has it. A power cut after a round leaves calls
        without results, which are told as lost; their records are on the disk.
        """
        status = "running" if self._outcome is None else self._outcome[0]
        self._journal.save(self.transcript, status=status, durable=durable)

    def _record(self, event: str, body: Mapping[str, Any], sealed: Mapping[str, Any]) -> None:
        self._journal.record(event, {"step": self.steps, "seconds": round(self._budget.used, 3), **body}, sealed)
