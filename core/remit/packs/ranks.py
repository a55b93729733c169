"""What a step does to rights: nothing, only less, more, or nobody can say. Named one by one, ranked as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rank = Literal["same", "narrows", "unranked", "widens"]
"""What an edit does to rights: nothing, only less, nobody can say, more."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference, in words."""

    rank: Rank
    line: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What differs between what was accepted and what is there now."""

    changes: tuple[Change, ...] = ()

    @property
    def rank(self) -> Rank:
        """The rank of the whole: `widens` before `unranked` before `narrows` before `same`."""
        ranks = {change.rank for change in self.changes}
        order: tuple[Rank, ...] = ("widens", "unranked", "narrows")
        return next((rank for rank in order if rank in ranks), "same")

    @property
    def needs_trust(self) -> bool:
        """Whether a person has to accept it."""
        return self.rank in ("widens", "unranked")

    @property
    def exit_code(self) -> int:
        """The exit code of a command that these changes stop: 4 widens, 5 cannot be ranked, else 1."""
        return {"widens": 4, "unranked": 5}.get(self.rank, 1)

    def lines(self, *ranks: Rank) -> tuple[str, ...]:
        """The differences of these ranks (all when none is given), in words."""
        return tuple(change.line for change in self.changes if not ranks or change.rank in ranks)


NO_CHANGES = Changes()
"""Nothing differs."""


def change(wider: bool, line: str) -> Change:
    """Return a difference that widens, or else narrows."""
    return Change(rank="widens" if wider else "narrows", line=line)
