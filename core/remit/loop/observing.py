"""Observers of extensions: told when a run goes from one state into another; they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from remit.extensions.extensions import Extensions, record_fault
from remit.extensions.values import RunState
from remit.loop.events import Delegated, Event, StateChanged
from remit.pipeline.redact import Redactor

if TYPE_CHECKING:
    from remit.state.store import State

Emit = Callable[[Event], None]


def watched(extensions: Extensions, state: State, redactor: Redactor, emit: Emit) -> Emit:
    """Return what gets every event of a run and also tells the observers of extensions; `emit` where there are none.

    An observer that raises is recorded, and the run goes on.
    """
    if not extensions.of("observer"):
        return emit

    def hear(event: Event) -> None:
        inner = event.inner if isinstance(event, Delegated) else event
        try:
            emit(event)
        finally:
            if isinstance(inner, StateChanged):
                for fault in extensions.tell("observe_run_state", _told(inner, redactor)):
                    record_fault(state, fault)

    return hear


def _told(event: StateChanged, redactor: Redactor) -> RunState:
    return RunState(
        session=event.session,
        step=event.step,
        old=event.old or "",
        new=event.new,
        reason=redactor.text(event.reason),
    )
