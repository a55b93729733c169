"""What a reply of the model leads to: an answer, calls, another try, or the end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from remit.loop.finishing import Finishing, is_echo
from remit.loop.guards import Guards, Limits
from remit.loop.interpreter import Heard
from remit.loop.wording import CUT, EMPTY, PARTLY, UNREADABLE
from remit.models.protocol import Message, ModelReply

Kind = Literal["answer", "act", "tell", "close", "stop", "refuse"]
"""`answer`: it is the answer. `act`: its calls are made. `tell`: the model is told something and asked again.
`close`: the model may only answer from now on; the run stops where it cannot. `stop`: the run stops. `refuse`: it
stops, and the calls of the reply, which could not be made any more, are told so."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """What follows a reply.

    Attributes:
        kind: see `Kind`.
        text: what the model is told (`tell`; for `act`, after its calls), or why (`close`, `stop`).
        kept: what of a reply without calls goes into the transcript; None for nothing.
    """

    kind: Kind
    text: str = ""
    kept: str | None = None


class Replies:
    """Judges the replies of one run; what cannot be used is counted.

    Args:
        finishing: says whether words are the answer.
        guards: counts replies of a kind in a row.
        limits: of the run.
    """

    def __init__(self, finishing: Finishing, guards: Guards, limits: Limits) -> None:
        self._finishing = finishing
        self._guards = guards
        self._limits = limits

    def judge(
        self, reply: ModelReply, heard: Heard, *, last: Message, called: Collection[str], may_call: bool, closing: bool
    ) -> Move:
        """Return what follows.

        Args:
            reply: as it came.
            heard: what it means.
            last: the message before it.
            called: full names of the skills that were called so far.
            may_call: the model is offered skills and could call them.
            closing: the model was told that it may only answer.
        """
        text = heard.text if heard.text.strip() else None
        if reply.finish == "filter":
            return Move(kind="stop", text="the endpoint withheld the rest of the reply", kept=text)
        if reply.finish == "length":
            return self._cut(heard, text)
        if closing and (heard.calls or heard.errors):
            return Move(kind="refuse")
        if heard.calls:
            return Move(kind="act", text=PARTLY.format(errors=" ".join(heard.errors)) if heard.errors else "")
        if heard.errors and not self._finishing.fits(heard.text or reply.text):
            return self.unreadable(heard.errors, kept=reply.text or heard.text)
        if text is None or is_echo(text, last):
            return self.empty(reply.notes, again=last.content == EMPTY[0])
        return self.words(text, called=called, may_call=may_call)

    def words(self, text: str, *, called: Collection[str], may_call: bool) -> Move:
        """Take words as the answer, unless they promise something, lack a call, or have not the type asked for."""
        objection = self._finishing.judge(text, called=called, may_call=may_call)
        if objection is None:
            return Move(kind="answer", kept=text)
        if not self._guards.strike(objection.kind, objection.most):
            return Move(kind="tell", text=objection.note, kept=text)
        return Move(kind="close" if objection.helpless else "stop", text=objection.reason, kept=text)

    def _cut(self, heard: Heard, text: str | None) -> Move:
        """Judge a reply that ended at the output limit: nothing of it runs; text alone is an answer, in part."""
        if text is not None and not heard.calls and not heard.errors:
            return Move(kind="stop", text="the answer reached the output limit before it was complete", kept=text)
        return self.cut(kept=text)

    def cut(self, kept: str | None = None) -> Move:
        """Return what follows a reply whose calls were cut off."""
        if self._guards.strike("cut", self._limits.cut):
            reason = f"{self._limits.cut} replies in a row reached the output limit"
            return Move(kind="stop", text=reason, kept=kept)
        return Move(kind="tell", text=CUT, kept=kept)

    def unreadable(self, errors: Collection[str], *, kept: str) -> Move:
        """Return what follows a reply whose calls cannot be read."""
        if self._guards.strike("unreadable", self._limits.unreadable):
            reason = f"the calls of {self._limits.unreadable} replies in a row could not be read"
            return Move(kind="close", text=f"{reason}: {next(iter(errors), '')}", kept=kept)
        return Move(kind="tell", text=UNREADABLE.format(errors=" ".join(errors)), kept=kept)

    def empty(self, notes: Collection[str] = (), *, again: bool = False) -> Move:
        """Return what follows a reply without words or calls."""
        if self._guards.strike("empty", self._limits.empty):
            return Move(kind="close", text=f"{self._limits.empty} replies in a row were empty")
        return Move(kind="tell", text=EMPTY[again] + (f" ({'; '.join(notes)})" if notes else ""))
