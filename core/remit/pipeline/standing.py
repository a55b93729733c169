"""Answers that were given before: while the run was parked, for a session, or for many calls to come."""

from __future__ import annotations

from typing import Literal

from remit.pipeline.asking import action_of, people_needed, source_of
from remit.pipeline.attempt import Attempt
from remit.pipeline.resources import resolved
from remit_sandbox.canonical import digest
from remit_sandbox.signoff import Action, SignoffRequest


def answered_before(attempt: Attempt, action: Action) -> bool:
    """Take up an approval that covers the call; record where it comes from.

    An approval of exactly this action comes first. Answers for a session and standing sign-offs settle
    nothing that must come apart, and nothing that has an impact is settled by a standing one.
    """
    if approved_before(attempt, action):
        return True
    if attempt.decision is None or attempt.decision.verdict != "ask" or people_needed(attempt) > 1:
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
    if verdict == "ask" and (found.decision or {}).get("answer") == "session":
        attempt.around.state.remember_answer(attempt.call.session, grant(attempt), "allowed")
    attempt.request = request
    return True


def granted(attempt: Attempt) -> bool:
    """Tell whether a person allowed calls like this one for the session."""
    known = attempt.around.state.remembered_answer(attempt.call.session, grant(attempt))
    return known is not None and known[0] == "allowed"


def grant(attempt: Attempt) -> str:
    """Digest of what an answer for the whole session covers: the skill with its target arguments.

    Where the manifest names no targets, every argument counts as one.
    """
    skill, arguments = attempt.known, attempt.arguments.value
    fixed = {name: arguments.get(name) for name in skill.targets} if skill.targets else arguments
    return digest(
        {
            "grant": 1,
            "skill": skill.full,
            "hash": skill.hash,
            "version": skill.version,
            "fixed": fixed,
            "resolved": resolved(skill, arguments),
            "session": attempt.call.session,
            "principal": attempt.around.principal,
            "policy": attempt.around.rules.digest,
            "source": source_of(attempt),
        }
    )


def still_stands(attempt: Attempt) -> bool:
    """Tell whether what would run now is covered by the standing sign-off that was taken up."""
    return attempt.standing is not None and attempt.standing.pattern.covers(
        action_of(attempt, with_contents=False), source_of(attempt)
    )


def _stands(attempt: Attempt, action: Action) -> bool:
    if attempt.known.impact:
        return False
    attempt.standing = attempt.around.state.standing_for(action, source_of(attempt))
    if attempt.standing is None:
        return False
    body = {"for": "standing", "standing": attempt.standing.id, "action": action.digest}
    attempt.note("signoff.reused", body)
    return True
