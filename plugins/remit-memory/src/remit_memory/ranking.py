"""Several rankings made one, by reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

DAMPING = 60
"""The constant of the paper: how little the first places count more than the next."""


def fused(rankings: Mapping[str, Sequence[int]]) -> list[tuple[int, tuple[str, ...]]]:
    """Return everything that some ranking holds, best first, each with the names of the rankings that hold it."""
    scores: dict[int, float] = {}
    names: dict[int, list[str]] = {}
    for name, ranking in rankings.items():
        for place, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (DAMPING + place)
            names.setdefault(number, []).append(name)
    order = sorted(scores, key=lambda number: (-scores[number], -number))
    return [(number, tuple(names[number])) for number in order]
