"""`remit doctor --escape`: attempts to get out of a cell, made on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.waiting import waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit_sandbox.escape.report import Report

HEADINGS = ("kind", "attempt", "control", "with confinement", "stopped by")


def try_to_escape(*, as_json: bool) -> int:
    """Make the quick attempts, print what became of each, and return 1 when something got out or nothing was proved.

    Raises:
        UsageError: this system is no Linux.
    """
    import sys

    if sys.platform != "linux":
        raise UsageError("the attempts are made against Linux", remedy="`remit doctor` shows what holds here")
    from remit_sandbox.escape.report import quick

    screen.warn(
        "trying to get out of cells in every way that is quick; that takes one to two minutes, then rows follow"
    )
    with waiting("trying to get out of cells"):
        report = quick()
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
        _show(report)
    return 0 if report.holds else 1


def _show(report: Report) -> None:
    rows = [(row.kind, row.attempt, row.control, row.confined, row.stopped_by) for row in report.rows]
    screen.say(screen.table(HEADINGS, rows))
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
