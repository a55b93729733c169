"""Stage 3: the verdict."""

from __future__ import annotations

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.pipeline.redact import redacted
from remit.policy.decide import decide as verdict_of
from remit.values import Result


async def decide(attempt: Attempt) -> Result | None:
    """Ask the policy; record `call.decided`.

    Returns:
        `denied`, or None to go on.
    """
    skill, around = attempt.known, attempt.around
    decision = verdict_of(skill, attempt.arguments.value, around.rules, around.scene(attempt.call))
    attempt.decision = decision
    attempt.note(
        "call.decided",
        {
            "verdict": decision.verdict,
            "source": decision.source,
            "reason": decision.reason,
            "rules": decision.rules,
            "steps": decision.steps,
            "arguments": redacted(attempt.arguments.value, skill.secret_arguments),
            "notes": attempt.notes,
            "effect": skill.effect,
            "impact": sorted(skill.impact),
            "skill_hash": skill.hash,
            "version": skill.version,
            "policy": around.rules.digest,
        },
    )
    attempt.tell("decided")
    if decision.verdict != "deny":
        return None
    return outcome.denied(
        attempt,
        decision.reason.rstrip("."),
        again="Asking again will not help; other arguments or another way may.",
        remedy=decision.remedy,
    )
