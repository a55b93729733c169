"""A call that was started before a crash and never finished is not repeated in silence."""

from __future__ import annotations

import secrets

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.values import Result
from remit_sandbox.canonical import digest

_IN_DOUBT = (
    "the same call was started at record {seq} and its process died, so nobody knows whether it was done;"
    " a person must look and settle it first"
)


async def in_doubt(attempt: Attempt) -> Result | None:
    """Refuse a call that is the same as one in doubt, unless its skill may be called twice.

    An idempotent one goes on under the key that the lost call had, and settles it when it ends `ok`.

    Returns:
        `denied`, or None to go on.

    Raises:
        StateError: it cannot be read.
    """
    skill, state = attempt.known, attempt.around.state
    attempt.key = secrets.token_hex(16)
    if skill.effect == "read":
        return None
    about = {"skill": skill.full, "arguments": attempt.arguments.value, "who": attempt.around.principal}
    attempt.same = digest(about)
    attempt.doubt = state.doubt_about(attempt.same)
    if attempt.doubt is None:
        return None
    if skill.idempotent:
        attempt.key = attempt.doubt.key or attempt.key
        attempt.notes.append(f"made again with the key of the call lost at record {attempt.doubt.seq}")
        return None
    return outcome.denied(
        attempt,
        _IN_DOUBT.format(seq=attempt.doubt.seq),
        again="Asking again will not help until then.",
        remedy=f"remit log settle {attempt.doubt.seq} --done, or --not-done",
        by="Remit",
    )


def settle_retried(attempt: Attempt, result: Result) -> None:
    """Settle the lost call that this one made again.

    Raises:
        StateError: it cannot be written.
    """
    if attempt.doubt is not None and result.status == "ok" and attempt.started:
        attempt.around.state.settle(attempt.doubt, done=True, by=attempt.around.principal, how="retry")
