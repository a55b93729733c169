"""The moment before a handler runs: `call.started` is written, and an approval is consumed with it."""

from __future__ import annotations

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.pipeline.resources import resolved
from remit.values import Result


def start(attempt: Attempt) -> Result | None:
    """Write `call.started`; for a write or external effect it is on the disk when this returns.

    Returns:
        `denied` when what was approved is not what would run now, or the approval is gone.

    Raises:
        StateError: it cannot be written; the call must not run.
    """
    request, skill = attempt.request, attempt.known
    if request is not None and dict(request.action.resolved) != resolved(skill, attempt.arguments.value):
        return _changed(attempt, "what its arguments stand for has changed since a person approved it")
    attempt.note("call.started", _body(attempt))
    if request is None:
        attempt.flush(durable=skill.effect != "read")
    else:
        entries, attempt.entries = attempt.entries, []
        state = attempt.around.state
        if not state.start_call(entries, nonce=request.nonce, digest=request.digest):
            return _changed(attempt, "its approval has expired or was used before")
    attempt.started = True
    attempt.tell("started")
    return None


def _body(attempt: Attempt) -> dict[str, object]:
    request = attempt.request
    return {
        "effect": attempt.known.effect,
        "enforcement": attempt.enforcement,
        "signoff": None if request is None else request.nonce,
        "digest": None if request is None else request.digest,
    }


def _changed(attempt: Attempt, why: str) -> Result:
    return outcome.denied(attempt, why, again="Asking again puts a new question to the person.")
