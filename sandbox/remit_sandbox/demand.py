"""Which cells are worth starting before anybody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from remit_sandbox.values import CellSpec

REPEATED = 2
"""What has been asked for so often within `Retirement.idle` seconds will be asked for again."""

_MOST_SPECS = 256
_MOST_HANDLERS = 4


@dataclass
class _Asked:
    spec: CellSpec
    times: int = 0
    last: float = 0.0
    handlers: list[str] = field(default_factory=list)


class Demand:
    """Counts how often a spec found no cell of its session.

    Args:
        spares: how many cells to have ready for a spec of single use; one is enough for others.
        memory: seconds after which a spec that nobody asks for is forgotten.
    """

    def __init__(self, spares: int, memory: float) -> None:
        self._spares = spares
        self._memory = memory
        self._asked: list[_Asked] = []

    def note(self, spec: CellSpec, now: float, times: int = 1) -> None:
        """Somebody asked for a cell of this spec that its session did not have."""
        asked = self._of(spec) or self._new(spec)
        asked.times = times if now - asked.last > self._memory else asked.times + times
        asked.last = now

    def learn(self, spec: CellSpec, handler: str) -> None:
        """A cell of this spec has run this handler, so that the next will, too."""
        asked = self._of(spec)
        if asked is not None and handler and handler not in asked.handlers:
            asked.handlers = [handler, *asked.handlers][:_MOST_HANDLERS]

    def handlers(self, spec: CellSpec) -> Sequence[str]:
        """The handlers that cells of this spec have run lately."""
        asked = self._of(spec)
        return tuple(asked.handlers) if asked is not None else ()

    def forget(self, spec: CellSpec) -> None:
        """Prepare no more of them: one could not be started."""
        self._asked = [asked for asked in self._asked if asked.spec != spec]

    def wanted(self, now: float) -> Iterator[tuple[CellSpec, int]]:
        """Each spec with the number of spares it deserves, the latest asked for first."""
        for asked in sorted(self._asked, key=lambda one: -one.last):
            if asked.times >= REPEATED and now - asked.last <= self._memory:
                yield asked.spec, self._spares if asked.spec.single_use else min(1, self._spares)

    def _of(self, spec: CellSpec) -> _Asked | None:
        return next((asked for asked in self._asked if asked.spec is spec or asked.spec == spec), None)

    def _new(self, spec: CellSpec) -> _Asked:
        if len(self._asked) >= _MOST_SPECS:
            self._asked.remove(min(self._asked, key=lambda one: one.last))
        asked = _Asked(spec=spec)
        self._asked.append(asked)
        return asked
