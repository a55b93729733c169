"""Runs that are going on in one process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.loop.events import Event
from remit.loop.run import Run

if TYPE_CHECKING:
    from remit.loop.outcome import RunResult
    from remit.telemetry.telemetry import Telemetry


@dataclass(frozen=True, kw_only=True)
class Running:
    """A run that is going on.

    Attributes:
        run: the run; a skill of the host that starts another one counts that with `Run.spend`.
        emit: gets every event of it.
    """

    run: Run
    emit: Callable[[Event], None]


async def within_span(
    telemetry: Telemetry, run: Run, answer: Awaitable[RunResult], *, agent: str, model: str
) -> RunResult:
    """Await the answer of a run inside its span, where OpenTelemetry is configured."""
    seen = telemetry.run(session=run.session, agent=agent, model=model)
    if seen is None:
        return await answer
    with seen:
        result = await answer
        seen.ended(result)
    return result
