"""Stage 4: a person signs the exact action off, or nobody does."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from remit.pipeline import outcome
from remit.pipeline.asking import about, about_sealed, action_of, people_needed, request_of
from remit.pipeline.attempt import PARKED_SECONDS, SIGNOFF_SECONDS, Approver, Attempt, QuestionKind
from remit.pipeline.convert import convert
from remit.pipeline.edited import take_edit
from remit.pipeline.hosted import goes_on
from remit.pipeline.lapsed import lapsed
from remit.pipeline.notify import notified
from remit.pipeline.refusals import refused_before, remember_refusal
from remit.pipeline.standing import answered_before, granted
from remit.pipeline.terminal import TerminalApprover
from remit.pipeline.waiting import by_remit, put
from remit.state.answering import StoredSignoff
from remit.values import Result
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest, fits

__all__ = ["Approver", "Nobody", "TerminalApprover", "action_of", "sign_off"]


_REFUSED = "The same action will be refused again without asking; do something else, or ask the person."


class Nobody:
    """Nobody is there to be asked; the same as no approver at all."""

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Refuse; a pipeline never comes to ask this one."""
        return SignoffDecision(answer="deny", digest=request.digest, reason="nobody is there")


async def sign_off(attempt: Attempt) -> Result | None:
    """Put the question to a person where the verdict asks for it; record `signoff.*`.

    The arguments are converted first, in a cell without rights, so that nobody approves what cannot
    run. An action that a person refused before in this session is refused without asking, so is a call whose
    question lapsed, and one that is asked about already is not asked about twice.

    Returns:
        `denied`, `parked`, `cancelled` (with `stop`), `invalid`, or None to go on.

    Raises:
        StateError: the request or answer cannot be written.
    """
    if attempt.decision is None or attempt.decision.verdict == "allow":
        return None
    action = action_of(attempt)
    if goes_on(attempt):
        attempt.note("signoff.reused", {"for": "begun", "action": action.digest})
        return None
    was_edited, ended = await take_edit(attempt, action)
    if was_edited:
        return ended
    state, session = attempt.around.state, attempt.call.session
    own = state.refusal_of(session, attempt.call.id)
    known = refused_before(attempt, action) or own
    if known is not None and known[0] == "stopped":
        return _stopped_before(attempt, action, known[1])
    if known is not None and known[0] == "denied":
        if attempt.around.agents:  # answered elsewhere: now every agent that works on the question knows
            remember_refusal(attempt, action, known[1])
        return _refused_before(attempt, known[1], first=own is not None)
    if answered_before(attempt, action):
        return None
    late = lapsed(attempt)
    if late is not None:
        return late
    if not _can_ask(attempt):
        return await _nobody(attempt, action)
    if not _can_show(attempt):
        return _not_shown(attempt, action)
    return await convert(attempt) or await _ask_once(attempt, action)


def _can_ask(attempt: Attempt) -> bool:
    """Tell whether the person who is there can settle it; several people never sit at one terminal."""
    approver, decision = attempt.around.approver, attempt.decision
    if approver is None or isinstance(approver, Nobody) or decision is None or people_needed(attempt) > 1:
        return False
    return decision.verdict == "ask" or bool(getattr(approver, "apart", False))


def _can_show(attempt: Attempt) -> bool:
    """Tell whether the channel takes this kind of question; one that says nothing of kinds takes all."""
    shows = getattr(attempt.around.approver, "shows", None)
    return shows is None or _kind(attempt) in shows


def _kind(attempt: Attempt) -> QuestionKind:
    return "grants" if attempt.known.asks else "call"


def _not_shown(attempt: Attempt, action: Action) -> Result:
    """Refuse at once what the channel could not put before anybody: nobody would know that it waits."""
    decision, kind = attempt.decision, _kind(attempt)
    assert decision is not None
    attempt.note("signoff.impossible", {"source": decision.source, "action": action.digest, "kind": kind})
    reason = f"it needs a person's sign-off, and the approver cannot show a question of the kind {kind!r}"
    again = "Asking again will not help."
    remedy = f'let the approver show it and say so: shows = {{"call", "{kind}"}}; or run without that approver'
    return outcome.denied(attempt, reason, again=again, remedy=remedy, by="Remit")


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
    nonce, trouble = await _parked(attempt, action)
    remedy = [f"remit signoff show {nonce[:12]}, and then approve or deny it"] if around.notify is not None else []
    text = f"{attempt.name} waits for a person's sign-off: {decision.reason.rstrip('.')}. It has not run."
    return outcome.ended(attempt, "parked", text, reason=reason, remedy="\n".join([*trouble, *remedy, decision.remedy]))


async def _parked(attempt: Attempt, action: Action) -> tuple[str, list[str]]:
    """Keep the question until somebody answers it; return its id, and what went wrong in telling of it."""
    state = attempt.around.state
    waiting = state.asked_already(attempt.call.session, action.digest)
    if waiting is not None and not _taken_from_terminal(attempt, waiting):
        attempt.note("signoff.reused", {"for": "question", "nonce": waiting.nonce, "action": action.digest})
        return waiting.nonce, []
    request = request_of(attempt, action, PARKED_SECONDS)
    state.put_signoff(request, call=attempt.call.id)
    attempt.note("signoff.asked", {**about(request), "parked": True}, about_sealed(request))
    await attempt.aflush(durable=True)
    return request.nonce, await notified(attempt, request)


