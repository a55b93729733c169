"""`remit audit`: the permission matrix."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_folder, add_json, add_read_only, opened

if TYPE_CHECKING:
    from remit.deployment.audit import AuditRow


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit audit
  remit audit --read-only --json

A * after an effect: the pack declares it and it cannot be verified.
"""
    add_folder(parser)
    add_json(parser)
    add_read_only(parser)
    parser.set_defaults(action=audit)


def audit(options: argparse.Namespace) -> int:
    """Print a row for each skill that can be called."""
    from remit.deployment.audit import audit_rows

    with opened(options, quiet=options.json) as deployment:
        rows = audit_rows(deployment)
        if options.json:
            problems = [asdict(problem) for problem in deployment.problems]
            screen.say_json({"skills": [asdict(row) for row in rows], "problems": problems})
            return 0
        mode = {False: "", True: " (read-only)", "strict": " (read-only, strict)"}[deployment.read_only]
        screen.say(f"deployment {deployment.folder}{mode}, enforcement {deployment.config.defaults.enforcement}\n")
    if not rows:
        screen.say("No skill can be called. `remit packs list` shows what is installed.")
        return 0
    headings = ("skill", "effect", "impact", "permission", "grant", "effective right", "verdict", "enforced by")
    screen.say(screen.table(headings, [cells(row) for row in rows]))
    return 0


def cells(row: AuditRow) -> tuple[str, ...]:
    """Return one row of the matrix as text."""
    return (
        row.skill + (" (dev)" if row.dev else ""),
        row.effect + ("" if row.verified else "*"),
        ", ".join(row.impact) or "-",
        listed(row.permission),
        listed(row.grant),
        listed(row.right),
        f"{row.verdict} ({row.source})",
        enforcers(row),
    )


def listed(right: Mapping[str, tuple[str, ...]]) -> str:
    """Return a right in one line."""
    return "; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in sorted(right.items())) or "nothing"


def enforcers(row: AuditRow) -> str:
    """Return who enforces the row, and what nobody does."""
    if not row.confined:
        return "host, not confined"
    open_rights = sorted(right for right, by in row.enforcement.items() if by == "not enforced")
    if open_rights:
        return "NOT ENFORCED: " + ", ".join(open_rights)
    return ", ".join(dict.fromkeys(row.enforcement.values()))
