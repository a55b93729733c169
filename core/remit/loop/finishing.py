"""Whether a reply in words may be the answer of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remit.loop.answer_type import Misfit
from remit.loop.promises import promises
from remit.loop.terms import FIRST, Terms
from remit.loop.wording import CALL_FIRST, CALL_REQUIRED, PROMISED, TASK_REQUIRED
from remit.models.protocol import Message

ECHO = 20
"""Characters from which on a reply that stands in the loop's own words is no answer."""

REPAIRS = 2
"""How often an answer that does not fit its type is asked for again."""

REMINDERS = 2
"""How often a model is told to make a call that its run requires."""


def is_echo(text: str, last: Message) -> bool:
    """Say whether a reply is only what the loop told the model in the message before: small models repeat that."""
    return last.role == "user" and last.origin == "loop" and text.strip() in last.content and len(text) >= ECHO


@dataclass(frozen=True, kw_only=True)
class Objection:
    """Why a reply is not the answer yet.

    Attributes:
        kind: of the reply; replies of one kind in a row are counted.
        most: how many of them end the run.
        note: what the model is told before that.
        reason: why the run then ends.
        helpless: what the model would call can no longer help it: let it only answer, where it can.
    """

    kind: str
    most: int
    note: str
    reason: str
    helpless: bool = False


class Finishing:
    """Judges the replies of one run.

    Args:
        terms: of the run.
        most_promises: replies in a row that promise and call nothing.
        shown: full name of a skill to the name that the model sees.
        own: full names of the skills that the run calls itself; others it has called by the agents below it.

    Attributes:
        value: the answer as its type, once one fits.
    """

    def __init__(
        self, terms: Terms, *, most_promises: int, shown: Callable[[str], str], own: Container[str] | None = None
    ) -> None:
        self._terms = terms
        self._own = own
        self._most_promises = most_promises
        self._shown = shown
        self._misfits = 0
        self.value: Any = None

    @property
    def repairing(self) -> bool:
        """Whether the model is asked for nothing but another form of its answer."""
        return self._misfits > 0

    def fits(self, text: str) -> bool:
        """Say whether `text` has the type that was asked for; where none was, nothing does."""
        return self._terms.answer is not None and not isinstance(self._terms.answer.read(text), Misfit)

    def judge(self, text: str, *, called: Collection[str], may_call: bool) -> Objection | None:
        """Return what speaks against `text` as the answer, None when it is one.

        Args:
            text: what the model said.
            called: full names of the skills that were called so far.
            may_call: it is offered skills and could call them.
        """
        missing = self._missing(called)
        if missing is not None:
            return missing if may_call else replace(missing, most=0)
        return (self._promise(text) if may_call else None) or self._misfit(text)

    def _missing(self, called: Collection[str]) -> Objection | None:
        first = self._terms.first
        due = [name for name in self._terms.required if name not in called]
        if not due and not called and first not in FIRST:
            due = [first]
        if due:
            note, reason = self._call(due), f"the model did not call {', '.join(due)}, as it had to"
        elif first == "required" and not called:
            note, reason = CALL_FIRST, "the model called no skill, as it had to"
        else:
            return None
        return Objection(kind="uncalled", most=REMINDERS + 1, note=note, reason=reason)

    def _call(self, due: Sequence[str]) -> str:
        """Return what the model is told of calls that are due."""
        own = [self._shown(name) for name in due if self._own is None or name in self._own]
        return CALL_REQUIRED.format(names=", ".join(own)) if own else TASK_REQUIRED.format(names=", ".join(due))

    def _promise(self, text: str) -> Objection | None:
        if not promises(text):
            return None
        reason = f"{self._most_promises} replies in a row promised to do something and called nothing"
        return Objection(kind="promise", most=self._most_promises, note=PROMISED, reason=reason, helpless=True)

    def _misfit(self, text: str) -> Objection | None:
        if self._terms.answer is None:
            return None
        read = self._terms.answer.read(text)
        if not isinstance(read, Misfit):
            self.value = read.value
            return None
        self._misfits += 1
        return Objection(
            kind="misfit",
            most=0 if self._misfits > REPAIRS else REPAIRS + 1,
            note=self._terms.answer.repair(read),
            reason=f"the answer does not have the type that was asked for: {read.errors}",
        )
