"""Making the calls of one model turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from remit.loop.depending import independent
from remit.loop.events import CallDecided, CallFinished, CallProgress, CallProposed, Delegated, Event
from remit.loop.ports import Caller
from remit.loop.wording import (
    CANCELLED_RUNNING,
    LATE_RUNNING,
    NOT_RUN_CANCELLED,
    NOT_RUN_FAILED,
    NOT_RUN_LATE,
    NOT_RUN_LATE_UNSIGNED,
    NOT_RUN_PARKED,
    NOT_RUN_STOPPED,
    NOT_RUN_UNSIGNED,
)
from remit.values import Call, Result

if TYPE_CHECKING:
    from remit.loop.run import Run
    from remit.models.protocol import ToolCall
    from remit.provenance.ledger import Ledger
    from remit.skills import Skill


class Round:
    """The calls of one turn: in order, or together when all of them only read.

    A call whose sign-off waits holds up those behind it that may depend on it, and no others (`independent`).
    Whatever happens, also when it is cancelled half-way, `results` has one for each call afterwards,
    in the order of the calls.
    """

    def __init__(self, caller: Caller, emit: Callable[[Event], None], *, parallel: int) -> None:
        self._caller = caller
        self._emit = emit
        self._parallel = parallel
        self._calls: Sequence[Call] = ()
        self._started: set[str] = set()
        self._unsigned: set[str] = set()
        self._done: dict[str, Result] = {}
        self._questions: dict[str, asyncio.Event] = {}
        self._broken: Exception | None = None

    def decline(self, calls: Sequence[Call], text: str, known: Mapping[str, Result]) -> tuple[Result, ...]:
        """Return a result for each of `calls`, of which none is made: as in `known`, or with `text` as the reason."""
        for call in calls:
            self._emit(CallProposed(session=call.session, call=call))
            self._finish(call, known.get(call.id) or not_run(call, text, "cancelled"))
        return tuple(self._done[call.id] for call in calls)

    async def run(self, calls: Sequence[Call], known: Mapping[str, Result] | None = None) -> tuple[Result, ...]:
        """Make `calls` and return their results. Raises for cancellation and faults of the host.

        Args:
            calls: in the order in which the model asked for them.
            known: results by call that there are already, from a process that died meanwhile.
        """
        self._calls = calls
        for call in calls:
            if known and call.id in known:
                self._finish(call, known[call.id])
        due = [call for call in calls if call.id not in self._done]
        if len(due) == 1:
            await self._one(due[0])
        elif all(self._reads(call) for call in due):
            await self._together(due)
        else:
            await self._in_order(due)
        return self.results(cancelled=False)

    def heard(self, event: Event) -> None:
        """Take an event of a call: where a person has its question before them, what does not depend on it goes on."""
        match event:
            case CallProgress(kind="asking") | Delegated(inner=CallProgress(kind="asking")):
                if event.call in self._questions:
                    self._questions[event.call].set()
            case CallDecided() if event.decision.verdict != "allow":
                self._unsigned.add(event.call)
            case CallProgress(kind="started"):
                self._unsigned.discard(event.call)

    def broken(self, error: Exception) -> None:
        """A listener failed in the middle of a call: that is raised once the call has its result."""
        self._broken = self._broken or error

    def results(self, *, cancelled: bool, late: bool = False) -> tuple[Result, ...]:
        """Return a result for each call: its own, or one that says why there is none.

        Args:
            cancelled: the round was cancelled; else the host failed.
            late: because the time of the run was up.
        """
        return tuple(self._done.get(call.id) or self._without(call, cancelled, late) for call in self._calls)

    def _without(self, call: Call, cancelled: bool, late: bool) -> Result:
        if not cancelled:
            return not_run(call, NOT_RUN_FAILED, "failed")
        if call.id in self._unsigned:
            return not_run(call, NOT_RUN_LATE_UNSIGNED if late else NOT_RUN_UNSIGNED, "cancelled")
        if call.id in self._started:
            return not_run(call, LATE_RUNNING if late else CANCELLED_RUNNING, "cancelled")
        return not_run(call, NOT_RUN_LATE if late else NOT_RUN_CANCELLED, "cancelled")

    def _skill(self, call: Call) -> Skill | None:
        return self._caller.skills.get(call.skill)

    def _reads(self, call: Call) -> bool:
        skill = self._skill(call)
        return skill is not None and skill.effect == "read"

    async def _in_order(self, calls: Sequence[Call]) -> None:
        """Make each call once those before it have ended, or only wait for a person and do not matter to it."""
        going: dict[str, asyncio.Task[None]] = {}
        with _unwrapped():
            async with asyncio.TaskGroup() as group:
                for number, call in enumerate(calls):
                    skill = self._skill(call)
                    held_by = [one for one in calls[:number] if not independent(skill, self._skill(one))]
                    waits = self._questions[call.id] = asyncio.Event()
                    going[call.id] = group.create_task(self._in_turn(call, held_by, going, waits))
                    await _ended_or_set(going[call.id], waits)

    async def _in_turn(
        self, call: Call, held_by: Sequence[Call], going: Mapping[str, asyncio.Task[None]], waits: asyncio.Event
    ) -> None:
        """Make a call after those that it may depend on; where a person has yet to answer one, say that it waits."""
        before = [going[one.id] for one in held_by if not going[one.id].done()]
        if before:
            waits.set()
            await asyncio.wait(before)
        skipped = self._skipped(held_by)
        if skipped is None:
            await self._one(call)
        else:
            self._finish(call, not_run(call, *skipped))

    def _skipped(self, held_by: Sequence[Call]) -> tuple[str, Literal["cancelled", "parked"]] | None:
        """Say why a call does not run now, and how it ends then: a person stopped the run, or one before it waits."""
        if any(result.stop for result in self._done.values()):
            return NOT_RUN_STOPPED, "cancelled"
        if any(self._done[one.id].status == "parked" for one in held_by):
            return NOT_RUN_PARKED, "parked"
        return None

    async def _together(self, calls: Sequence[Call]) -> None:
        gate = asyncio.Semaphore(self._parallel)

        async def one(call: Call) -> None:
            async with gate:
                await self._one(call)

        with _unwrapped():
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(one(call))

    async def _one(self, call: Call) -> None:
        self._started.add(call.id)
        self._emit(CallProposed(session=call.session, call=call))
        try:
            result = await self._caller.call(call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            result = not_run(call, CANCELLED_RUNNING, "cancelled")  # the skill cancelled itself, not the run
        self._finish(call, result)

    def _finish(self, call: Call, result: Result) -> None:
        self._done[call.id] = result
        self._emit(CallFinished(session=call.session, call=call, result=result))
        if self._broken is not None:
            raise self._broken


async def _ended_or_set(task: asyncio.Task[None], event: asyncio.Event) -> None:
    """Wait until a task has ended or `event` has come."""
    coming = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({task, coming}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        coming.cancel()


@contextmanager
def _unwrapped() -> Iterator[None]:
    """Raise the first fault of a group of tasks itself."""
    try:
        yield
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None


def asked_for(call: ToolCall, id_: str, run: Run, ledger: Ledger | None) -> Call:
    """Return what the pipeline gets of a call of the model's: the arguments exactly as written.

    Args:
        call: as the model asked for it.
        id_: of the call in the transcript.
        run: that makes it.
        ledger: where values came from; None where nobody weighs that.
    """
    return Call(
        id=id_,
        skill=run.names.full(call.named or call.name),
        arguments=call.written or call.arguments,
        session=run.session,
        step=run.steps,
        repaired=call.repaired,
        ledger=ledger,
        watched=run.watched,
        hidden=call.hidden,
    )


def not_run(call: Call, text: str, status: Literal["cancelled", "failed", "parked", "lost"]) -> Result:
    """Return the result of a call that did not run to its end, with the reason as what the model reads."""
    return Result(call=call.id, skill=call.skill, status=status, text=text, reason=text)
