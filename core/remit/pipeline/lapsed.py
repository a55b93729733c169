"""A question that nobody answered in time: that is a denial, told to the model once it goes on."""

from __future__ import annotations

import time

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.values import Result

AGAIN = "Asking again puts a new question to the person."


def lapsed(attempt: Attempt) -> Result | None:
    """Return the denial of a call that was asked about and not answered in time, None for any other.

    It holds for the very call that was parked, also where its run goes on once more after a crash. What the person
    is asked at the beginning of every run, which skills a session has, is told once: the next run asks anew.

    Raises:
        StateError: it cannot be read or written.
    """
    state = attempt.around.state
    found = state.lapsed_of(attempt.call.session, attempt.call.id)
    if found is None or not (state.lapse(found) or not attempt.known.asks):
        return None
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.expires))
    approved = len(found.people) >= found.approvers
    happened = "it was approved, but its run did not go on" if approved else "nobody answered"
    attempt.note("signoff.reused", {"for": "lapse", "nonce": found.nonce})
    return outcome.denied(attempt, f"{happened} until {until}, which counts as a denial", again=AGAIN, by="Remit")
