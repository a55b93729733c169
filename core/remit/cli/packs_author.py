"""`remit packs new|check|schema`: what authors of packs use."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_json, warn_problems
from remit.cli.parsing import checked_dialect
from remit.cli.waiting import waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.authoring.findings import Report
    from remit.skills import Skill

_SOURCE = "folder of the pack's project, a wheel, or the name of an installed pack"


def configure(actions: Any) -> None:
    """Add the actions to `remit packs`."""
    _configure_new(actions)
    _configure_check(actions)
    _configure_schema(actions)


def _configure_new(actions: Any) -> None:
    making = add_action(actions, "new", "write a new pack: complete, installable, with tests", "remit packs new tide")
    making.add_argument("name", help="the pack's name: lower-case letters, digits, single _ between")
    making.add_argument("--dir", default=".", metavar="DIR", help="where its folder remit-NAME is made (default: here)")
    add_json(making)
    making.set_defaults(action=new)


def _configure_check(actions: Any) -> None:
    checking = add_action(
        actions,
        "check",
        "check that a pack keeps to its manifest and that a model can use it",
        """
remit packs check ./remit-tide
remit packs check dist/remit_tide-0.1.0-py3-none-any.whl --strict
remit packs check tide --json
""",
    )
    checking.add_argument("source", help=_SOURCE)
    checking.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting")
    checking.add_argument(
        "--workspace",
        metavar="DIR",
        help="a folder whose copy is the workspace of the examples (default: tests/workspace of the project;"
        " a wheel has none)",
    )
    checking.add_argument("--no-examples", action="store_true", help="do not run the examples of the manifest")
    checking.add_argument("--strict", action="store_true", help="warnings fail, too")
    add_json(checking)
    checking.epilog = f"{checking.epilog}\nexit codes: 0 nothing wrong, 1 errors (with --strict: or warnings)\n"
    checking.set_defaults(action=check)


def _configure_schema(actions: Any) -> None:
    showing = add_action(
        actions,
        "schema",
        "print exactly what a model will see of a pack",
        "remit packs schema ./remit-tide\nremit packs schema calc evaluate --dialect tagged",
    )
    showing.add_argument("source", help=_SOURCE)
    showing.add_argument("skill", nargs="?", help="only this skill")
    showing.add_argument(
        "--dialect", default="native", help="native: the tools of a request; or how a model without them is told"
    )
    add_json(showing)
    showing.set_defaults(action=schema)


def new(options: argparse.Namespace) -> int:
    """Write a new pack, and say what to do next."""
    from remit.authoring.new import new_pack

    project, files = new_pack(options.name, Path(options.dir))
    if options.json:
        screen.say_json({"project": str(project), "files": list(files)})
        return 0
    screen.say(f"made {project}")
    for path in files:
        screen.say(f"  {path}")
    screen.next_step(f"remit packs try {project}")
    return 0


def check(options: argparse.Namespace) -> int:
    """Run the conformance kit, print what it found."""
    from remit.authoring.check import check_pack
    from remit.cli.wishes import values

    with waiting(f"checking {options.source}"):
        report = check_pack(
            options.source,
            settings=values(options.set),
            workspace=options.workspace,
            examples=not options.no_examples,
        )
    if options.json:
        screen.say_json(report.plain())
    else:
        _show(report)
    return 1 if report.errors or (options.strict and report.findings) else 0


def _show(report: Report) -> None:
    for finding in report.findings:
        text = screen.visible(str(finding))
        screen.say(screen.styled(text, "red" if finding.level == "error" else "yellow"))
    for note in report.notes:
        screen.say(f"note: {screen.visible(note)}")
    errors, all_of_them = len(report.errors), len(report.findings)
    screen.say(
        f"{screen.visible(report.pack) or 'no pack'}: {screen.counted(len(report.skills), 'skill')}, "
        f"{screen.counted(report.examples, 'example')} run, "
        f"{screen.counted(errors, 'error')}, {screen.counted(all_of_them - errors, 'warning')}"
    )


def schema(options: argparse.Namespace) -> int:
    """Print the tools of a request, or the text that a model without function calling reads."""
    dialect = checked_dialect(options.dialect) or "native"
    skills = _skills(options.source, options.skill)
    if dialect != "native":
        text = _told(skills, dialect)
        if options.json:
            screen.say_json({"dialect": dialect, "text": text})
        else:
            screen.say(screen.visible(text))
        return 0
    tools = _tools(skills)
    if options.json:
        screen.say_json(tools)
    else:
        import json

        screen.say(screen.visible(json.dumps(tools, indent=2, ensure_ascii=False)))
    return 0


def _skills(source: str, name: str | None) -> Mapping[str, Skill]:
    """Return full names to the skills of a pack, derived in a cell without rights."""
    from remit.authoring.subject import subject
    from remit.deployment.try_pack import try_pack

    with subject(source) as found, waiting(f"reading the pack in {source}"):
        placeholders = _placeholders(found.pack.manifest)
        with try_pack(found.pack, secrets=placeholders) as deployment:
            warn_problems(deployment.problems)
            skills = {full: skill for full, skill in deployment.skills.items() if skill.confined}
    if name is None:
        return skills
    chosen = {full: skill for full, skill in skills.items() if name in (skill.name, skill.full, skill.wire)}
    if not chosen:
        known = ", ".join(skill.name for skill in skills.values())
        raise UsageError(f"the pack has no skill {name!r}; it has: {known or 'none'}")
    return chosen


def _placeholders(manifest: Path) -> dict[str, str]:
    """A skill whose secret is not bound would be left out, and no handler runs here."""
    from remit.packs.manifest import read_manifest

    return dict.fromkeys(read_manifest(manifest).permission().secrets, "placeholder")


def _tools(skills: Mapping[str, Skill]) -> Any:
    import json

    from remit.loop.native import NativeInterpreter
    from remit.models.protocol import tool_wire

    return json.loads(tool_wire(NativeInterpreter(skills).request([]).tools))


def _told(skills: Mapping[str, Skill], dialect: str) -> str:
    from remit.loop.in_text import TextInterpreter

    request = TextInterpreter(skills, dialect=dialect).request([])
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
