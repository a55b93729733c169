"""`remit learn`: run a skill under observation and propose the smallest permission table that lets it pass."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_folder, add_json, agreed, opened, whole
from remit.cli.waiting import waiting
from remit.errors import PackError, UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.deployment.learn import Learned, Subject
    from remit.skills import Skill

WARNING = """\
{skill} will run with far more rights than it has, so that what it needs can be seen. While it is observed it may
  read every file that you can read,
  connect to every public host{private},
  run every program,
  write below {folders}.
What it does is real, and it runs two to four times. Do this with code that you trust as your own."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit learn greet.hello '{"name": "Ada"}' --pack ./remit-greet
  remit learn greet.hello '{"name": "Ada"}' --pack ./remit-greet --yes --write
  remit learn weather.get_weather '{"city": "Oslo"}' --json

What is seen is seen at Python level: files, programs and variables through Python's own audit events, hosts
through the network broker. What native code and started programs open goes unseen. Then the skill runs again
with exactly the proposed table, which is the proof. Nothing is written unless --write says so.
exit codes: 0 it passed with the proposed table, 1 it did not, or nobody agreed, 2 wrong usage
"""
    parser.add_argument("skill", help="the skill, as PACK.SKILL")
    parser.add_argument("arguments", nargs="?", default="{}", help="its arguments as JSON")
    parser.add_argument("--pack", metavar="DIR", help="a pack in development, by its project folder")
    add_folder(parser)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting (--pack)")
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        help="a folder that it reads and changes (--pack; default: a temporary one)",
    )
    parser.add_argument("--private-net", action="store_true", help="private addresses may be reached, too")
    parser.add_argument(
        "--also-write", action="append", default=[], metavar="DIR", help="it may write below this folder as well"
    )
    parser.add_argument("--yes", action="store_true", help="agree to the warning")
    parser.add_argument("--write", action="store_true", help="add what was learned to the pack.toml of --pack")
    add_json(parser)
    parser.set_defaults(action=learn, read_only=False)


def learn(options: argparse.Namespace) -> int:
    """Warn, observe, propose, verify; return 0 when the skill passed with exactly the proposed table."""
    if options.write and not options.pack:
        raise UsageError(
            "--write changes the pack.toml of a pack in development",
            remedy="name its folder with --pack, or copy what is printed",
        )
    with _deployment(options) as deployment:
        subject = _subject(deployment, options)
        screen.warn(_warning(subject))
        if not agreed("Run it?", yes=options.yes):
            screen.warn("nothing was run")
            return 1
        learned = _learned(deployment, subject)
    written = ""
    if options.write and learned.passed:
        from remit.deployment.manifest_edit import add_to_manifest

        written = str(add_to_manifest(Path(options.pack), subject.skill.name, learned.needs.table))
    _show_json(subject, learned, written) if options.json else _show(subject, learned, written)
    return 0 if learned.passed else 1


@contextmanager
def _deployment(options: argparse.Namespace) -> Iterator[Deployment]:
    if not options.pack:
        with opened(options, quiet=options.json) as deployment:
            yield deployment
        return
    from remit.cli.wishes import values
    from remit.deployment.try_pack import try_pack

    with waiting(f"reading the pack in {options.pack}"):
        found = try_pack(
            options.pack,
            settings=values(options.set),
            workspace=options.workspace,
            private_net=options.private_net,
        )
    with found as deployment:
        yield deployment


def _subject(deployment: Deployment, options: argparse.Namespace) -> Subject:
    from remit.deployment.learn import Subject
    from remit.state.switches import Switches
    from remit.state_folder import StateFolder, data_folder

    skill = _skill(deployment, options.skill)
    off = Switches(deployment.state_folder).off(skill.pack, skill.name)
    if off is not None:
        raise PackError(off.says(), remedy=off.undo())
    state = StateFolder(id=deployment.id, path=deployment.state_folder)
    data = data_folder(state, skill.pack, deployment.principal)
    return Subject(
        skill=skill,
        arguments=_fitting(skill, whole(options.arguments)),
        anchors={"workspace": deployment.workspace, "data": Path(data).resolve()},
        write=tuple(options.also_write),
        private_net=options.private_net,
    )


def _fitting(skill: Skill, text: str) -> bytes:
    """Return arguments that fit the skill, before anybody is asked whether it may run. Raises UsageError."""
    from remit.packs.arguments import Rejected
    from remit.pipeline.validate import arguments_of

    checked = arguments_of(skill.schema).check(text)
    if isinstance(checked, Rejected):
        raise UsageError(screen.visible(checked.message), remedy=f"remit learn {skill.full} '{{...}}'")
    return checked.json


def _skill(deployment: Deployment, written: str) -> Skill:
    for skill in deployment.skills.values():
        if skill.confined and written in (skill.full, skill.wire, skill.name):
            return skill
    for problem in deployment.problems:
        if problem.reason.startswith(f"skill {written.rpartition('.')[2]}:"):
            raise PackError(f"pack {problem.pack}: {problem.reason}", remedy=problem.remedy)
    names = ", ".join(skill.full for skill in deployment.skills.values() if skill.confined)
    raise UsageError(f"there is no skill {written!r} to observe; there are: {names or 'none'}")


def _warning(subject: Subject) -> str:
    folders = [*map(str, subject.anchors.values()), *subject.write]
    private = " and private address" if subject.private_net else ""
    text = WARNING.format(skill=subject.skill.full, private=private, folders=", ".join(folders))
    return screen.visible(text)


def _learned(deployment: Deployment, subject: Subject) -> Learned:
    from remit.deployment.learn import learn
    from remit.state.store import State

    with State(deployment.state_folder) as state, waiting(screen.visible(subject.skill.full)) as sign:
        state.append("pack.observed", session="", body={"skill": subject.skill.full, "person": deployment.principal})
        return learn(subject, deployment.sandbox, lambda line: sign.start(line))


def _show(subject: Subject, learned: Learned, written: str) -> None:
    from remit.deployment.manifest_edit import as_toml

    if learned.observed.kind != "result":
        screen.warn(screen.visible(learned.observed.traceback).rstrip())
        screen.error(
            f"{subject.skill.full} did not get through the observed run: {learned.observed.error}",
            _way_through(subject, learned),
        )
        screen.say("# seen up to there:")
    screen.say(screen.visible(as_toml(subject.skill.name, learned.needs.table)))
    for note in learned.needs.notes:
        screen.warn(f"note: {screen.visible(note)}")
    if learned.passed:
        screen.warn(f"It passed with exactly this table ({learned.runs} runs in all).")
        screen.warn(f"Written to {written}." if written else "Nothing was written.")
    elif learned.verified is not None:
        screen.error(
            f"with this table it did not pass: {learned.verified.error or learned.verified.kind}",
            "add by hand what native code or a started program needs, and try it with `remit packs try`",
        )


def _way_through(subject: Subject, learned: Learned) -> str:
    """Return the option that opens what the observed run was refused; empty where none does."""
    said = f"{learned.observed.error}\n{learned.observed.traceback}"
    refused = "no public address" in said and not subject.private_net
    return "where it may reach private addresses such as 127.0.0.1, add --private-net" if refused else ""


def _show_json(subject: Subject, learned: Learned, written: str) -> None:
    from remit.deployment.manifest_edit import as_toml

    def ended(reply: Any) -> Any:
        return None if reply is None else {"kind": reply.kind, "error": reply.error}

    screen.say_json(
        {
            "skill": subject.skill.full,
            "passed": learned.passed,
            "permissions": {key: list(entries) for key, entries in learned.needs.table.items()},
            "toml": as_toml(subject.skill.name, learned.needs.table),
            "notes": list(learned.needs.notes),
            "observed": ended(learned.observed),
            "verified": ended(learned.verified),
            "runs": learned.runs,
            "written": written or None,
        }
    )
