"""The audit as one page that needs nothing else: no script, no font, no request; readable in light and dark.

Every text is escaped, and a content security policy in the page forbids whatever could be smuggled in all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from remit.cli.audit_text import agent_cells, enforcers, listed, moment, unheld
from remit.cli.page import bare, codes, head, table, tag, text

if TYPE_CHECKING:
    from remit.deployment.audit import AuditRow
    from remit.deployment.audit_report import Report

_WORDS = {
    "exec": "runs the program",
    "fs.write": "changes",
    "net": "connects to",
    "secrets": "is given the secret",
    "fs.read": "reads",
    "env": "sees the variable",
    "shm": "uses shared memory",
}

_EFFECTS = {"read": "good", "write": "warn", "external": "bad"}
_VERDICTS = {"allow": "bad", "ask": "good", "ask-apart": "good", "deny": "good"}


def page(report: Report) -> str:
    """Return the report as a page of HTML."""
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    title = f"Permissions of {report.folder}"
    yield head(title) + "<header>"
    yield "<h1>What this deployment may do</h1>"
    mode = f", {report.mode}" if report.mode else ""
    yield f'<p class="path"><code>{text(report.folder)}</code>{text(mode)}</p>'
    yield f'<p class="soft">{text(_made(report))}</p>'
    yield from _figures(report)
    yield "</header><main>"
    yield from _off(report)
    yield from _reach(report)
    yield from _skills(report)
    yield from _agents(report)
    yield from _use(report)
    yield from _unused(report)
    yield from _problems(report)
    yield "</main></body></html>"


def _made(report: Report) -> str:
    accepted = ""
    if report.accepted_by:
        accepted = f" Accepted as it is by {report.accepted_by} {moment(report.accepted_at)}".rstrip(" -") + "."
    return f"Made {moment(report.made)} UTC. Enforcement: {report.enforcement}.{accepted}"


def _figures(report: Report) -> Iterator[str]:
    loose = sum(bool(unheld(row)) for row in report.rows if row.confined)
    figures = [
        (len(report.rows), "skills can be called"),
        (len(report.reach), "things can be reached"),
        (sum(bool(row.impact) for row in report.rows), "skills with an impact"),
        (len(report.unused), f"unused in {report.days:g} days"),
        (loose, "with rights not enforced here"),
        (len(report.problems), "left out"),
    ]
    yield '<ul class="figures">'
    yield from (f'<li><b>{number}</b><span class="soft">{text(what)}</span></li>' for number, what in figures)
    yield "</ul>"


def _off(report: Report) -> Iterator[str]:
    for off in report.off:
        by = f" (by {off.who})" if off.who else ""
        yield f'<p><span class="tag bad">switched off</span> {text(off.says() + by)}</p>'


def _reach(report: Report) -> Iterator[str]:
    yield "<h2>What it can reach, and through which skill</h2>"
    rows = [
        (
            text(_WORDS[one.key]),
            f"<code>{text(one.what)}</code>",
            bare(f"<code>{text(skill)}</code>" for skill in one.skills),
            str(one.calls) if one.calls else '<span class="tag warn">unused</span>',
        )
        for one in report.reach
    ]
    yield from table(("it", "what", "through", f"calls in {report.days:g} days"), rows, none="Nothing outside itself.")


def _skills(report: Report) -> Iterator[str]:
    yield "<h2>Skills</h2>"
    rows = [
        (
            f"<code>{text(row.skill)}</code>" + (' <span class="tag warn">dev</span>' if row.dev else ""),
            _effect(row),
            _rights(row),
            f"{tag(row.verdict, _VERDICTS[row.verdict] if row.effect != 'read' else '')}<br>"
            f'<span class="soft">{text(row.source)}</span>'
            + "".join(f'<br><span class="soft">may vary: rule {text(rule)}</span>' for rule in row.rules),
            bare(map(text, enforcers(row))),
        )
        for row in report.rows
    ]
    yield from table(("skill", "effect", "rights", "verdict", "enforced by"), rows, none="No skill can be called.")
    if any(not row.verified for row in report.rows):
        yield '<p class="soft">* the pack declares it, and it cannot be verified.</p>'


def _agents(report: Report) -> Iterator[str]:
    if not report.agents:
        return
    yield "<h2>Agents that can be asked</h2>"
    cells = (agent_cells(row) for row in report.agents)
    rows = [[bare(map(text, [one] if isinstance(one, str) else one)) for one in row] for row in cells]
    yield from table(("agent", "with", "reaches", "a run may use up"), rows, none="None.")


def _effect(row: AuditRow) -> str:
    effect = tag(row.effect + ("" if row.verified else "*"), _EFFECTS[row.effect])
    return " ".join([effect, *(tag(impact, "bad") for impact in row.impact)])


def _rights(row: AuditRow) -> str:
    parts = [codes(listed(row.right))]
    if row.right != row.grant:
        parts.append(f'<span class="soft">given, and withdrawn by the mode:</span>{codes(listed(row.grant))}')
    if row.grant != row.permission:
        parts.append(f'<span class="soft">asked for:</span>{codes(listed(row.permission))}')
    return "".join(parts)


def _use(report: Report) -> Iterator[str]:
    yield "<h2>What was used, and who allowed it</h2>"
    rows = []
    for row in report.rows:
        use = report.use[row.skill]
        if row.confined:
            shown = (str(use.calls), moment(use.last), str(use.denied), use.allowed_by or "-", moment(use.allowed_at))
            rows.append((f"<code>{text(row.skill)}</code>", *map(text, shown)))
    headings = (
        "skill",
        f"calls in {report.days:g} days",
        "last call",
        "refused by its cell",
        "allowed by",
        "allowed at",
    )
    yield from table(headings, rows, none="Nothing.")


def _unused(report: Report) -> Iterator[str]:
    if not report.unused:
        return
    since = f"The log begins {moment(report.log_since)}." if report.log_since else "The log is empty."
    yield "<h2>Never used, and could be withdrawn</h2>"
    yield f'<p class="soft">No call in {report.days:g} days. {text(since)}</p>'
    yield codes(f"remit packs disable {skill}" for skill in report.unused)
    if report.withdrawable:
        reached = (f"{one.key}: {one.entry}" for one in report.withdrawable)
        yield f'<p class="soft">With them goes, as nothing else reaches it:</p>{codes(reached)}'


def _problems(report: Report) -> Iterator[str]:
    if report.problems:
        yield "<h2>Left out</h2><ul class=plain>"
        yield from (f"<li>{text(str(problem))}</li>" for problem in report.problems)
        yield "</ul>"
