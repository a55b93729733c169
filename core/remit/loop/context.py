"""What fits into a model's context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from remit.models.estimate import tokens
from remit.models.protocol import Message

ROOM = 8
"""The part of a context that is kept for a reply whose limit is not known: one in so many."""

MARK = "[{count} earlier messages were left out, because they do not fit into the context.]"


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What of a transcript is shown.

    Attributes:
        messages: that are shown, a mark or a summary in the place of those that are not.
        left_out: messages that nothing stands for.
        summarised: messages that a summary stands for.
        tokens: of what is shown, as `count` counts.
    """

    messages: tuple[Message, ...]
    left_out: int = 0
    summarised: int = 0
    tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """A transcript in its rounds: a message, with the results of its calls.

    Attributes:
        groups: the rounds, oldest first.
        latest: number of the person's latest message, -1 where there is none; it is always shown.
        end: number of the first round that always stays: the last thing the model said, or what the person said
            after it.
        lengths: messages before each round, and all of them.
    """

    groups: tuple[tuple[Message, ...], ...]
    latest: int
    end: int
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Rounds:
        """Return the rounds of `messages`."""
        groups = [[*group] for group in _rounds(messages)]
        latest = max((n for n, r in enumerate(groups) if r[0].asks), default=-1)
        last = max((n for n, r in enumerate(groups) if r[0].role == "assistant"), default=-1)
        lengths = accumulate(map(len, groups), initial=0)
        return cls(groups=tuple(map(tuple, groups)), latest=latest, end=max(0, last, latest), lengths=tuple(lengths))

    def length(self, end: int) -> int:
        """Return how many messages the rounds before `end` have."""
        return self.lengths[end]

    def before(self, end: int) -> tuple[Message, ...]:
        """Return the messages of the rounds before `end`."""
        return tuple(message for group in self.groups[:end] for message in group)

    def shown_from(self, start: int) -> tuple[Message, ...]:
        """Return what is shown when the rounds before `start` are not, but for those that stay."""
        pinned = [group for number, group in enumerate(self.groups[:start]) if self.stays(number)]
        return tuple(message for group in (*pinned, *self.groups[start:]) for message in group)

    def first_that_fits(self, budget: int, count: Callable[[Message], int]) -> int:
        """Return the number of the first round that is shown: as few of the oldest go as possible."""
        sizes = [sum(map(count, group)) for group in self.groups]
        total = sum(sizes)
        start = 0
        while total > budget and start < self.end:
            total -= 0 if self.stays(start) else sizes[start]
            start += 1
        return start

    def stays(self, number: int) -> bool:
        """Say whether a round is always shown: the person's latest message, and what is remembered of them."""
        return number == self.latest or self.groups[number][0].origin == "memory"


def fit(messages: Sequence[Message], budget: int | None, count: Callable[[Message], int] = tokens) -> Fitted:
    """Return the messages that fit into `budget` tokens; None keeps all.

    The person's latest message, what the last round brought and everything after it always stay.
    The oldest rounds go first, and a call goes together with its result.
    """
    total = sum(map(count, messages))
    if budget is None or total <= budget:
        return Fitted(messages=tuple(messages), tokens=total)
    return cut(Rounds.of(messages), budget, count)


def cut(rounds: Rounds, budget: int, count: Callable[[Message], int] = tokens) -> Fitted:
    """Return what fits of rounds that do not fit whole, as `fit` does."""
    length = rounds.length(len(rounds.groups))
    room = max(0, budget - count(_marked(length)))
    shown = rounds.shown_from(rounds.first_that_fits(room, count))
    dropped = length - len(shown)
    kept = (*((_marked(dropped),) if dropped else ()), *shown)
    return Fitted(messages=kept, left_out=dropped, tokens=sum(map(count, kept)))


def _marked(dropped: int) -> Message:
    return Message(role="user", content=MARK.format(count=dropped), origin="loop")


def _rounds(messages: Sequence[Message]) -> list[list[Message]]:
    """Return `messages` in groups: a message, with the results of its calls."""
    rounds: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and rounds:
            rounds[-1].append(message)
        else:
            rounds.append([message])
    return rounds
