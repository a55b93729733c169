"""Stage 7: the post-hook, and the calls that a pack asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt, Ran
from remit.values import Call, Result
from remit_sandbox.values import FollowUp, Reply

if TYPE_CHECKING:
    from remit_sandbox import Cell

MOST = 3
"""Follow-up calls of one call."""


async def run_hook(attempt: Attempt, cell: Cell, reply: Reply) -> Reply:
    """Give the result to the pack's post-hook, in the same cell; it may replace it.

    When the hook fails, its result is withheld: it may have been there to take something out.
    """
    skill = attempt.known
    body = {
        "after": skill.after,
        "call": {"skill": skill.full, "arguments": attempt.arguments.json},
        "result": reply.text,
        "context": attempt.context,
    }
    hooked = await cell.arequest("after", body, timeout=skill.timeout, on_progress=attempt.progress)
    attempt.note("call.hooked", {"after": skill.after, "kind": hooked.kind}, {"error": hooked.error[:500]})
    if hooked.kind != "result":
        error = f"its handler finished, but its post-hook did not: {hooked.error or hooked.kind}"
        return replace(hooked, error=error)
    return replace(hooked, follow_ups=(*reply.follow_ups, *hooked.follow_ups))


async def follow_up(attempt: Attempt, ran: Ran, run: Callable[[Call], Awaitable[Result]]) -> tuple[Result, ...]:
    """Make the calls that the pack asks for, each through the whole pipeline.

    At most three a call, one level deep, to skills of the same pack.
    """
    if not ran.follow_ups:
        return ()
    if attempt.call.asked_by == "pack":
        attempt.notes.append("a follow-up call asked for further calls; they were not made")
        return ()
    if len(ran.follow_ups) > MOST:
        attempt.notes.append(f"{len(ran.follow_ups)} follow-up calls were asked for; {MOST} were made")
    results = []
    for number, wanted in enumerate(ran.follow_ups[:MOST], start=1):
        results.append(await _one(attempt, wanted, number, ran.labels, run))
    return tuple(results)


async def _one(
    attempt: Attempt, wanted: FollowUp, number: int, labels: frozenset[str], run: Callable[[Call], Awaitable[Result]]
) -> Result:
    call = Call(
        id=f"{attempt.call.id}.{number}",
        skill=_full(attempt.known.pack, wanted.skill),
        arguments=wanted.arguments.decode("utf-8", "replace"),
        session=attempt.call.session,
        step=attempt.call.step,
        asked_by="pack",
        parent=attempt.call.id,
        ledger=attempt.call.ledger,
        labels=labels,
        watched=attempt.call.watched,
    )
    if not call.skill.startswith((f"{attempt.known.pack}.", f"{attempt.known.pack}__")):
        return _foreign(attempt, call)
    return await run(call)


def _full(pack: str, name: str) -> str:
    return name if "." in name or "__" in name else f"{pack}.{name}"


def _foreign(attempt: Attempt, call: Call) -> Result:
    stranger = Attempt(call=call, around=attempt.around)
    reason = f"pack {attempt.known.pack} may ask for follow-up calls of its own skills only"
    result = outcome.denied(stranger, reason, again="Asking again will not help.")
    stranger.note("call.finished", {"status": "denied", "reason": reason, "parent": attempt.call.id})
    attempt.entries.extend(stranger.entries)
    return result
