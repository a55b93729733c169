"""The quick part of the suite on one machine, told in words: what got out, and what stopped the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from remit_sandbox.escape.arena import run
from remit_sandbox.escape.attempts import ATTEMPTS, Attempt
from remit_sandbox.escape.table import Row, rows_of

LEVELS = tuple(str(level) for level in range(1, 8))
"""Every version of Landlock that there is, made by leaving out newer rights."""

Control = Literal["works", "fails", "not run"]
"""Whether the attempt works without confinement. One that fails proves nothing; `not run` where none could run."""

Confined = Literal["stopped", "got out", "no proof", "broke"]
"""What became of it in cells of every isolation and with every Landlock: the worst of all.

`no proof`: nothing was seen, and as no control worked that says nothing. `broke`: the harness.
"""

QUICK = tuple(name for name, one in ATTEMPTS.items() if one.quick)
"""Names of the attempts that `quick` makes."""

_FIRST, _LATER = 16, 48
"""Attempts that are made together: in the first part, in each further one."""

_OF_LIMITS = ("memory size", "limits", "large file", "many")
_OF_CAPABILITIES = ("privileges", "hostname", "root", "mount", "namespace")


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """One attempt to escape and what became of it.

    Attributes:
        kind: of escape.
        attempt: its name.
        control: see `Control`.
        confined: see `Confined`.
        stopped_by: the layers each of which stops it alone.
        columns: every run of it to what was seen from outside, for whoever wants to look closer.
    """

    kind: str
    attempt: str
    control: Control
    confined: Confined
    stopped_by: str
    columns: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Report:
    """All attempts.

    Attributes:
        rows: one for each attempt.
        why: why no control could be run here, in words; empty when they ran.
        seconds: how long it took.
    """

    rows: tuple[Attempted, ...]
    why: str
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether nothing got out, and something was proved."""
        worst = {row.confined for row in self.rows}
        return "stopped" in worst and not worst & {"got out", "broke"}


def quick(
    *,
    names: Sequence[str] = (),
    levels: Sequence[str] = LEVELS,
    on_rows: Callable[[Sequence[Attempted], int], None] = lambda rows, tried: None,
) -> Report:
    """Make the quick attempts: controls, each layer alone, cells of every isolation, every version of Landlock.

    Takes one to two minutes with all of them. Needs Linux.

    Args:
        names: only these attempts; all when there are none.
        levels: the versions of Landlock to emulate.
        on_rows: is told what became of some attempts as soon as they were made in cells of every kind, and how
            many were tried so far. Where no control can be run, not every attempt gives a row.

    Raises:
        RuntimeError: the harness broke.
    """
    began = time.monotonic()
    rows: list[Attempted] = []
    why, tried = "", 0
    for part in _parts(list(names or QUICK)):
        found = run("quick", *levels, names=part)
        made = list(map(_attempted, rows_of(found)))
        tried += len(part)
        on_rows(made, tried)
        rows += made
        why = why or found["why"]
    return Report(rows=tuple(rows), why=why, seconds=time.monotonic() - began)


def _parts(names: list[str]) -> list[list[str]]:
    """Return a small part, soon done, and larger ones: each of them starts an arena, which takes seconds."""
    rest = names[_FIRST:]
    return [names[:_FIRST], *(rest[start : start + _LATER] for start in range(0, len(rest), _LATER))]


def _attempted(row: Row) -> Attempted:
    attempt = ATTEMPTS[row.name]
    controls: dict[str, Control] = {"works": "works", "not run": "not run"}
    return Attempted(
        kind=row.kind,
        attempt=row.name,
        control=controls.get(row.control, "fails"),
        confined=_confined(row),
        stopped_by=_stopped_by(attempt, row) if row.control == "works" else "",
        columns=row.details,
    )


def _confined(row: Row) -> Confined:
    verdicts = {verdict for column, verdict in row.verdicts.items() if column not in ("control", "Landlock", "seccomp")}
    if "leaks" in verdicts or "works" in verdicts:
        return "got out"
    if "broke" in verdicts or row.control == "broke":
        return "broke"
    return "stopped" if row.control == "works" else "no proof"


def _stopped_by(attempt: Attempt, row: Row) -> str:
    """Capabilities and limits are put on together with Landlock, and what is seen tells them apart."""
    if attempt.net:
        return "broker"
    with_landlock = "Landlock"
    if attempt.sees.startswith(_OF_LIMITS):
        with_landlock = "limits"
    elif attempt.sees.startswith(_OF_CAPABILITIES):
        with_landlock = "capabilities"
    names = {"Landlock": with_landlock, "seccomp": "seccomp"}
    found = [name for layer, name in names.items() if row.verdicts.get(layer) == "stopped"]
    return ", ".join(found) or "process border"
