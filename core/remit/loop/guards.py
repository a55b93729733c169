"""What ends a run that gets nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from remit.errors import UsageError
from remit.loop.sameness import canonical, nearly, says_nothing
from remit.models.protocol import ToolCall
from remit.values import Result


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a run is ended. All are counts but the three budgets, for which None is no limit.

    Attributes:
        steps: model turns.
        tokens: of all turns, in and out; an estimate counts where an endpoint does not say.
        cost: of all turns, in the currency of the model's price.
        seconds: from the question to the outcome; what is running then is cancelled. Time that a person takes to
            answer counts, too.
        window: last rounds of calls in which the same call is looked for.
        nudge_repeats: the same call this often: the model is told.
        same_results: the same call with the same result this often: the model must answer.
        most_repeats: the same call this often, whatever came back: the model must answer.
        near_repeats: nearly the same call with the same result this often: the model must answer; it is told
            one call before.
        nudge_pairs: two rounds alternating this often: the model is told.
        most_pairs: two rounds alternating this often: the model must answer.
        denials: calls denied in a row: the run stops.
        invalid_rounds: rounds in a row in which no call fitted its skill: the model must answer.
        empty: replies in a row without text or call.
        cut: replies in a row that ended at the output limit before they could be used.
        unreadable: replies in a row whose calls could not be read.
        promises: replies in a row that call nothing, although they say that they will.
        empty_results: rounds in a row in which everything that was read was empty: the model must answer; it is
            told half-way.
        parallel: calls of one round that run at the same time.
    """

    steps: int = 12
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    window: int = 20
    nudge_repeats: int = 2
    same_results: int = 3
    most_repeats: int = 5
    near_repeats: int = 4
    nudge_pairs: int = 3
    most_pairs: int = 4
    denials: int = 3
    invalid_rounds: int = 5
    empty: int = 3
    cut: int = 2
    unreadable: int = 3
    promises: int = 2
    empty_results: int = 6
    parallel: int = 8


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What follows from a round: a note for the model, a reason to let it only answer, or to stop."""

    note: str = ""
    close: str = ""
    stop: str = ""


def chosen_limits(limits: Limits | None, max_steps: int | None, own: Limits) -> Limits:
    """Return the limits of a run.

    Args:
        limits: as given; None for the deployment's own. A budget of the deployment that is smaller than the one given
            holds.
        max_steps: most model turns; counts before what `limits` says.
        own: the deployment's.

    Raises:
        UsageError: there would be no step at all, or a budget of nothing.
    """
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps is {max_steps}, but a run has at least one step")
    if limits is None:
        return replace(own, steps=max_steps or own.steps)
    for name in ("tokens", "cost", "seconds"):
        given = getattr(limits, name)
        if given is not None and not given > 0:
            raise UsageError(f"Limits({name}={given}) leaves nothing for a run", remedy="write more than 0, or None")
    return replace(
        limits,
        steps=max_steps or limits.steps,
        tokens=_smaller(limits.tokens, own.tokens),
        cost=_smaller(limits.cost, own.cost),
        seconds=_smaller(limits.seconds, own.seconds),
    )


N = TypeVar("N", int, float)
K = TypeVar("K", bound=tuple[str, ...])


def _smaller(left: N | None, right: N | None) -> N | None:
    return min((one for one in (left, right) if one is not None), default=None)


def _reads_nothing(_: str) -> bool:
    return False


class Guards:
    """Watches the rounds of one run.

    Args:
        limits: when it is ended.
        reads: says whether a skill, by its full name, only reads: an empty result of another is no bad sign.
    """

    def __init__(self, limits: Limits, *, reads: Callable[[str], bool] = _reads_nothing) -> None:
        self._limits = limits
        self._reads = reads
        self._rounds: deque[tuple[tuple[str, str], ...]] = deque(maxlen=limits.window)
        self._outcomes: deque[tuple[tuple[str, str, str], ...]] = deque(maxlen=limits.window)
        self._near: deque[tuple[tuple[str, str, str], ...]] = deque(maxlen=limits.window)
        self._denied = 0
        self._invalid = 0
        self._nothing = 0
        self._strikes: dict[str, int] = {}

    def round(self, calls: Sequence[ToolCall], results: Sequence[Result]) -> Advice:
        """Take in a round of calls with their results."""
        self._strikes.clear()
        keys = [(call.name, canonical(call.arguments)) for call in calls]
        self._rounds.append(_each_once(keys))
        self._outcomes.append(_each_once((*key, result.text) for key, result in zip(keys, results, strict=False)))
        near = [(call.name, nearly(call.arguments)) for call in calls]
        self._near.append(_each_once((*key, result.text) for key, result in zip(near, results, strict=False)))
        for result in results:
            self._denied = self._denied + 1 if result.status == "denied" else 0
            if self._denied >= self._limits.denials:
                reason = f": {result.reason}" if result.reason else ""
                return Advice(stop=f"{self._denied} calls in a row were denied{reason}")
        invalid = bool(results) and all(result.status == "invalid" for result in results)
        self._invalid = self._invalid + 1 if invalid else 0
        if self._invalid >= self._limits.invalid_rounds:
            return Advice(close=f"{self._invalid} times in a row no call fitted its skill")
        repeats, nothing = self._repeats(), self._empty(results)
        return repeats if repeats.close else nothing if nothing.close else Advice(note=repeats.note or nothing.note)

    def strike(self, kind: str, most: int) -> bool:
        """Count a reply that cannot be used; True when there were `most` of its kind in a row."""
        self._strikes = {kind: self._strikes.get(kind, 0) + 1}
        return self._strikes[kind] >= most

    def _empty(self, results: Sequence[Result]) -> Advice:
        """Judge whether what is read keeps being empty."""
        read = [result for result in results if result.status == "ok" and self._reads(result.skill)]
        if read:
            self._nothing = self._nothing + 1 if all(says_nothing(result.value) for result in read) else 0
        most = self._limits.empty_results
        if read and self._nothing >= most:
            return Advice(close=f"{self._nothing} times in a row everything that was read was empty")
        if read and self._nothing and self._nothing * 2 >= most and (self._nothing - 1) * 2 < most:
            return Advice(
                note=f"{self._nothing} times in a row nothing was found. Try something quite different, or say that it "
                "is not there."
            )
        return Advice()

    def _repeats(self) -> Advice:
        limits = self._limits
        again, name = _most_repeated(self._rounds)
        same, _ = _most_repeated(self._outcomes)
        near, _ = _most_repeated(self._near)
        if again >= limits.most_repeats or same >= limits.same_results:
            return Advice(close=f"the same call of {name} was made {again} times")
        if near > again and near >= limits.near_repeats:
            return Advice(close=f"nearly the same call of {name} was made {near} times, with the same result")
        pairs = self._alternations()
        if pairs >= limits.most_pairs:
            return Advice(close=f"the same two steps alternated {pairs} times")
        if again >= limits.nudge_repeats:
            return Advice(
                note=f"You have called {name} with the same arguments {again} times. Calling it again will not "
                "help: use the result you have, try something else, or answer."
            )
        if near > again and near >= max(2, limits.near_repeats - 1):
            return Advice(
                note=f"You have called {name} with nearly the same arguments {near} times, and the result was the same "
                "each time. Use it, try something quite different, or answer."
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


def _each_once(keys: Iterable[K]) -> tuple[K, ...]:
    """Return what a round has, whatever the order and however often: smaller than a set, and every session has many."""
    return tuple(sorted(set(keys)))


def _most_repeated(rounds: Sequence[tuple[tuple[str, ...], ...]]) -> tuple[int, str]:
    """Return how often what the last round has most came in `rounds`, and the skill."""
    counts = [(sum(key in earlier for earlier in rounds), key[0]) for key in rounds[-1]]
    return max(counts, default=(0, ""))
