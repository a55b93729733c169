"""Who answers for sign-offs in an evaluation: nobody, or what a case lists and a person let count."""

from __future__ import annotations

from collections.abc import Mapping

from remit.evaluation.case import Case
from remit.evaluation.trajectory import MadeCall, fits
from remit.pipeline.attempt import Approver
from remit.pipeline.signoff import Nobody
from remit.skills import Skill
from remit_sandbox.signoff import SignoffDecision, SignoffRequest

WHO = "the suite"


class Listed:
    """Approves, once each time, the calls that a case lists, and denies every other one.

    Never a call with an impact, and never one whose verdict is `ask-apart` or that needs two people: the pipeline does
    not ask this one about those.

    Args:
        case: whose `approve` counts.
        skills: full name to skill.
    """

    apart = False

    def __init__(self, case: Case, skills: Mapping[str, Skill]) -> None:
        self._case = case
        self._skills = skills

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Answer by the list."""
        why = self._why_not(request)
        if why:
            return SignoffDecision(answer="deny", digest=request.digest, reason=why, by=WHO, channel="evaluation")
        return SignoffDecision(answer="once", digest=request.digest, by=WHO, channel="evaluation")

    def _why_not(self, request: SignoffRequest) -> str:
        if request.impact:
            return f"an evaluation never approves a call with an impact ({', '.join(request.impact)})"
        if request.verdict != "ask" or request.approvers > 1:
            return "an evaluation never approves what another channel has to"
        call = MadeCall(skill=request.action.skill, arguments=request.action.arguments)
        if any(fits(wanted, call, self._skills) for wanted in self._case.approve):
            return ""
        return f"case {self._case.id} does not list this call under `approve`"


def approver_for(case: Case, skills: Mapping[str, Skill], *, approve_listed: bool) -> Approver:
    """Return who answers in a case; nobody, unless the case lists calls and a person let the lists count."""
    return Listed(case, skills) if approve_listed and case.approve else Nobody()
