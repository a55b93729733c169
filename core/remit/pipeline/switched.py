"""What a person switched off with `remit kill`: nothing of it starts, and what runs is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.policy.switched import decision_when_off
from remit.state.switches import Off
from remit.values import Result

if TYPE_CHECKING:
    from remit_sandbox import Cell

LOOK_SECONDS = 0.25
"""Seconds between two looks at the switches while a call runs."""


async def switched_off(attempt: Attempt) -> Result | None:
    """Refuse a call of a skill that is switched off; record `call.decided` when it does.

    It is asked twice: before anything is decided, and after a person was waited for.
    """
    off = _off(attempt)
    if off is None:
        return None
    decision = attempt.decision = decision_when_off(off)
    attempt.note("call.decided", {"verdict": "deny", "source": decision.source, "reason": decision.reason})
    attempt.tell("decided")
    again = "Asking again will not help."
    return outcome.denied(attempt, decision.reason, again=again, remedy=decision.remedy, by="Remit")


@contextmanager
def ended_when_off(attempt: Attempt, cell: Cell) -> Iterator[None]:
    """While a call runs in `cell`, look now and then whether it was switched off, and then end the cell.

    `Attempt.ended_by` then says so.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        off = _off(attempt)
        if off is None:
            timer = loop.call_later(LOOK_SECONDS, look)
            return
        attempt.ended_by = off.says()
        loop.run_in_executor(None, cell.kill)

    timer = loop.call_later(LOOK_SECONDS, look)
    try:
        yield
    finally:
        timer.cancel()


def _off(attempt: Attempt) -> Off | None:
    skill = attempt.known
    return attempt.around.switches.off(skill.pack, skill.name)