def _taken_from_terminal(attempt: Attempt, waiting: StoredSignoff) -> bool:
    """Take back the question about this very call that a terminal had, whose time was short: it is asked anew to wait.

    One that somebody answered meanwhile stays.
    """
    short = waiting.expires - waiting.created < PARKED_SECONDS - SIGNOFF_SECONDS
    if not short or waiting.call != attempt.call.id or waiting.people:
        return False
    why = "the terminal that it was asked on is gone; it is asked anew"
    refusal = SignoffDecision(answer="deny", digest=waiting.digest, reason=why, by="Remit")
    if attempt.around.state.decide_signoff(refusal, nonce=waiting.nonce) != "denied":
        return False
    attempt.note("signoff.revoked", {"nonce": waiting.nonce, "by": "Remit"}, {"reason": why})
    return True


async def _ask_once(attempt: Attempt, action: Action) -> Result | None:
    """Ask, unless the very question is before a person now: one question, one answer, one run."""
    asking = attempt.around.asking
    key = (attempt.call.session, action.digest, id(asyncio.get_running_loop()))
    if key in asking:
        return _shared(attempt, action, await asyncio.shield(asking[key]))
    asking[key] = asyncio.get_running_loop().create_future()
    nobody = SignoffDecision(answer="deny", digest="", reason="the question was taken back", by="Remit")
    try:
        request, answer = await _ask(attempt, action)
        nobody = answer
    finally:
        asking.pop(key).set_result(nobody)
    was_edited, ended = (False, None) if answer.approves else await take_edit(attempt, action)
    if was_edited:
        return ended
    return _settled(attempt, request, answer)


def _shared(attempt: Attempt, action: Action, answer: SignoffDecision) -> Result | None:
    """Return what the answer to the same question, asked for another call, means for this one."""
    attempt.note("signoff.reused", {"for": "question", "action": action.digest, "answer": answer.answer})
    if granted(attempt):
        attempt.note("signoff.reused", {"for": "session", "action": action.digest})
        return None
    again = "Asking again puts a new question to the person."
    if answer.approves:
        why = "the same call was waiting for the same answer, which lets one of them run"
        return outcome.denied(attempt, why, again=f"Use its result. {again}", by="Remit")
    if answer.by == "Remit":
        return outcome.denied(attempt, answer.reason.rstrip(". "), again=again, by="Remit")
    return _refused_before(attempt, answer.reason)


async def _ask(attempt: Attempt, action: Action) -> tuple[SignoffRequest, SignoffDecision]:
    """Put the question; return it with the answer, which is a denial where it does not fit the question."""
    state = attempt.around.state
    request = _question(attempt, action)
    attempt.flush()
    attempt.tell("asking")
    try:
        answer, here = await put(attempt, request)
    except asyncio.CancelledError:
        state.decide_signoff(by_remit(request, "the run was cancelled"), nonce=request.nonce)
        raise
    why_not = fits(request, answer)
    kept = state.decide_signoff(answer, nonce=request.nonce) if here else state.signoff(request.nonce).state
    if answer.approves and not why_not and kept != "approved":
        why_not = f"it was answered elsewhere meanwhile: it is {kept}"
    if here:
        said = {name: value for name, value in vars(answer).items() if name != "reason"}
        attempt.note("signoff.answered", {**said, "nonce": request.nonce, "void": why_not}, {"reason": answer.reason})
    attempt.tell("answered", answer.answer)
    return request, by_remit(request, why_not) if why_not else answer


def _question(attempt: Attempt, action: Action) -> SignoffRequest:
    """Return the question to put: the one that waits already from an earlier run, or a new one."""
    state = attempt.around.state
    request = request_of(attempt, action, SIGNOFF_SECONDS)
    waiting = state.asked_already(attempt.call.session, action.digest)
    if waiting is not None:
        earlier = replace(request, nonce=waiting.nonce, expires=waiting.expires)
        if earlier.digest == waiting.digest and waiting.approvers == request.approvers:
            attempt.note("signoff.reused", {"for": "question", "nonce": waiting.nonce, "action": action.digest})
            return earlier
    state.put_signoff(request, call=attempt.call.id)
    attempt.note("signoff.asked", about(request), about_sealed(request))
    return request


def _settled(attempt: Attempt, request: SignoffRequest, answer: SignoffDecision) -> Result | None:
    state, session = attempt.around.state, attempt.call.session
    if answer.approves:
        if answer.answer == "session" and request.covers:
            state.remember_answer(session, request.covers, "allowed", request.nonce)
        attempt.request = request
        return None
    if answer.by != "Remit":
        remember_refusal(attempt, request.action, answer.reason)
    if answer.answer == "stop":
        text = f"A person refused {attempt.name} and stopped the run."
        return outcome.ended(attempt, "cancelled", text, stop=True)
    reason = answer.reason.rstrip(". ") or "no reason given"
    if answer.by == "Remit":
        return outcome.denied(attempt, reason, again="Asking again puts a new question to the person.", by="Remit")
    return outcome.denied(attempt, reason, again=_REFUSED, by="a person")


def _stopped_before(attempt: Attempt, action: Action, reason: str) -> Result:
    """End the run, as a person answered while it was parked; from then on the action is refused."""
    remember_refusal(attempt, action, reason)
    attempt.note("signoff.reused", {"for": "denial"}, {"reason": reason})
    text = f"A person refused {attempt.name} and stopped the run" + (f": {reason}" if reason else ".")
    return outcome.ended(attempt, "cancelled", text, stop=True)


def _refused_before(attempt: Attempt, reason: str, *, first: bool = False) -> Result:
    """Refuse as a person did before; `first` where that was about this very call, which the model has yet to hear."""
    attempt.note("signoff.reused", {"for": "denial"}, {"reason": reason})
    if first:
        return outcome.denied(attempt, reason.rstrip(". ") or "no reason given", again=_REFUSED, by="a person")
    why = "a person refused the same action before in this session"
    again = "Asking again will not help; do something else, or ask the person."
    return outcome.denied(attempt, f"{why}: {reason}" if reason else why, again=again, by="a person")
