"""The audit as Markdown, for a pull request or a wiki; what comes from packs is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.audit_text import agent_cells, enforcers, rights, used

if TYPE_CHECKING:
    from remit.deployment.audit_report import Report

_SPECIAL = re.compile(r"([\\`*_\[\]|<>~&])")


def markdown(report: Report) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield "# Permissions of this deployment"
    yield ""
    mode = f", {report.mode}" if report.mode else ""
    yield escaped(f"{report.folder}{mode}, enforcement {report.enforcement}, made {report.made}.")
    if report.accepted_by:
        yield escaped(f"Accepted as it is by {report.accepted_by} {report.accepted_at}".rstrip() + ".")
    yield ""
    yield "## What it can reach"
    yield ""
    reach = [(f"{one.key}: {one.what}", ", ".join(one.skills), str(one.calls)) for one in report.reach]
    yield from _table(("reaches", "through", f"calls in {report.days:g} days"), reach)
    yield "## Skills"
    yield ""
    rows = []
    for row in report.rows:
        impact = f" ({', '.join(row.impact)})" if row.impact else ""
        effect = row.effect + ("" if row.verified else "*") + impact
        verdict = f"{row.verdict} ({row.source})"
        rows.append((row.skill, effect, "; ".join(rights(row)), verdict, " ".join(enforcers(row))))
    yield from _table(("skill", "effect", "permission, grant, right", "verdict", "enforced by"), rows)
    if report.agents:
        yield "## Agents"
        yield ""
        agents = [
            tuple(one if isinstance(one, str) else "; ".join(one) for one in agent_cells(row)) for row in report.agents
        ]
        yield from _table(("agent", "with", "reaches", "a run may use up"), agents)
    yield "## Use, and who allowed it"
    yield ""
    uses = [(row.skill, *used(report.use[row.skill])) for row in report.rows if row.confined]
    yield from _table(("skill", "calls", "last call", "refused", "allowed by", "allowed at"), uses)
    yield from _list("Not used: could be withdrawn", [f"remit packs disable {skill}" for skill in report.unused])
    yield from _list("Left out", map(str, report.problems))
    yield from _list("Switched off", [f"{off.says()} (by {off.who or 'unknown'})" for off in report.off])


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    listed = list(rows)
    if not listed:
        yield "Nothing."
    else:
        yield f"| {' | '.join(headings)} |"
        yield f"| {' | '.join('---' for _ in headings)} |"
        yield from (f"| {' | '.join(escaped(cell) for cell in row)} |" for row in listed)
    yield ""


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield f"## {title}"
        yield ""
        yield from (f"- {escaped(line)}" for line in listed)
        yield ""


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(screen.visible(text).split()))
