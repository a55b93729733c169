"""The verdict on calls of what a person switched off with `remit kill`: nothing else is asked then."""

from __future__ import annotations

from remit.state.switches import Off
from remit.values import Decision, Verdict

SOURCE = "remit kill"


def decision_when_off(off: Off) -> Decision:
    """Return the refusal of a skill that is switched off."""
    reason = off.says()
    step: tuple[Verdict, str, str] = ("deny", SOURCE, reason)
    return Decision(verdict="deny", reason=reason, source=SOURCE, steps=(step,), remedy=off.undo())
