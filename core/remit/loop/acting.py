"""Making the calls of one model turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from remit.loop.events import CallFinished, CallProposed, Event
from remit.loop.ports import Caller
from remit.loop.wording import (
    CANCELLED_RUNNING,
    LATE_RUNNING,
    NOT_RUN_CANCELLED,
    NOT_RUN_FAILED,
    NOT_RUN_LATE,
    NOT_RUN_PARKED,
    NOT_RUN_STOPPED,
)
from remit.values import Call, Result


class Round:
    """The calls of one turn: in order, or together when all of them only read.

    Whatever happens, also when it is cancelled half-way, `results` has one for each call afterwards,
    in the order of the calls.
    """

    def __init__(self, caller: Caller, emit: Callable[[Event], None], *, parallel: int) -> None:
        self._caller = caller
        self._emit = emit
        self._parallel = parallel
        self._calls: Sequence[Call] = ()
        self._started: set[str] = set()
        self._done: dict[str, Result] = {}

    async def run(self, calls: Sequence[Call]) -> tuple[Result, ...]:
        """Make `calls` and return their results. Raises for cancellation and faults of the host."""
        self._calls = calls
        if len(calls) > 1 and all(self._reads(call) for call in calls):
            await self._together(calls)
        else:
            await self._in_order(calls)
        return self.results(cancelled=False)

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
        if call.id in self._started:
            return not_run(call, LATE_RUNNING if late else CANCELLED_RUNNING, "cancelled")
        return not_run(call, NOT_RUN_LATE if late else NOT_RUN_CANCELLED, "cancelled")

    def _reads(self, call: Call) -> bool:
        skill = self._caller.skills.get(call.skill)
        return skill is not None and skill.effect == "read"

    async def _in_order(self, calls: Sequence[Call]) -> None:
        skipped = ""
        for call in calls:
            if skipped:
                self._finish(call, not_run(call, skipped, "cancelled"))
                continue
            await self._one(call)
            result = self._done[call.id]
            skipped = NOT_RUN_STOPPED if result.stop else NOT_RUN_PARKED if result.status == "parked" else ""

    async def _together(self, calls: Sequence[Call]) -> None:
        gate = asyncio.Semaphore(self._parallel)

        async def one(call: Call) -> None:
            async with gate:
                await self._one(call)

        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(one(call))
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None

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


def not_run(call: Call, text: str, status: Literal["cancelled", "failed"]) -> Result:
    """Return the result of a call that did not run to its end, with the reason as what the model reads."""
    return Result(call=call.id, skill=call.skill, status=status, text=text, reason=text)
