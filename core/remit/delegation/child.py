"""The run of an agent that another one asked: in a session of its own, within what is left of the run above it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remit.loop.budget import Budget, Room
from remit.loop.guards import Limits
from remit.loop.outcome import RunResult
from remit.loop.run import Run
from remit.loop.sources import Sources
from remit.models.protocol import Message, Usage
from remit.values import Result

_LABELS = ("private", "untrusted")


def child_session(parent: str, call: str) -> str:
    """Return the id of the session that a call begins, the same whenever it is made again.

    What the call says is no part of it: a transcript that is loaded again may have marks where a secret was.
    """
    about = json.dumps([parent, call]).encode()
    return hashlib.sha256(about).hexdigest()[:16]


def task_message(task: str, labels: Iterable[str]) -> Message:
    """Return a task as the first message of a session; `labels` are those of what its writer had read."""
    return Message(role="user", content=task, origin="agent", labels=tuple(sorted(labels)))


def limits_below(left: Limits, own: Limits) -> Limits:
    """Return the limits of a run: its own, and of tokens, cost and seconds no more than is left above it."""
    return replace(
        own,
        tokens=_smaller(own.tokens, left.tokens),
        cost=_smaller(own.cost, left.cost),
        seconds=_smaller(own.seconds, left.seconds),
    )


def _smaller(one: Any, two: Any) -> Any:
    return min((value for value in (one, two) if value is not None), default=None)


class SharedBudget(Budget):
    """What a run may use up, where it counts for the run above it, too: runs side by side share what that has left."""

    def __init__(self, limits: Limits, *, above: Run) -> None:
        super().__init__(limits)
        self._above = above

    def took(self, usage: Usage, cost: float | None) -> None:
        """Add one turn, here and above."""
        super().took(usage, cost)
        self._above.spend(usage, cost)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add the use of another run, here and above."""
        super().spend(usage, cost)
        self._above.spend(usage, cost)

    def left(self) -> Limits:
        """Return what is left here, and never more than above."""
        return limits_below(self._above.left(), super().left())

    def room(self) -> tuple[Room, str]:
        """Return what is left here, `none` where nothing is left above."""
        left = self._above.left()
        for what, value in (("tokens", left.tokens), ("cost", left.cost), ("time", left.seconds)):
            if value is not None and value <= 0:
                return "none", f"the {what} of the run that gave the task are used up"
        return super().room()


@dataclass(kw_only=True)
class ChildRun(Run):
    """A run that a call of another run began.

    Attributes:
        above: the run whose call it is.
        before: messages of the sessions that led to this one, the first one first.
        about: what is recorded of its beginning: who runs, and for which call of which session.
    """

    above: Run
    before: Sequence[Message]
    about: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Set the run up, its budget within that of the run above, its sources beginning with those above."""
        super().__post_init__()
        self._budget = SharedBudget(self.limits, above=self.above)
        self._sources = Sources(self.before)
        self.watched = self.above.watched

    async def perform(self) -> RunResult:
        """Do the task that the transcript begins with; outcomes and cancellation as in `execute`."""
        return await self._until_outcome(self.transcript.messages[0].content)

    def called_below(self, skills: Collection[str]) -> None:
        """Count them here and above."""
        super().called_below(skills)
        self.above.called_below(skills)

    def _take(self, results: tuple[Result, ...]) -> None:
        super()._take(results)
        self.above.called_below(self._called)

    @property
    def read(self) -> frozenset[str]:
        """Labels of what it has read: results, and results of sessions above that its task repeats."""
        return labels_read(self.transcript.messages, self._sources)

    def _record(self, event: str, body: Mapping[str, Any], sealed: Mapping[str, Any]) -> None:
        super()._record(event, {**body, **self.about} if event == "run.started" else body, sealed)


def labels_read(messages: Sequence[Message], sources: Sources) -> frozenset[str]:
    """Return the labels of what a session has read; `sources` know what was read above it."""
    read = {label for message in messages if message.role == "tool" for label in message.labels}
    task = messages[0].content if messages else ""
    return frozenset(read | {label for label in _LABELS if sources.ledger.rests_on(task, label) is not None})


def read_above(messages: Iterable[Message]) -> frozenset[str]:
    """Return the labels of everything that sessions have read, results, attachments and what was remembered."""
    from remit.loop.summaries import labels_of

    return labels_of(messages)
