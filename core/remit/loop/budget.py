"""What a run may use up: tokens, money and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from remit.loop.guards import Limits
from remit.models.protocol import Usage

Room = Literal["enough", "one more", "none"]
"""There is enough; the next turn is likely the last that fits; nothing is left."""


class Budget:
    """Adds up what the turns of a run take, and says when that is too much.

    What the last turn took is what the next one is expected to take, so that a model is asked for its answer
    while one more turn fits.

    Args:
        limits: its `tokens`, `cost` and `seconds`; None in them is no limit.
        clock: seconds that only grow.
    """

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._began = clock()
        self._turn_began = self._began
        self.tokens = 0
        self.cost = 0.0
        self._unpriced = False
        self._uncounted = False
        self._last = (0.0, 0.0, 0.0)

    @property
    def used(self) -> float:
        """Seconds that the run took, with those before it was left and gone on with."""
        return self._clock() - self._began

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, never less than 0; None where there is no limit."""
        return None if self._limits.seconds is None else max(0.0, self._limits.seconds - self.used)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.seconds == 0.0

    def go_on(self, seconds: float) -> None:
        """Count `seconds` that the run took before it was left."""
        self._began -= seconds

    def begin(self) -> None:
        """A turn begins: until the next one, its calls count with it."""
        self._turn_began = self._clock()

    def took(self, usage: Usage, cost: float | None) -> None:
        """Add one turn.

        Args:
            usage: of the turn, estimated where the endpoint did not say.
            cost: None where no price is known.
        """
        tokens = usage.total_tokens or 0
        self.tokens += tokens
        self.cost += cost or 0.0
        self._unpriced |= cost is None
        self._last = (tokens, cost or 0.0, self._clock() - self._turn_began)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add what a call used up in a run of its own; arguments as in `took`. What a turn takes stays as it was."""
        self.tokens += usage.total_tokens or 0
        self.cost += cost or 0.0
        self._uncounted |= usage.total_tokens is None
        self._unpriced |= cost is None

    def left(self) -> Limits:
        """Return the limits with what is left of tokens, cost and seconds; 0 where nothing is, None where no limit is.

        What cannot be held, because a use or a price is not known, has nothing left.
        """
        limits = self._limits
        tokens = None if limits.tokens is None else 0 if self._uncounted else max(0, limits.tokens - self.tokens)
        cost = None if limits.cost is None else 0.0 if self._unpriced else max(0.0, limits.cost - self.cost)
        return replace(limits, tokens=tokens, cost=cost, seconds=self.seconds)

    def room(self) -> tuple[Room, str]:
        """Return what is left, and of what there is too little; a person reads that."""
        rooms = [*self._rooms()]
        for wanted in ("none", "one more"):
            for room, reason in rooms:
                if room == wanted:
                    return room, reason
        return "enough", ""

    def _rooms(self) -> Iterator[tuple[Room, str]]:
        limits, (tokens, cost, seconds) = self._limits, self._last
        if limits.tokens is not None and self._uncounted:
            yield "none", "the limit of tokens cannot be held: what a run that was started used is not known"
        elif limits.tokens is not None:
            yield _room(self.tokens, tokens, limits.tokens), f"the limit of {limits.tokens} tokens is reached"
        if limits.cost is not None and self._unpriced:
            yield "none", "the cost limit cannot be held: the price of the model that answered is not known"
        elif limits.cost is not None:
            yield _room(self.cost, cost, limits.cost), f"the cost limit of {limits.cost:g} is reached"
        if limits.seconds is not None:
            yield _room(self.used, seconds, limits.seconds), out_of_time(limits.seconds)


def out_of_time(seconds: float) -> str:
    """Return why a run ended that took too long."""
    return f"the time limit of {seconds:g} s is reached"


def _room(used: float, last: float, most: float) -> Room:
    if used >= most:
        return "none"
    return "one more" if last and used + 2 * last > most else "enough"
