"""`remit doctor --escape`: attempts to get out of a cell, made on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.waiting import Waiting, waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit_sandbox.escape.report import Attempted, Report

HEADINGS = ("kind", "attempt", "control", "with confinement", "stopped by")


def try_to_escape(*, as_json: bool) -> int:
    """Make the quick attempts, print what became of each, and return 1 when something got out or nothing was proved.

    Raises:
        UsageError: this system is no Linux.
    """
    if sys.platform != "linux":
        raise UsageError("the attempts are made against Linux", remedy="`remit doctor` shows what holds here")
    from remit_sandbox.escape.attempts import ATTEMPTS
    from remit_sandbox.escape.report import QUICK, quick

    screen.warn(f"{len(QUICK)} quick ways to get out of a cell are tried, in parts; that takes one to two minutes")
    with waiting("trying to get out of cells") as sign:
        rows = _Rows(sign, as_json=as_json, names=[(ATTEMPTS[name].kind, name) for name in QUICK])
        report = quick(on_rows=rows.made)
    if as_json:
        screen.say_json(
            {
                "holds": report.holds,
                "why_no_control": report.why,
                "seconds": round(report.seconds, 1),
                "rows": [asdict(row) for row in report.rows],
            }
        )
    else:
        _sum_up(report)
    return 0 if report.holds else 1


class _Rows:
    """Prints rows as they come, in columns as wide as any of them can be; with JSON it only says how far it is."""

    def __init__(self, sign: Waiting, *, as_json: bool, names: Sequence[tuple[str, str]]) -> None:
        self._sign, self._as_json, self._all, self._headed = sign, as_json, len(names), False
        widest = [max(map(len, column)) for column in zip(*names, strict=True)]
        self._widths = [max(len(head), size) for head, size in zip(HEADINGS, [*widest, 0, 0, 0], strict=True)]

    def made(self, rows: Sequence[Attempted], tried: int) -> None:
        """Tell of some attempts, and how many were tried."""
        self._sign.stop()
        if not self._as_json:
            self._print(rows)
        if tried < self._all:
            self._tell_how_far(tried)

    def _print(self, rows: Sequence[Attempted]) -> None:
        if not self._headed:
            self._headed = True
            screen.say(screen.styled(self._line(HEADINGS), "bold"))
        for row in rows:
            screen.say(self._line((row.kind, row.attempt, row.control, row.confined, row.stopped_by)))
        sys.stdout.flush()

    def _tell_how_far(self, tried: int) -> None:
        if not screen.is_terminal(sys.stderr) or not screen.is_terminal(sys.stdout):
            screen.warn(f"{tried} of {self._all} tried")
        self._sign.start(f"trying to get out of cells, {tried} of {self._all} tried")

    def _line(self, cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(size) for cell, size in zip(cells, self._widths, strict=True)).rstrip()


def _sum_up(report: Report) -> None:
    rows = report.rows
    proved = sum(row.control == "works" and row.confined == "stopped" for row in report.rows)
    out = [row.attempt for row in report.rows if row.confined in ("got out", "broke")]
    screen.say(
        f"\n{len(rows)} attempts, in cells of every isolation and with Landlock 1 to 7 ({report.seconds:.0f} s)."
    )
    screen.say(f"{proved} of them work without confinement and are stopped by it.")
    silent = [row.attempt for row in report.rows if row.control == "fails"]
    if silent:
        screen.say(f"Prove nothing here, as they fail without confinement, too: {', '.join(silent)}.")
    if report.why:
        screen.say(f"No control could be run where it harms nothing ({report.why}), so nothing is proved.")
    if out:
        screen.say(screen.styled(f"GOT OUT, or could not be judged: {', '.join(out)}.", "red"))
        screen.say("Please report it as SECURITY.md says, with the output of `remit doctor --escape --json`.")
