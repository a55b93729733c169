"""What was seen, judged: an attempt proves something only where it works without confinement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["works", "stopped", "leaks", "granted", "documented", "vacuous", "broke", "not run", "-"]
"""`works`: in the control, or past one layer. `stopped`: nothing was seen. `leaks`: seen in spite of all.

`granted`: seen, and what this isolation gives. `documented`: seen, and a limit that is documented. `vacuous`:
it fails in the control, too, and proves nothing. `broke`: the harness, which proves nothing either. `not run`:
no control could be run here. `-`: nothing to tell, as the control did not work.
"""

CONTROL = "control"
LAYERS = ("Landlock", "seccomp")
ALONE = (CONTROL, *LAYERS)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One attempt: its verdict in each column, and what lies behind them."""

    name: str
    kind: str
    verdicts: Mapping[str, Verdict]
    details: Mapping[str, Any]

    @property
    def control(self) -> Verdict:
        """What the control came to."""
        return self.verdicts[CONTROL]


def rows_of(found: Mapping[str, Any]) -> list[Row]:
    """The rows of what an arena found."""
    from remit_sandbox.escape.attempts import ATTEMPTS

    return [_row(ATTEMPTS[name], columns) for name, columns in found["found"].items()]


def _row(attempt: Any, columns: Mapping[str, Any]) -> Row:
    control = _control(attempt, columns.get(CONTROL))
    verdicts: dict[str, Verdict] = {CONTROL: control}
    for column, one in columns.items():
        if column != CONTROL:
            verdicts[column] = _verdict(attempt, column, one, control)
    return Row(name=attempt.name, kind=attempt.kind, verdicts=verdicts, details=columns)


def _control(attempt: Any, one: Mapping[str, Any] | None) -> Verdict:
    if one is None:
        return "not run"
    if one["error"].startswith("broke"):
        return "broke"
    return "works" if any(seen.startswith(attempt.sees) for seen in one["seen"]) else "vacuous"


def _verdict(attempt: Any, column: str, one: Mapping[str, Any], control: Verdict) -> Verdict:
    if one["error"].startswith("broke"):
        return "broke"
    seen = set(one["seen"])
    if attempt.documented and seen:
        return "documented" if all(item.startswith(attempt.sees) for item in seen) else "leaks"
    if column in LAYERS:
        hit = any(item.startswith(attempt.sees) for item in seen)
        return "works" if hit else "stopped" if control == "works" else "-"
    if attempt.granted and column.endswith(attempt.granted) and "process" in seen:
        seen -= {"process"}
        if not seen:
            return "granted"
    # Whatever was seen is an escape, also where it is not what the attempt was after.
    return "leaks" if seen else "stopped" if control in ("works", "not run") else "-"


def written(rows: Sequence[Row]) -> str:
    """The table as text."""
    columns = list(dict.fromkeys(column for row in rows for column in row.verdicts))
    lines = [("attempt", "kind", *columns)]
    lines += [(row.name, row.kind, *(row.verdicts.get(column, "") for column in columns)) for row in rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def summary(rows: Sequence[Row], *, why: str = "") -> str:
    """How many of what, in words."""
    works = [row for row in rows if row.control == "works"]
    lines = [
        f"{len(rows)} attempts of {len({row.kind for row in rows})} kinds; {_counted(row.control for row in rows)}"
    ]
    if why:
        lines.append(f"no control could be run in namespaces here ({why}): nothing is proved")
    lines += [
        f"{layer} alone lets {sum(row.verdicts.get(layer) == 'works' for row in works)} of {len(works)} through"
        for layer in LAYERS
    ]
    for column in dict.fromkeys(column for row in rows for column in row.verdicts if column not in ALONE):
        lines.append(f"{column}: {_counted(row.verdicts[column] for row in works if column in row.verdicts)}")
    vacuous = [row.name for row in rows if row.control == "vacuous"]
    lines.append(f"vacuous here, which proves nothing: {', '.join(vacuous) or 'none'}")
    leaks = [f"{row.name} ({column})" for row in rows for column, verdict in row.verdicts.items() if verdict == "leaks"]
    lines.append(f"leaks: {', '.join(leaks) or 'none'}")
    return "\n".join(lines)


def _counted(verdicts: Iterable[str]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).most_common())
