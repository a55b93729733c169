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

Rights are shown once where permission, grant and effective right are the same; --json has all three.
A * after an effect: the pack declares it and it cannot be verified.
"""
    add_folder(parser)
    add_json(parser)
    add_read_only(parser)
    parser.set_defaults(action=audit)


def audit(options: argparse.Namespace) -> int:
    """Print a row for each skill that can be called."""
    from remit.deployment.audit import audit_rows
    from remit.pipeline.host_skills import host_skills
    from remit.state.store import State

    with opened(options, quiet=options.json) as deployment, State(deployment.state_folder) as state:
        shown = {**deployment.skills, **host_skills(state)} if deployment.skills else {}
        rows = audit_rows(deployment, skills=shown.values())
        if options.json:
            problems = [asdict(problem) for problem in deployment.problems]
            screen.say_json({"skills": [asdict(row) for row in rows], "problems": problems})
            return 0
        mode = {False: "", True: " (read-only)", "strict": " (read-only, strict)"}[deployment.read_only]
        screen.say(f"deployment {deployment.folder}{mode}, enforcement {deployment.config.defaults.enforcement}\n")
    if not rows:
        screen.say("No skill can be called. `remit packs list` shows what is installed.")
        return 0
    headings = ("skill", "effect", "permission, grant, right", "verdict", "enforced by")
    screen.say(screen.table(headings, [cells(row) for row in rows]))
    return 0


def cells(row: AuditRow) -> tuple[screen.Cell, ...]:
    """Return one row of the matrix as text."""
    return (
        row.skill + (" (dev)" if row.dev else ""),
        [row.effect + ("" if row.verified else "*"), *row.impact],
        rights(row),
        [row.verdict, f"({row.source})", *(f"may vary: rule {rule}" for rule in row.rules)],
        enforcers(row),
    )


def rights(row: AuditRow) -> list[str]:
    """Return what the skill asks for; then what it is given and what it can do, where that is something else."""
    lines = listed(row.permission)
    if row.grant != row.permission:
        lines += ["given:", *listed(row.grant)]
    if row.right != row.grant:
        lines += ["in this mode:", *listed(row.right)]
    return lines


def listed(right: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return a right, one entry a line."""
    return [f"{key}: {value}" for key, values in sorted(right.items()) for value in values] or ["nothing"]


def enforcers(row: AuditRow) -> list[str]:
    """Return who enforces what matters to this skill, and what nobody does."""
    if not row.confined:
        return ["host,", "not confined"]
    held = {right: by for right, by in row.enforcement.items() if matters(right, row.right)}
    missing = sorted(right for right, by in held.items() if by == "not enforced")
    if missing:
        return ["NOT ENFORCED:", *missing]
    return list(dict.fromkeys(held.values()))


def matters(right: str, given: Mapping[str, tuple[str, ...]]) -> bool:
    """Say whether a row of the probe is about a skill with the rights `given`: what it has no right to counts."""
    match right:
        case "network by name":
            return "net" in given
        case "secrets" | "environment":
            return right in given
        case "disk":
            return "fs.write" in given
        case _:
            return not (right.startswith("processes") and "exec" in given)
