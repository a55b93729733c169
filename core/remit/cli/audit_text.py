"""The audit on a terminal: the matrix, what can be reached, who allowed what, what could be withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from remit.cli import screen

if TYPE_CHECKING:
    from remit.deployment.audit import AuditRow
    from remit.deployment.audit_agents import AgentRow
    from remit.deployment.audit_report import Report, SkillUse


def show(report: Report) -> None:
    """Print the report."""
    mode = f" ({report.mode})" if report.mode else ""
    whose = f", agent {report.agent}" if report.agent else ""
    screen.say(screen.visible(f"deployment {report.folder}{mode}{whose}, enforcement {report.enforcement}\n"))
    if not report.rows:
        screen.say("No skill can be called. `remit packs list` shows what is installed.")
        return
    headings = ("skill", "effect", "permission, grant, right", "verdict", "enforced by")
    screen.say(screen.table(headings, [cells(row) for row in report.rows]))
    _show_reach(report)
    _show_agents(report)
    _show_use(report)
    _show_unused(report)
    _show_off(report)


def _show_reach(report: Report) -> None:
    if not report.reach:
        screen.say("\nIt can reach nothing outside itself.")
        return
    rows = [
        (f"{one.key}: {one.what}", _few(one.skills), str(one.calls) if one.calls else "unused") for one in report.reach
    ]
    screen.say()
    screen.say(screen.table(("it can reach", "through", f"calls in {report.days:g} days"), rows))


def _show_agents(report: Report) -> None:
    if not report.agents:
        return
    screen.say()
    screen.say(
        screen.table(("agent", "with", "reaches", "a run may use up"), [agent_cells(one) for one in report.agents])
    )
    screen.next_step("remit audit --agent NAME shows the skills of one")


def agent_cells(row: AgentRow) -> tuple[screen.Cell, ...]:
    """Return one agent as text: who asks it, its skills, what it reaches, its budget."""
    budget = [f"{name.removeprefix('max_')}: {value:g}" for name, value in row.budget.items()]
    return (
        " <- ".join(row.chain),
        _few(row.skills) or ["no skill of a pack"],
        listed(row.right),
        budget or ["what is left above"],
    )


def _few(skills: tuple[str, ...]) -> list[str]:
    return [*skills[:4], *([f"and {len(skills) - 4} more"] if len(skills) > 4 else [])]


def _show_use(report: Report) -> None:
    rows = [(row.skill, *used(report.use[row.skill])) for row in report.rows if row.confined]
    headings = ("skill", f"calls in {report.days:g} days", "last call", "refused", "allowed by", "allowed at")
    screen.say()
    screen.say(screen.table(headings, rows))
    if report.accepted_by:
        when = f" at {report.accepted_at}" if report.accepted_at else ""
        screen.say(screen.visible(f"accepted as it is by {report.accepted_by}{when}"))


def used(use: SkillUse) -> tuple[str, ...]:
    """Return calls, last call, refusals, who allowed it and when, as text."""
    refused = str(use.denied) if use.denied else "-"
    return (str(use.calls or "-"), moment(use.last), refused, use.allowed_by or "-", moment(use.allowed_at))


def moment(time: str) -> str:
    """Return an ISO time to the minute."""
    return time[:16].replace("T", " ") if time else "-"


def _show_unused(report: Report) -> None:
    if not report.unused:
        return
    since = f" (the log begins {moment(report.log_since)})" if report.log_since else " (the log is empty)"
    screen.say(f"\nNot used in {report.days:g} days{since}; what is not needed can be withdrawn:")
    for skill in report.unused:
        screen.say(screen.visible(f"  remit packs disable {skill}"))


def _show_off(report: Report) -> None:
    for off in report.off:
        screen.say(screen.styled(screen.visible(f"\n{off.says()} (by {off.who or 'unknown'})"), "red"))


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
    missing = unheld(row)
    if missing:
        return ["NOT ENFORCED:", *missing]
    return list(dict.fromkeys(by for right, by in row.enforcement.items() if matters(right, row.right)))


def unheld(row: AuditRow) -> list[str]:
    """Return what matters to this skill and nobody enforces on this machine."""
    held = {right: by for right, by in row.enforcement.items() if matters(right, row.right)}
    return sorted(right for right, by in held.items() if by == "not enforced")


def matters(right: str, given: Mapping[str, tuple[str, ...]]) -> bool:
    """Say whether a row of the probe is about a skill with the rights `given`: what it has no right to counts."""
    match right:
        case "network by name":
            return "net" in given
        case "secrets" | "environment":
            return right in given
        case "disk":
            return "fs.write" in given
        case "shared memory of its own":
            return "shm" in given
        case _:
            return not (right.startswith("processes") and "exec" in given)
