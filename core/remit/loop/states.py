"""Where a run stands, where it may go from there, and an event for every change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from remit.loop.events import (
    CallFinished,
    CallProgress,
    Delegated,
    Event,
    RunState,
    StateChanged,
    TextDelta,
    TurnEnded,
    TurnRetried,
)

OVER: frozenset[RunState] = frozenset({"answered", "stopped", "parked", "failed"})
"""The states in which a run has ended. A parked one can be gone on with, by another run."""

NEXT: Mapping[RunState | None, frozenset[RunState]] = {
    None: frozenset({"thinking", "acting", "stopped", "failed"}),
    "thinking": frozenset({"acting", "waiting", "answered", "stopped", "parked", "failed"}),
    "acting": frozenset({"thinking", "waiting", "stopped", "parked", "failed"}),
    "waiting": frozenset({"thinking", "acting", "stopped", "failed"}),
    **{over: frozenset() for over in OVER},
}
"""The states that may follow each one; None is before the first. A run that is resumed may begin with its calls;
one whose beginning cannot be written down is over at once."""


class Course:
    """The course of one run. Every event of it passes here, on its way to whoever listens.

    A run waits while the question of a call is before a person, also when other calls of the same turn go on
    meanwhile, and while nothing happens because an endpoint is only asked again after a pause.

    Args:
        session: id of the session.
        emit: gets every event.

    Attributes:
        state: where the run stands; None before it began.
        step: number of the model turn.
    """

    def __init__(self, session: str, emit: Callable[[Event], None]) -> None:
        self._session = session
        self._emit = emit
        self._from: RunState = "thinking"
        self._asked: set[tuple[str, str]] = set()
        self.state: RunState | None = None
        self.step = 0

    def to(self, new: RunState, reason: str = "") -> None:
        """Go into a state, and tell it; nothing happens where the run stands there already.

        Raises:
            RuntimeError: a run never goes there from where it stands.
        """
        old = self.state
        if new == old:
            return
        if new not in NEXT[old]:
            raise RuntimeError(f"a run cannot go from {old} to {new}")
        self.state = new
        self._emit(StateChanged(session=self._session, step=self.step, old=old, new=new, reason=reason))

    def hear(self, event: Event) -> None:
        """Take an event of the run: pass it on, and wait or go on where it says so."""
        match event:
            case CallProgress(kind="asking") | Delegated(inner=CallProgress(kind="asking")):
                self._emit(event)
                self._asked.add(_question(event))
                self._wait(f"{_asking(event).skill} waits for a person's answer")
            case CallProgress(kind="answered") | Delegated(inner=CallProgress(kind="answered") | CallFinished()):
                self._answered(_question(event))
                self._emit(event)
            case CallFinished():
                self._answered((self._session, event.call.id))
                self._emit(event)
            case TurnRetried(wait=pause) if pause > 0:
                self._emit(event)
                self._wait(event.reason)
            case TurnRetried() | TextDelta() | TurnEnded():
                self._go_on()
                self._emit(event)
            case _:
                self._emit(event)

    def settle(self) -> None:
        """All calls of the turn have ended: nobody is asked any more."""
        self._asked.clear()
        self._go_on()

    def _wait(self, reason: str) -> None:
        if self.state in ("thinking", "acting"):
            self._from = self.state
            self.to("waiting", reason)

    def _answered(self, question: tuple[str, str]) -> None:
        if question in self._asked:
            self._asked.discard(question)
            if not self._asked:
                self._go_on()

    def _go_on(self) -> None:
        if self.state == "waiting":
            self.to(self._from)


def _question(event: CallProgress | Delegated) -> tuple[str, str]:
    """Return session and id of the call that an event is about, which may be one of another agent's run."""
    inner = event.inner if isinstance(event, Delegated) else event
    call = inner.call if isinstance(inner, (CallProgress, CallFinished)) else ""
    return inner.session, call if isinstance(call, str) else call.id


def _asking(event: CallProgress | Delegated) -> CallProgress:
    inner = event.inner if isinstance(event, Delegated) else event
    assert isinstance(inner, CallProgress)
    return inner
