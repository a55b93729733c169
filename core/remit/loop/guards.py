"""What ends a run that gets nowhere."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit.errors import UsageError
from remit.models.protocol import ToolCall
from remit.values import Result


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a run is ended. All are counts.

    Attributes:
        steps: model turns.
        window: last rounds of calls in which the same call is looked for.
        nudge_repeats: the same call this often: the model is told.
        same_results: the same call with the same result this often: the model must answer.
        most_repeats: the same call this often, whatever came back: the model must answer.
        nudge_pairs: two rounds alternating this often: the model is told.
        most_pairs: two rounds alternating this often: the model must answer.
        denials: calls denied in a row: the run stops.
        invalid_rounds: rounds in a row in which no call fitted its skill: the model must answer.
        empty: replies in a row without text or call.
        cut: replies in a row that ended at the output limit before they could be used.
        unreadable: replies in a row whose calls could not be read.
        parallel: calls of one round that run at the same time.
    """

    steps: int = 12
    window: int = 20
    nudge_repeats: int = 2
    same_results: int = 3
    most_repeats: int = 5
    nudge_pairs: int = 3
    most_pairs: int = 4
    denials: int = 3
    invalid_rounds: int = 5
    empty: int = 3
    cut: int = 2
    unreadable: int = 3
    parallel: int = 8


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What follows from a round: a note for the model, a reason to let it only answer, or to stop."""

    note: str = ""
    close: str = ""
    stop: str = ""


def chosen_limits(limits: Limits | None, max_steps: int | None, default_steps: int) -> Limits:
    """Return the limits of a run.

    Args:
        limits: as given; None for the usual ones.
        max_steps: most model turns; counts before what `limits` says.
        default_steps: where neither is given.

    Raises:
        UsageError: there would be no step at all.
    """
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps is {max_steps}, but a run has at least one step")
    if limits is None:
        return Limits(steps=max_steps or default_steps)
    return limits if max_steps is None else replace(limits, steps=max_steps)


class Guards:
    """Watches the rounds of one run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._rounds: deque[frozenset[tuple[str, str]]] = deque(maxlen=limits.window)
        self._outcomes: deque[frozenset[tuple[str, str, str]]] = deque(maxlen=limits.window)
        self._denied = 0
        self._invalid = 0
        self._strikes: dict[str, int] = {}

    def round(self, calls: Sequence[ToolCall], results: Sequence[Result]) -> Advice:
        """Take in a round of calls with their results."""
        self._strikes.clear()
        keys = [(call.name, canonical(call.arguments)) for call in calls]
        self._rounds.append(frozenset(keys))
        self._outcomes.append(frozenset((*key, result.text) for key, result in zip(keys, results, strict=False)))
        for result in results:
            self._denied = self._denied + 1 if result.status == "denied" else 0
            if self._denied >= self._limits.denials:
                reason = f": {result.reason}" if result.reason else ""
                return Advice(stop=f"{self._denied} calls in a row were denied{reason}")
        invalid = bool(results) and all(result.status == "invalid" for result in results)
        self._invalid = self._invalid + 1 if invalid else 0
        if self._invalid >= self._limits.invalid_rounds:
            return Advice(close=f"{self._invalid} times in a row no call fitted its skill")
        return self._repeats()

    def strike(self, kind: str, most: int) -> bool:
        """Count a reply that cannot be used; True when there were `most` of its kind in a row."""
        self._strikes = {kind: self._strikes.get(kind, 0) + 1}
        return self._strikes[kind] >= most

    def _repeats(self) -> Advice:
        limits = self._limits
        again, name = _most_repeated(self._rounds)
        same, _ = _most_repeated(self._outcomes)
        if again >= limits.most_repeats or same >= limits.same_results:
            return Advice(close=f"the same call of {name} was made {again} times")
        pairs = self._alternations()
        if pairs >= limits.most_pairs:
            return Advice(close=f"the same two steps alternated {pairs} times")
        if again >= limits.nudge_repeats:
            return Advice(
                note=f"You have called {name} with the same arguments {again} times. Calling it again will not "
                "help: use the result you have, try something else, or answer."
            )
        if pairs >= limits.nudge_pairs:
            return Advice(
                note="You are going back and forth between the same two steps. Use the results you have, try "
                "something else, or answer."
            )
        return Advice()

    def _alternations(self) -> int:
        """Return how often the last two rounds, if they differ, came in turn."""
        rounds = list(self._rounds)
        pair = rounds[-2:]
        if len(pair) < 2 or pair[0] == pair[1]:
            return 0
        count = 0
        while rounds[-2:] == pair:
            count, rounds = count + 1, rounds[:-2]
        return count


def _most_repeated(rounds: Sequence[frozenset[tuple[str, ...]]]) -> tuple[int, str]:
    """Return how often what the last round has most came in `rounds`, and the skill."""
    counts = [(sum(key in earlier for earlier in rounds), key[0]) for key in sorted(rounds[-1])]
    return max(counts, default=(0, ""))


def canonical(arguments: str) -> str:
    """Return `arguments` so that key order and white space make no difference."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
