"""`remit audit`: what this deployment can reach, through which skill, who allowed it, and what is not used."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_folder, add_no_extensions, add_read_only, opened
from remit.errors import NotTrusted, UsageError

if TYPE_CHECKING:
    from remit.deployment.audit_report import Report
    from remit.deployment.deployment import Deployment
    from remit.deployment.findings import Finding


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit audit
  remit audit --read-only --json
  remit audit --html audit.html --usage 90
  remit audit --markdown
  remit audit --agent researcher
  remit audit --why weather.get_weather net api.example.com:443
  remit audit --why files.read_file fs.read docs/plan.txt
  remit audit --fail-on widened,unlocked

Rights are shown once where permission, grant and effective right are the same; --json has all three.
A * after an effect: the pack declares it and it cannot be verified.

--fail-on: exit code 1 for widened (an installed pack wants more than its lock, or nobody can say), unlocked (enabled
and not held by the lock), unused (no call in the days of --usage), impact (can be called, and destroys, pays,
publishes, reveals or gives power).
"""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON instead of text")
    form.add_argument("--markdown", action="store_true", help="print Markdown instead of text")
    form.add_argument("--html", metavar="FILE", help="write one page that needs nothing else")
    parser.add_argument("--usage", type=float, default=30.0, metavar="DAYS", help="count calls of so many days (30)")
    parser.add_argument(
        "--why", nargs=3, metavar=("PACK.SKILL", "KEY", "VALUE"), help="explain one cell: net host:443, fs.read PATH"
    )
    parser.add_argument("--agent", default="", metavar="NAME", help="what this agent of [agents] may do")
    parser.add_argument("--fail-on", default="", metavar="KINDS", help="widened, unlocked, unused, impact: exit code 1")
    add_folder(parser)
    add_read_only(parser)
    add_no_extensions(parser)
    parser.set_defaults(action=audit)


def audit(options: argparse.Namespace) -> int:
    """Print the report in the form that was asked for; 1 when `--fail-on` found something."""
    from remit.deployment.findings import checked_kinds, findings

    if not 0 < options.usage <= 36_500:
        raise UsageError("--usage takes a number of days, more than 0")
    kinds = checked_kinds(options.fail_on) if options.fail_on else ()
    try:
        with opened(options, quiet=bool(options.json or kinds)) as deployment:
            if options.why:
                return _why(deployment, options)
            report = _report(deployment, options.usage, options.agent)
            found = findings(deployment, report, kinds)
    except NotTrusted as error:
        if "widened" not in kinds:
            raise
        return _untrusted(error, as_json=options.json)
    _show(report, found, options)
    _show_findings(found, quiet=options.json)
    return 1 if found else 0


def _report(deployment: Deployment, days: float, agent: str) -> Report:
    from remit.delegation.shown import skills_of
    from remit.deployment.audit_report import audit_report
    from remit.loop.remembering import writing_skills
    from remit.loop.showing import Showing
    from remit.pipeline.host_skills import host_skills
    from remit.state.store import State

    with State(deployment.state_folder) as state:
        writing = writing_skills(deployment, state)
        own = {**host_skills(state), **writing} if deployment.skills or writing else {}
        shown = {**skills_of(deployment, agent), **own}
        shown = Showing.of(deployment.config, state).searchable(shown, read_only=deployment.read_only)
        return audit_report(deployment, state, skills=shown.values(), days=days, agent=agent)


def _show(report: Report, found: tuple[Finding, ...], options: argparse.Namespace) -> None:
    if options.json:
        screen.say_json({**as_json(report), "findings": [asdict(one) for one in found]})
    elif options.markdown:
        from remit.cli.audit_markdown import markdown

        screen.say(markdown(report))
    elif options.html:
        from remit.cli.audit_html import page

        try:
            Path(options.html).write_text(page(report), "utf-8")
        except OSError as error:
            raise UsageError(f"{options.html} cannot be written: {error.strerror or error}") from None
        screen.say(screen.visible(f"wrote {options.html}"))
    else:
        from remit.cli.audit_text import show

        show(report)


def as_json(report: Report) -> dict[str, object]:
    """Return the report for JSON: each skill with its use in it."""
    facts = asdict(report)
    rows, use = facts.pop("rows"), facts.pop("use")
    facts["switched_off"] = facts.pop("off")
    return {"skills": [{**row, "use": use[row["skill"]]} for row in rows], **facts}


def _show_findings(found: tuple[Finding, ...], *, quiet: bool) -> None:
    for finding in found if not quiet else ():
        screen.warn(screen.styled(f"{finding.kind}: ", "red") + screen.visible(finding.line))
        screen.next_step(finding.remedy)


def _untrusted(error: NotTrusted, *, as_json: bool) -> int:
    """A deployment that is not accepted as it is has widened, or nobody can say."""
    if as_json:
        screen.say_json({"findings": [{"kind": "widened", "line": error.message, "remedy": error.remedy}]})
    else:
        screen.warn(screen.styled("widened: ", "red") + screen.visible(error.message))
        screen.next_step(error.remedy)
    return 1


def _why(deployment: Deployment, options: argparse.Namespace) -> int:
    """Explain one cell; 0 for yes, 1 for no."""
    from remit.deployment.audit import audit_rows
    from remit.deployment.why import explain

    written, key, value = options.why
    skill = written.replace("__", ".", 1)
    known = deployment.skills.get(skill)
    row = next(iter(audit_rows(deployment, skills=[known])), None) if known else None
    found = explain(deployment, row, skill, key, value)
    if options.json:
        screen.say_json(asdict(found))
        return 0 if found.allowed else 1
    verb = "may" if found.allowed else "may NOT"
    screen.say(screen.styled(screen.visible(f"{found.skill} {verb}: {found.key} {found.value}"), "bold"))
    marks = {True: "yes", False: "NO", None: ""}
    rows = [(step.what, marks[step.allows], step.line, step.where) for step in found.steps]
    screen.say(screen.table(("stage", "", "why", "said in"), rows))
    screen.next_step(found.remedy)
    return 0 if found.allowed else 1
