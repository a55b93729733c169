"""What a person refused: for the rest of the session, and for every agent that works on what was asked in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.pipeline.attempt import Attempt
from remit_sandbox.signoff import Action

if TYPE_CHECKING:
    from remit.state.signoffs import Remembered


def refused_before(attempt: Attempt, action: Action) -> tuple[Remembered, str] | None:
    """Return the answer that is kept for an action, here or in the session in which a person asked, with its reason.

    Only what was refused reaches an agent that was given a task: an approval stays in the session it was given in.

    Raises:
        StateError: it cannot be read.
    """
    state = attempt.around.state
    for one in _everywhere(attempt, action):
        known = state.remembered_answer(one.session, one.digest)
        if known is not None and (one.session == action.session or known[0] == "denied"):
            return known
    return None


def remember_refusal(attempt: Attempt, action: Action, reason: str) -> None:
    """Keep that a person refused an action. Raises StateError where it cannot be written."""
    for one in _everywhere(attempt, action):
        attempt.around.state.remember_answer(one.session, one.digest, "denied", reason)


def _everywhere(attempt: Attempt, action: Action) -> Iterator[Action]:
    """Yield the action in its session, and for an agent that was given a task also where a person asked."""
    yield action
    if attempt.around.agents:
        yield replace(action, session=attempt.around.state.root_of(action.session))
