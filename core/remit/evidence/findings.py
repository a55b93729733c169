"""What verification can find, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "edited",
    "deleted",
    "reordered",
    "inserted",
    "truncated",
    "re-chained",
    "forged checkpoint",
    "approval used twice",
    "executed other than approved",
    "run without verdict",
    "payload removed without a record",
    "another log",
]
"""`edited`: a record or its payload is not what was written. `deleted`: records are missing between others.
`reordered`: a record stands in another's place. `inserted`: a record was put in. `truncated`: the end is missing.
`re-chained`: every record fits the one before, and all of them together are not what was signed. `forged
checkpoint`: a signature does not fit its checkpoint. `approval used twice`, `executed other than approved`, `run
without verdict`: the records are whole, and what they tell should not have happened. `payload removed without a
record`: no `log.erased` or `log.pruned` accounts for it. `another log`: an anchor of another log, or this one was begun
anew."""

MOST = 20
"""Findings that are kept; the first bad record is always among them."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        seq: number of the first bad record.
        kind: see `Kind`.
        text: what is wrong with it, one sentence without a final point.
    """

    seq: int
    kind: Kind
    text: str


@dataclass(kw_only=True)
class Findings:
    """Findings in the order in which they come; only the first ones are kept."""

    kept: list[Finding] = field(default_factory=list)
    count: int = 0

    def add(self, seq: int, kind: Kind, text: str) -> None:
        """Keep a finding, or count it."""
        self.count += 1
        if len(self.kept) < MOST or seq < min(finding.seq for finding in self.kept):
            self.kept.append(Finding(seq=seq, kind=kind, text=text))

    @property
    def first(self) -> Finding | None:
        """The finding with the lowest number; of several with the same number the one found first."""
        return min(self.kept, key=lambda finding: finding.seq, default=None)
