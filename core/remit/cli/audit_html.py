"""The audit as one page that needs nothing else: no script, no font, no request; readable in light and dark.

Every text is escaped, and a content security policy in the page forbids whatever could be smuggled in all the same.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.audit_text import enforcers, listed, moment

if TYPE_CHECKING:
    from remit.deployment.audit import AuditRow
    from remit.deployment.audit_report import Report

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --page: #fff; --band: #f6f8fa;
  --bad: #b42318; --badback: #fee4e2; --warn: #7a4d00; --warnback: #fff1cc; --good: #116329; --goodback: #dafbe1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --page: #0d1117;
  --band: #161b22; --bad: #ffa198; --badback: #4b1113; --warn: #f0c674; --warnback: #3b2e0a; --good: #7ee787;
  --goodback: #0f3d1f; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2.25rem 0 .6rem }
p { margin: .3rem 0 } .soft { color: var(--soft) } .path { overflow-wrap: anywhere }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1.25rem 0 0; padding: 0; list-style: none }
.figures li { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem }
.figures b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem; border-top: 1px solid var(--line) }
tr:first-child th { border-top: 0 } thead th { background: var(--band); font-weight: 600; white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums } code { font: 13px/1.5 ui-monospace, monospace;
  overflow-wrap: anywhere }
.tag { display: inline-block; border-radius: 1rem; padding: 0 .55rem; font-size: 13px; white-space: nowrap;
  background: var(--band); border: 1px solid var(--line) }
.bad { color: var(--bad); background: var(--badback); border-color: transparent }
.warn { color: var(--warn); background: var(--warnback); border-color: transparent }
.good { color: var(--good); background: var(--goodback); border-color: transparent }
ul.plain { margin: 0; padding-left: 1.2rem } ul.bare { margin: 0; padding: 0; list-style: none }
@media print { body { max-width: none; padding: 0 } .wide { overflow: visible } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

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
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_text(_POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body><header>"
    yield "<h1>What this deployment may do</h1>"
    mode = f", {report.mode}" if report.mode else ""
    yield f'<p class="path"><code>{_text(report.folder)}</code>{_text(mode)}</p>'
    yield f'<p class="soft">{_text(_made(report))}</p>'
    yield from _figures(report)
    yield "</header><main>"
    yield from _off(report)
    yield from _reach(report)
    yield from _skills(report)
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
    unheld = sum("not enforced" in row.enforcement.values() for row in report.rows if row.confined)
    figures = [
        (len(report.rows), "skills can be called"),
        (len(report.reach), "things can be reached"),
        (sum(bool(row.impact) for row in report.rows), "skills with an impact"),
        (len(report.unused), f"unused in {report.days:g} days"),
        (unheld, "with rights not enforced here"),
        (len(report.problems), "left out"),
    ]
    yield '<ul class="figures">'
    yield from (f'<li><b>{number}</b><span class="soft">{_text(what)}</span></li>' for number, what in figures)
    yield "</ul>"


def _off(report: Report) -> Iterator[str]:
    for off in report.off:
        by = f" (by {off.who})" if off.who else ""
        yield f'<p><span class="tag bad">switched off</span> {_text(off.says() + by)}</p>'


def _reach(report: Report) -> Iterator[str]:
    yield "<h2>What it can reach, and through which skill</h2>"
    rows = [
        (
            _text(_WORDS[one.key]),
            f"<code>{_text(one.what)}</code>",
            _bare(f"<code>{_text(skill)}</code>" for skill in one.skills),
            str(one.calls) if one.calls else '<span class="tag warn">unused</span>',
        )
        for one in report.reach
    ]
    yield from _table(("it", "what", "through", f"calls in {report.days:g} days"), rows, none="Nothing outside itself.")


def _skills(report: Report) -> Iterator[str]:
    yield "<h2>Skills</h2>"
    rows = [
        (
            f"<code>{_text(row.skill)}</code>" + (' <span class="tag warn">dev</span>' if row.dev else ""),
            _effect(row),
            _rights(row),
            f"{_tag(row.verdict, _VERDICTS[row.verdict] if row.effect != 'read' else '')}<br>"
            f'<span class="soft">{_text(row.source)}</span>'
            + "".join(f'<br><span class="soft">may vary: rule {_text(rule)}</span>' for rule in row.rules),
            _bare(map(_text, enforcers(row))),
        )
        for row in report.rows
    ]
    yield from _table(("skill", "effect", "rights", "verdict", "enforced by"), rows, none="No skill can be called.")
    if any(not row.verified for row in report.rows):
        yield '<p class="soft">* the pack declares it, and it cannot be verified.</p>'


def _effect(row: AuditRow) -> str:
    effect = _tag(row.effect + ("" if row.verified else "*"), _EFFECTS[row.effect])
    return " ".join([effect, *(_tag(impact, "bad") for impact in row.impact)])


def _rights(row: AuditRow) -> str:
    parts = [_codes(listed(row.right))]
    if row.right != row.grant:
        parts.append(f'<span class="soft">given, and withdrawn by the mode:</span>{_codes(listed(row.grant))}')
    if row.grant != row.permission:
        parts.append(f'<span class="soft">asked for:</span>{_codes(listed(row.permission))}')
    return "".join(parts)


def _use(report: Report) -> Iterator[str]:
    yield "<h2>What was used, and who allowed it</h2>"
    rows = []
    for row in report.rows:
        use = report.use[row.skill]
        if row.confined:
            shown = (str(use.calls), moment(use.last), str(use.denied), use.allowed_by or "-", moment(use.allowed_at))
            rows.append((f"<code>{_text(row.skill)}</code>", *map(_text, shown)))
    headings = (
        "skill",
        f"calls in {report.days:g} days",
        "last call",
        "refused by its cell",
        "allowed by",
        "allowed at",
    )
    yield from _table(headings, rows, none="Nothing.")


def _unused(report: Report) -> Iterator[str]:
    if not report.unused:
        return
    since = f"The log begins {moment(report.log_since)}." if report.log_since else "The log is empty."
    yield "<h2>Never used, and could be withdrawn</h2>"
    yield f'<p class="soft">No call in {report.days:g} days. {_text(since)}</p>'
    yield _codes(f"remit packs disable {skill}" for skill in report.unused)
    if report.withdrawable:
        reached = (f"{one.key}: {one.entry}" for one in report.withdrawable)
        yield f'<p class="soft">With them goes, as nothing else reaches it:</p>{_codes(reached)}'


def _problems(report: Report) -> Iterator[str]:
    if report.problems:
        yield "<h2>Left out</h2><ul class=plain>"
        yield from (f"<li>{_text(str(problem))}</li>" for problem in report.problems)
        yield "</ul>"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, none: str) -> Iterator[str]:
    """Yield a table of cells that are HTML already; headings are text."""
    shown = list(rows)
    if not shown:
        yield f"<p>{_text(none)}</p>"
        return
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{_text(heading)}</th>' for heading in headings) + "</tr></thead><tbody>"
    for row in shown:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"


def _bare(items: Iterable[str]) -> str:
    return '<ul class="bare">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _codes(lines: Iterable[str]) -> str:
    return _bare(f"<code>{_text(line)}</code>" for line in lines)


def _tag(text: str, kind: str) -> str:
    return f'<span class="tag {kind}">{_text(text)}</span>'


def _text(text: str) -> str:
    """Return text escaped for HTML; what cannot be seen is made visible first."""
    return html.escape(screen.visible(text), quote=True)
