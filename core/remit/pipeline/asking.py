"""What a person is asked about a call: the action, the request that binds it, and what the log says of it."""

from __future__ import annotations

import time
from typing import Literal

from remit.argument_paths import fixed
from remit.pipeline.attempt import Attempt
from remit.pipeline.file_changes import file_changes
from remit.pipeline.present import contents
from remit.pipeline.resources import resolved
from remit.policy.decide import approvers
from remit_sandbox.canonical import digest
from remit_sandbox.signoff import Action, SignoffRequest


def action_of(attempt: Attempt, *, with_contents: bool = True) -> Action:
    """Return what would run now, as an approval binds it; without what files hold where nobody is asked about it."""
    skill, around = attempt.known, attempt.around
    places = resolved(skill, attempt.arguments.value)
    return Action(
        skill=skill.full,
        version=skill.version,
        skill_hash=skill.hash,
        arguments=attempt.arguments.value,
        resolved=places,
        contents=contents(skill, places) if with_contents else {},
        session=attempt.call.session,
        principal=around.principal,
        policy=around.rules.digest,
    )


def source_of(attempt: Attempt) -> str:
    """Return what asks: `rule no-outside-mail`, `default write`, `impact destroy`."""
    return attempt.decision.source if attempt.decision is not None else ""


def people_needed(attempt: Attempt) -> int:
    """Return how many people must approve the call."""
    return approvers(attempt.known, attempt.around.rules)


def for_session_at_all(attempt: Attempt) -> bool:
    """Tell whether one answer may cover further calls like this one: none that has an impact, or is for two people."""
    asks = attempt.decision is not None and attempt.decision.verdict == "ask"
    return asks and people_needed(attempt) == 1 and not attempt.known.impact and not attempt.known.asks


def grant(attempt: Attempt) -> str:
    """Digest of what an answer for the whole session covers: the skill with its target arguments.

    Where the manifest names no targets, every argument counts as one.
    """
    skill, arguments = attempt.known, attempt.arguments.value
    same = fixed(arguments, skill.targets) if skill.targets else arguments
    return digest(
        {
            "grant": 1,
            "skill": skill.full,
            "hash": skill.hash,
            "version": skill.version,
            "fixed": same,
            "resolved": resolved(skill, arguments),
            "session": attempt.call.session,
            "principal": attempt.around.principal,
            "policy": attempt.around.rules.digest,
            "source": source_of(attempt),
        }
    )


def request_of(attempt: Attempt, action: Action, seconds: float) -> SignoffRequest:
    """Return a new request about `action` that waits `seconds` for its answer."""
    skill, decision = attempt.known, attempt.decision
    assert decision is not None
    verdict: Literal["ask", "ask-apart"] = "ask-apart" if decision.verdict == "ask-apart" else "ask"
    return SignoffRequest(
        action=action,
        expires=time.time() + seconds,
        verdict=verdict,
        source=decision.source,
        reason=decision.reason,
        effect=skill.effect,
        impact=tuple(sorted(skill.impact)),
        reach=skill.right if skill.confined else {"not confined": ("runs in this program, with its rights",)},
        targets=tuple(sorted(skill.targets)),
        secret=tuple(sorted(skill.secret_arguments)),
        step=attempt.call.step,
        asked_by=attempt.call.asked_by,
        agents=attempt.around.agents,
        origins=dict(decision.origins),
        approvers=people_needed(attempt),
        covers=grant(attempt) if for_session_at_all(attempt) else "",
        changes=file_changes(skill, action.arguments, action.resolved, action.contents),
    )


def about(request: SignoffRequest) -> dict[str, object]:
    """Return what `signoff.asked` says for as long as the log lasts."""
    return {
        "nonce": request.nonce,
        "digest": request.digest,
        "action": request.action.digest,
        "expires": request.expires,
        "verdict": request.verdict,
        "source": request.source,
        "approvers": request.approvers,
    }


def about_sealed(request: SignoffRequest) -> dict[str, object]:
    """Return what `signoff.asked` says until it is erased."""
    return {"resolved": request.action.resolved, "contents": request.action.contents}
