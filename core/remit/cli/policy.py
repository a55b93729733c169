"""`remit policy`: check the rules, explain a verdict, test what is expected, compare two deployments."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, add_read_only, opened, piped, read_only, whole
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.policy.cases import Case, Outcome
    from remit.skills import Skill
    from remit.values import Decision


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit policy check
  remit policy explain mail.send '{"to": ["a@acme.example"]}' --said "Write to a@acme.example"
  remit policy test policy-cases.toml
  remit policy diff ../production . --widen
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="policy_action", metavar="action", required=True)
    _configure_check(actions)
    _configure_explain(actions)
    _configure_test(actions)
    _configure_diff(actions)


def _configure_check(actions: Any) -> None:
    checking = add_action(
        actions, "check", "find rules that say nothing, and grants that cannot hold", "remit policy check"
    )
    add_folder(checking)
    add_json(checking)
    checking.set_defaults(action=check, read_only=False)


def _configure_explain(actions: Any) -> None:
    explaining = add_action(
        actions,
        "explain",
        "show the verdict on one call, step by step; nothing runs",
        """
remit policy explain files.write_file '{"path": "notes.txt", "content": "hi"}'
remit policy explain mail.send '{"to": ["a@acme.example"]}' --said "Write to a@acme.example"
""",
    )
    explaining.add_argument("skill", help="the skill, as PACK.SKILL")
    explaining.add_argument("arguments", nargs="?", default="", help="its arguments as JSON; - reads standard input")
    explaining.add_argument("--asked-by", choices=("model", "person", "pack"), default="model", help="who asks for it")
    explaining.add_argument("--unattended", action="store_true", help="as if nobody were there")
    explaining.add_argument(
        "--agent", default="", metavar="NAME", help="as asked by this agent, with the rights that it has"
    )
    explaining.add_argument("--said", action="append", default=[], metavar="TEXT", help="what the user said before")
    explaining.add_argument(
        "--was-read", action="append", default=[], metavar="TEXT", help="an untrusted result read before"
    )
    add_folder(explaining)
    add_json(explaining)
    add_read_only(explaining)
    explaining.set_defaults(action=explain)


def _configure_test(actions: Any) -> None:
    testing = add_action(
        actions,
        "test",
        "check the verdicts on the calls of a file; exit code 1 when one is another",
        "remit policy test policy-cases.toml\nremit policy test cases.jsonl --json",
    )
    testing.add_argument("file", help="[[case]] tables in TOML, or one JSON object a line (.jsonl); see docs/policy.md")
    add_folder(testing)
    add_json(testing)
    testing.set_defaults(action=test, read_only=False)


def _configure_diff(actions: Any) -> None:
    comparing = add_action(
        actions,
        "diff",
        "rank the step from one deployment to another: exit code 0, 4 (widens) or 5 (cannot be ranked)",
        "remit policy diff ../production . --widen",
    )
    comparing.add_argument("old", help="folder of a deployment, or its remit.toml")
    comparing.add_argument("new", help="the same")
    comparing.add_argument("--widen", action="store_true", help="show only what widens or cannot be ranked")
    add_json(comparing)
    comparing.set_defaults(action=diff)


def check(options: argparse.Namespace) -> int:
    """Open the deployment as a run would, and say what of its policy has no effect."""
    from remit.policy.idle import idle_rules

    with opened(options, quiet=True) as deployment:
        findings = [*deployment.notes, *deployment.rules.warnings]
        findings += idle_rules(deployment.config.rules, deployment.rules, deployment.skills)
        problems = [f"pack {problem.pack} is left out: {problem.reason}" for problem in deployment.problems]
        skills, rules = len(deployment.skills), len(deployment.config.rules)
    if options.json:
        screen.say_json({"rules": rules, "skills": skills, "findings": findings, "problems": problems})
    else:
        for line in (*problems, *findings):
            screen.say(screen.visible(line))
        screen.say(f"{rules} rules about {skills} skills: {len(findings) + len(problems) or 'nothing'} to look at")
    return 1 if findings or problems else 0


def explain(options: argparse.Namespace) -> int:
    """Show a verdict with each step that led to it."""
    from remit.delegation.shown import skills_of
    from remit.deployment.audit_agents import above
    from remit.policy.cases import Case, judged
    from remit.state.switches import Switches

    text = piped() if options.arguments == "-" else whole(options.arguments)
    case = Case(
        skill=options.skill,
        arguments=_object(text or "{}"),
        asked_by=options.asked_by,
        interactive=not options.unattended,
        agent=options.agent,
        said=tuple(options.said),
        read=tuple(options.was_read),
        read_only=bool(read_only(options)),
    )
    with opened(options, quiet=options.json) as deployment:
        whose = options.agent if options.agent in deployment.config.agents else ""
        case = case.model_copy(update={"above": above(deployment, whose)})
        skills = skills_of(deployment, whose)
        if case.skill in deployment.skills and case.skill not in skills:
            raise UsageError(
                f"{case.skill} is enabled here, but agent {whose} does not have it",
                remedy=f"remit audit --agent {whose} shows what it has",
            )
        decision = judged(case, skills, deployment.rules, Switches(deployment.state_folder))
        beyond = _beyond(skills[case.skill], case)
    if options.json:
        screen.say_json({**_facts(case, decision), "beyond_rights": beyond})
    else:
        _show(case, decision)
        for name, place in beyond.items():
            screen.say(
                screen.visible(f"  its rights do not hold {name} ({place}): the call would fail whatever is decided")
            )
    return 0


def _beyond(skill: Skill, case: Case) -> dict[str, str]:
    """Return what of the arguments lies outside of what the skill may reach, whatever the verdict is."""
    from remit.pipeline.present import beyond_rights
    from remit.pipeline.resources import resolved

    return beyond_rights(skill, resolved(skill, case.arguments))


def test(options: argparse.Namespace) -> int:
    """Compare expected verdicts with those of this deployment."""
    from remit.policy.cases import outcome, read_cases
    from remit.state.switches import Switches

    cases = read_cases(options.file)
    with opened(options, quiet=options.json) as deployment:
        switches = Switches(deployment.state_folder)
        outcomes = [outcome(case, deployment.skills, deployment.rules, switches) for case in cases]
    wrong = [one for one in outcomes if not one.right]
    if options.json:
        screen.say_json({"cases": len(outcomes), "wrong": [_case_facts(one) for one in wrong]})
    else:
        for one in wrong:
            screen.say(screen.visible(f"{one.case.name}: {one.words}"))
        screen.say(f"{len(outcomes) - len(wrong)} of {len(outcomes)} cases as expected")
    return 1 if wrong else 0


def diff(options: argparse.Namespace) -> int:
    """Rank the step from one deployment to another."""
    from remit.deployment.changes import compare
    from remit.deployment.files import read_files

    old, new = read_files(_folder(options.old)), read_files(_folder(options.new))
    changes = compare(old.config.config, old.lock, new.config.config, new.lock)
    shown = [one for one in changes.changes if not options.widen or one.rank not in ("same", "narrows")]
    if options.json:
        screen.say_json({"rank": changes.rank, "changes": [{"rank": one.rank, "what": one.line} for one in shown]})
    else:
        for one in shown:
            screen.say(screen.visible(f"{one.rank}: {one.line}"))
        screen.say(f"as a whole: {changes.rank}")
    return changes.exit_code if changes.needs_trust else 0


def _folder(path: str) -> str:
    from pathlib import Path

    place = Path(path)
    return str(place.parent if place.name == "remit.toml" else place)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the arguments are no JSON: {error}", remedy='write them as \'{"name": "value"}\'') from error
    if not isinstance(value, dict):
        raise UsageError("the arguments must be one JSON object", remedy='write them as \'{"name": "value"}\'')
    return value


def _facts(case: Case, decision: Decision) -> dict[str, Any]:
    return {
        "skill": case.skill,
        "verdict": decision.verdict,
        "source": decision.source,
        "reason": decision.reason,
        "steps": [
            {"verdict": verdict, "source": source, "reason": reason} for verdict, source, reason in decision.steps
        ],
        "origins": dict(decision.origins),
        "remedy": decision.remedy,
    }


def _case_facts(one: Outcome) -> dict[str, Any]:
    return {"case": one.case.name, "expected": one.case.verdict, "found": one.verdict, "reason": one.reason}


def _show(case: Case, decision: Decision) -> None:
    screen.say(screen.visible(f"{case.skill}: {decision.verdict}"))
    widest = max(len(source) for _, source, _ in decision.steps)
    for verdict, source, reason in decision.steps:
        screen.say(screen.visible(f"  {verdict:9} {source:{widest}}  {reason}"))
    for argument, origin in decision.origins:
        screen.say(screen.visible(f"  {argument} comes from {origin}"))
    if decision.remedy:
        screen.say(screen.next_lines(decision.remedy))
