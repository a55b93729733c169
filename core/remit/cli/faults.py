"""Says on the terminal that an extension failed in a run that went on without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit.cli import screen

if TYPE_CHECKING:
    from remit.state.store import State

LONGEST = 300
"""Characters of what is shown of one fault; the log has the rest."""


@contextmanager
def telling_faults(state: State) -> Iterator[None]:
    """Say, once each, how extensions failed while the block ran."""
    from remit.extensions.sinks import FAULT_EVENT
    from remit.state.reading import last_sequence

    before = last_sequence(state.database)
    try:
        yield
    finally:
        bodies = [record.body for record in state.records(event=FAULT_EVENT, after=before)]
        told = [f"extension {one.get('extension')}, {one.get('doing')}: {one.get('error')}" for one in bodies]
        for line in dict.fromkeys(told):
            screen.warn(f"note: failed and was done without: {screen.clipped(line, LONGEST)}")
        if told:
            screen.next_step(f"remit log list --event {FAULT_EVENT}")
