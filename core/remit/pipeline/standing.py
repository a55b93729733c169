"""Answers that were given before: while the run was parked, for a session, or for many calls to come."""

from __future__ import annotations

from typing import Literal

from remit.pipeline.asking import action_of, for_session_at_all, grant, people_needed, source_of
from remit.pipeline.attempt import Attempt
from remit_sandbox.signoff import Action, SignoffRequest


def answered_before(attempt: Attempt, action: Action) -> bool:
    """Take up an approval that covers the call; record where it comes from.

    An approval of exactly this action comes first. Answers for a session and standing sign-offs settle
    nothing that must come apart, needs two people or has an impact.
    """
    if approved_before(attempt, action):
        return True
    if not for_session_at_all(attempt):
        return False
    if granted(attempt):
        attempt.note("signoff.reused", {"for": "session", "action": action.digest})
        return True
    return _stands(attempt, action)


def approved_before(attempt: Attempt, action: Action) -> bool:
    """Take up an approval that came while the run was parked: it binds exactly this action, and is used once."""
    found = attempt.around.state.approval(attempt.call.session, action.digest)
    if found is None:
        return False
    verdict: Literal["ask", "ask-apart"] = "ask-apart" if found.request.get("verdict") == "ask-apart" else "ask"
    request = SignoffRequest(
        action=action, nonce=found.nonce, expires=found.expires, verdict=verdict, approvers=found.approvers
    )
    needs_apart = attempt.decision is not None and attempt.decision.verdict == "ask-apart"
    if request.digest != found.digest or found.approvers < people_needed(attempt):
        return False
    if needs_apart and verdict != "ask-apart":
        return False
    attempt.request = request
    return True


def granted(attempt: Attempt) -> bool:
    """Tell whether a person allowed calls like this one for the session."""
    if not for_session_at_all(attempt):
        return False
    known = attempt.around.state.remembered_answer(attempt.call.session, grant(attempt))
    return known is not None and known[0] == "allowed"


def still_stands(attempt: Attempt) -> bool:
    """Tell whether what would run now is covered by the standing sign-off that was taken up."""
    return attempt.standing is not None and attempt.standing.pattern.covers(
        action_of(attempt, with_contents=False), source_of(attempt)
    )


def _stands(attempt: Attempt, action: Action) -> bool:
    attempt.standing = attempt.around.state.standing_for(action, source_of(attempt))
    if attempt.standing is None:
        return False
    body = {"for": "standing", "standing": attempt.standing.id, "action": action.digest}
    attempt.note("signoff.reused", body)
    return True
