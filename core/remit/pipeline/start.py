"""The moment before a handler runs: `call.started` is written, and an approval is consumed with it."""

from __future__ import annotations

from remit.pipeline import outcome
from remit.pipeline.asking import action_of
from remit.pipeline.attempt import Attempt
from remit.pipeline.standing import still_stands
from remit.values import Result
from remit_sandbox.signoff import Action


async def start(attempt: Attempt) -> Result | None:
    """Write `call.started`; for a write or external effect it is on the disk when this returns.

    Returns:
        `denied` when what was approved is not what would run now, or the approval is gone.

    Raises:
        StateError: it cannot be written; the call must not run.
    """
    request = attempt.request
    asked_for = request is not None
    action = action_of(attempt, with_contents=asked_for) if asked_for or attempt.known.effect != "read" else None
    if request is not None and action is not None and (why := _not_approved(request.action, action)):
        return _changed(attempt, why)
    body = _body(attempt, action)
    if attempt.standing is not None and not still_stands(attempt):
        return _changed(attempt, "what its arguments stand for has changed since its standing sign-off was found")
    attempt.note("call.started", body)
    if attempt.standing is not None:
        entries, attempt.entries = attempt.entries, []
        if not await attempt.around.state.astart_under(entries, standing=attempt.standing.id):
            return _changed(attempt, "its standing sign-off has expired, was revoked or is used up")
    elif request is None:
        await attempt.aflush(durable=attempt.durable)
    else:
        entries, attempt.entries = attempt.entries, []
        state = attempt.around.state
        if not await state.astart_call(entries, nonce=request.nonce, digest=request.digest):
            return _changed(attempt, "its approval has expired or was used before")
    attempt.started = True
    attempt.tell("started")
    return None


def _not_approved(approved: Action, now: Action) -> str:
    """Return why what would run now is not what a person approved; empty when it is."""
    if dict(approved.resolved) != dict(now.resolved):
        return "what its arguments stand for has changed since a person approved it"
    if dict(approved.contents) != dict(now.contents):
        return "a file that it names has changed since a person approved it"
    return "" if approved.digest == now.digest else "it is not what a person approved"


def _body(attempt: Attempt, action: Action | None) -> dict[str, object]:
    """Return what is to run: `signed` is the digest that an approval must have been given for.

    `action` is the same for the same call asked again, `key` for a call that is made again after a crash.
    """
    request, skill = attempt.request, attempt.known
    return {
        "effect": skill.effect,
        "enforcement": attempt.enforcement,
        "signoff": None if request is None else request.nonce,
        "digest": None if request is None else request.digest,
        "standing": None if attempt.standing is None else attempt.standing.id,
        "signed": None if action is None else action.digest,
        "skill_hash": skill.hash,
        "action": attempt.same,
        "key": attempt.key,
        "owner": attempt.around.state.owner.id,
    }


def _changed(attempt: Attempt, why: str) -> Result:
    return outcome.denied(attempt, why, again="Asking again puts a new question to the person.")
