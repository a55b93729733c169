"""Stage 3: the verdict."""

from __future__ import annotations

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.policy.decide import decide as verdict_of
from remit.values import Decision, Result


async def decide(attempt: Attempt) -> Result | None:
    """Ask the policy; record `call.decided`.

    Returns:
        `denied`, or None to go on.
    """
    skill, around = attempt.known, attempt.around
    decision = verdict_of(skill, attempt.arguments.value, around.rules, around.scene(attempt.call), attempt.call.ledger)
    attempt.decision = decision
    attempt.note(
        "call.decided",
        {
            "verdict": decision.verdict,
            "source": decision.source,
            "reason": around.redactor.text(decision.reason),
            "rules": decision.rules,
            "steps": around.redactor.value(list(decision.steps)),
            "effect": skill.effect,
            "impact": sorted(skill.impact),
            "skill_hash": skill.hash,
            "version": skill.version,
            "policy": around.rules.digest,
        },
        _sealed(attempt, decision),
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


def _sealed(attempt: Attempt, decision: Decision) -> dict[str, object] | None:
    """Return what the record says until it is erased: arguments that were bent, and where values came from."""
    sealed: dict[str, object] = {}
    if attempt.notes:
        sealed |= {"arguments": attempt.shown_arguments, "notes": attempt.notes}
    if decision.origins:
        sealed["origins"] = attempt.around.redactor.value([list(origin) for origin in decision.origins])
    return sealed or None
