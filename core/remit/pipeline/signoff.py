"""Stage 4: a person signs the exact action off, or nobody does."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from remit.pipeline import outcome
from remit.pipeline.attempt import PARKED_SECONDS, SIGNOFF_SECONDS, Approver, Attempt
from remit.pipeline.convert import convert
from remit.pipeline.resources import resolved
from remit.pipeline.terminal import TerminalApprover
from remit.values import Result
from remit_sandbox.canonical import digest
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest, fits

__all__ = ["Approver", "Nobody", "TerminalApprover", "sign_off"]


class Nobody:
    """Nobody is there to be asked; the same as no approver at all."""

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Refuse; a pipeline never comes to ask this one."""
        return SignoffDecision(answer="deny", digest=request.digest, reason="nobody is there")


async def sign_off(attempt: Attempt) -> Result | None:
    """Put the question to a person where the verdict asks for it; record `signoff.*`.

    The arguments are converted first, in a cell without rights, so that nobody approves what cannot
    run. An action that a person refused before in this session is refused without asking.

    Returns:
        `denied`, `parked`, `cancelled` (with `stop`), `invalid`, or None to go on.

    Raises:
        StateError: the request or answer cannot be written.
    """
    if attempt.decision is None or attempt.decision.verdict == "allow":
        return None
    action = _action(attempt)
    known = attempt.around.state.remembered_answer(attempt.call.session, action.digest)
    if known is not None and known[0] == "denied":
        return _refused_before(attempt, known[1])
    if attempt.decision.verdict == "ask" and _granted(attempt):
        attempt.note("signoff.reused", {"for": "session", "action": action.digest})
        return None
    if not _can_ask(attempt):
        return await _nobody(attempt, action)
    return await convert(attempt) or await _ask(attempt, action)


def _action(attempt: Attempt) -> Action:
    skill, around = attempt.known, attempt.around
    return Action(
        skill=skill.full,
        version=skill.version,
        skill_hash=skill.hash,
        arguments=attempt.arguments.value,
        resolved=resolved(skill, attempt.arguments.value),
        session=attempt.call.session,
        principal=around.principal,
        policy=around.rules.digest,
    )


def _request(attempt: Attempt, action: Action, seconds: float) -> SignoffRequest:
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
    )


def _can_ask(attempt: Attempt) -> bool:
    approver, decision = attempt.around.approver, attempt.decision
    if approver is None or isinstance(approver, Nobody) or decision is None:
        return False
    return decision.verdict == "ask" or bool(getattr(approver, "apart", False))


async def _nobody(attempt: Attempt, action: Action) -> Result:
    decision, around = attempt.decision, attempt.around
    assert decision is not None
    reason = f"it needs a person's sign-off ({decision.reason.rstrip('.')}), and nobody can give it here"
    if around.unattended == "deny":
        attempt.note("signoff.impossible", {"source": decision.source, "action": action.digest})
        again = "Asking again will not help."
        return outcome.denied(attempt, reason, again=again, remedy=decision.remedy)
    unfit = await convert(attempt)
    if unfit is not None:
        return unfit
    request = _request(attempt, action, PARKED_SECONDS)
    around.state.put_signoff(request, call=attempt.call.id)
    attempt.note("signoff.asked", {**_about(request), "parked": True})
    text = f"{attempt.name} waits for a person's sign-off: {decision.reason.rstrip('.')}. It has not run."
    return outcome.ended(attempt, "parked", text, reason=reason, remedy=decision.remedy)


async def _ask(attempt: Attempt, action: Action) -> Result | None:
    approver, state = attempt.around.approver, attempt.around.state
    assert approver is not None
    request = _request(attempt, action, SIGNOFF_SECONDS)
    state.put_signoff(request, call=attempt.call.id)
    attempt.note("signoff.asked", _about(request))
    attempt.flush()
    attempt.tell("asking")
    try:
        answer = await _answer(approver, request)
    except asyncio.CancelledError:
        state.decide_signoff(_by_remit(request, "the run was cancelled"), nonce=request.nonce)
        raise
    why_not = fits(request, answer)
    state.decide_signoff(answer, nonce=request.nonce)
    attempt.note("signoff.answered", {**vars(answer), "nonce": request.nonce, "void": why_not})
    attempt.tell("answered", answer.answer)
    if why_not:
        again = "Asking again puts a new question to the person."
        return outcome.denied(attempt, why_not, again=again, by="Remit")
    return _settled(attempt, request, answer)


async def _answer(approver: Approver, request: SignoffRequest) -> SignoffDecision:
    """Ask; a channel that breaks or an answer that does not come in time is a denial."""
    try:
        answer = await asyncio.wait_for(approver.ask(request), max(0.0, request.expires - time.time()))
        if isinstance(answer, SignoffDecision):
            return answer
        reason = f"the approver gave {type(answer).__name__} instead of a SignoffDecision"
    except TimeoutError:
        reason = "nobody answered in time"
    except Exception as error:
        reason = f"the question could not be put to a person ({type(error).__name__})"
    return _by_remit(request, reason)


def _by_remit(request: SignoffRequest, reason: str) -> SignoffDecision:
    return SignoffDecision(answer="deny", digest=request.digest, reason=reason, by="Remit")


def _settled(attempt: Attempt, request: SignoffRequest, answer: SignoffDecision) -> Result | None:
    state, session = attempt.around.state, attempt.call.session
    if answer.approves:
        if answer.answer == "session" and request.verdict == "ask":
            state.remember_answer(session, _grant(attempt), "allowed", answer.reason)
        attempt.request = request
        return None
    if answer.by != "Remit":
        state.remember_answer(session, request.action.digest, "denied", answer.reason)
    if answer.answer == "stop":
        text = f"A person refused {attempt.name} and stopped the run."
        return outcome.ended(attempt, "cancelled", text, stop=True)
    reason = answer.reason.rstrip(". ") or "no reason given"
    again = "The same action will be refused again without asking; do something else, or ask the person."
    return outcome.denied(attempt, reason, again=again, by="a person" if answer.by != "Remit" else "Remit")


def _refused_before(attempt: Attempt, reason: str) -> Result:
    attempt.note("signoff.reused", {"for": "denial", "reason": reason})
    why = "a person refused the same action before in this session"
    again = "Asking again will not help; do something else, or ask the person."
    return outcome.denied(attempt, f"{why}: {reason}" if reason else why, again=again, by="a person")


def _granted(attempt: Attempt) -> bool:
    known = attempt.around.state.remembered_answer(attempt.call.session, _grant(attempt))
    return known is not None and known[0] == "allowed"


def _grant(attempt: Attempt) -> str:
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
            "source": attempt.decision.source if attempt.decision is not None else "",
        }
    )


def _about(request: SignoffRequest) -> dict[str, object]:
    return {
        "nonce": request.nonce,
        "digest": request.digest,
        "action": request.action.digest,
        "expires": request.expires,
        "verdict": request.verdict,
        "source": request.source,
        "resolved": request.action.resolved,
    }
