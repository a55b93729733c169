"""Waiting for an answer: from the person here, who may edit first, or from elsewhere, whichever comes first."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

from remit.errors import RemitError, StateError
from remit.pipeline.attempt import Attempt
from remit.pipeline.editing import approve_edit, edited
from remit_sandbox.signoff import Edit, SignoffDecision, SignoffRequest

LOOK_SECONDS = 0.5
"""Seconds between two looks whether a question on this terminal was answered elsewhere."""

MOST_EDITS = 100
"""Edits of one question; an approver that is a program must come to an end."""


async def put(attempt: Attempt, request: SignoffRequest) -> tuple[SignoffDecision, bool]:
    """Put a question to the person here and wait; what they edit is checked, decided and shown to them again.

    A channel that breaks, or an answer that does not come in time, is a denial. An edit that was approved is in
    the state when this returns, and the question itself is denied as edited.

    Returns:
        The answer, for `request`, and whether it has yet to be kept.

    Raises:
        StateError: an edit cannot be written.
    """
    shown = request
    for _ in range(MOST_EDITS):
        answer, here = await _answer(attempt, request, shown)
        if isinstance(answer, Edit):
            shown = _again(attempt, request, shown, answer)
        elif not here or shown.nonce == request.nonce:
            return answer, here
        elif answer.approves and answer.digest == shown.digest:
            return _approved(attempt, request, shown, answer)
        else:
            digest = request.digest if answer.digest == shown.digest else answer.digest
            return replace(answer, digest=digest), True
    return by_remit(request, f"it was edited {MOST_EDITS} times and never answered"), True


def _again(attempt: Attempt, request: SignoffRequest, shown: SignoffRequest, wanted: Edit) -> SignoffRequest:
    """Return what is asked next: the call as it was edited, or the same again with why it was not."""
    if wanted.digest != shown.digest:
        return replace(shown, remark="the edit was not taken: it was of another question")
    rules = attempt.around.rules
    try:
        found = edited(request, wanted.arguments, skill=attempt.known, rules=rules, by=wanted.by or "a person")
    except StateError:
        raise
    except RemitError as error:
        return replace(shown, remark=f"the edit was not taken: {error.message}")
    return replace(found, expires=request.expires)


def _approved(
    attempt: Attempt, request: SignoffRequest, shown: SignoffRequest, answer: SignoffDecision
) -> tuple[SignoffDecision, bool]:
    state = attempt.around.state
    edit = replace(shown, remark="")
    _, why_not = approve_edit(state, state.signoff(request.nonce), edit, by=answer.by, channel=answer.channel)
    if why_not:
        return by_remit(request, f"the edit came too late: {why_not}"), False
    return SignoffDecision(
        answer="deny", digest=request.digest, reason="edited", by=answer.by, channel=answer.channel
    ), False


async def _answer(
    attempt: Attempt, request: SignoffRequest, shown: SignoffRequest
) -> tuple[SignoffDecision | Edit, bool]:
    """Wait for the person here or an answer from elsewhere; say whether it came from here."""
    approver = attempt.around.approver
    assert approver is not None
    here = asyncio.ensure_future(approver.ask(shown))
    elsewhere = asyncio.ensure_future(_from_elsewhere(attempt, request))
    with _ended(here, elsewhere):
        seconds = max(0.0, request.expires - time.time())
        await asyncio.wait({here, elsewhere}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if elsewhere.done() and not here.done():
            return elsewhere.result(), False
        if not here.done():
            return by_remit(shown, "nobody answered in time"), True
        return _given(shown, here), True


def _given(request: SignoffRequest, here: asyncio.Future[SignoffDecision | Edit]) -> SignoffDecision | Edit:
    if here.cancelled():
        return by_remit(request, "the question could not be put to a person (CancelledError)")
    error = here.exception()
    if error is not None:
        if not isinstance(error, Exception):
            raise error
        return by_remit(request, f"the question could not be put to a person ({type(error).__name__})")
    answer = here.result()
    if isinstance(answer, Edit):
        return answer
    if isinstance(answer, SignoffDecision):
        if answer.answer not in ("standing", "edit"):
            return answer
        return by_remit(request, f"an approver cannot answer {answer.answer!r}; `remit signoff` can")
    return by_remit(request, f"the approver gave {type(answer).__name__} instead of a SignoffDecision")


async def _from_elsewhere(attempt: Attempt, request: SignoffRequest) -> SignoffDecision:
    """Wait until somebody answers with `remit signoff` in another terminal, and return that answer."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        found = attempt.around.state.signoff(request.nonce)
        if found.state in ("approved", "denied") and found.decision is not None:
            kept = {name: found.decision.get(name, "") for name in ("reason", "by", "channel")}
            return SignoffDecision(answer=found.decision["answer"], digest=found.digest, **kept)


@contextlib.contextmanager
def _ended(*waits: asyncio.Future[SignoffDecision | Edit] | asyncio.Future[SignoffDecision]) -> Iterator[None]:
    """End what nobody waits for any more; what it raises then is of no interest."""
    try:
        yield
    finally:
        for wait in waits:
            wait.cancel()
            wait.add_done_callback(lambda done: done.cancelled() or done.exception())


def by_remit(request: SignoffRequest, reason: str) -> SignoffDecision:
    """Return a denial of `request` that nobody gave."""
    return SignoffDecision(answer="deny", digest=request.digest, reason=reason, by="Remit")
