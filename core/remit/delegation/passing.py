"""The events of a run in the stream of the run above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remit.loop.events import Delegated, Event, TextDelta
from remit.values import Call


def passing_on(emit: Callable[[Event], None], call: Call, chain: tuple[str, ...]) -> Callable[[Event], None]:
    """Return what takes the events of a run and tells them above, each marked with who it is about.

    Args:
        emit: takes the events of the run above.
        call: its call that began the run.
        chain: who asked whom, the agent of the run first.
    """

    def tell(event: Event) -> None:
        if isinstance(event, Delegated):
            emit(replace(event, session=call.session, call=call.id))
        elif not isinstance(event, TextDelta):
            emit(Delegated(session=call.session, call=call.id, agents=chain, inner=event))

    return tell
