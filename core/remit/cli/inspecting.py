"""`remit packs inspect`: what a pack wants and would install, read without running or installing anything of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json

if TYPE_CHECKING:
    from remit.deployment.subject import Subject
    from remit.packs.manifest import Manifest

_SHOWN = 12


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "inspect",
        "read a wheel, a project or an installed pack, and say what it wants; nothing of it runs",
        """
remit packs inspect weather
remit packs inspect ./remit_weather-0.1.0-py3-none-any.whl
remit packs inspect ./remit-greet --json
""",
    )
    parser.add_argument("thing", metavar="NAME|WHEEL|DIR", help="an installed pack, a wheel file or a project's folder")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=inspect)


def inspect(options: argparse.Namespace) -> int:
    """Print what it is; 1 when it must not be used."""
    from remit.deployment.subject import look_at

    subject = look_at(options.thing)
    if options.json:
        screen.say_json(facts(subject))
    else:
        for line in lines(subject):
            screen.say(screen.visible(line))
        for note in subject.notes:
            screen.say(screen.styled(f"note: {screen.visible(note)}", "yellow"))
        for problem in subject.problems:
            screen.warn(screen.styled("refused: ", "red") + screen.visible(problem.reason))
            screen.next_step(problem.remedy)
        if not subject.problems and not subject.pack:
            screen.say("It is a library, and no pack.")
    return 1 if subject.problems else 0


def lines(subject: Subject) -> Iterator[str]:
    """Say what it is, what it wants and what it brings along."""
    from remit.packs.words import explain_in_words

    yield subject.title + (f": {subject.summary}" if subject.summary else "")
    yield f"distribution {subject.distribution} {subject.version}"
    if subject.wheel is not None:
        yield f"wheel of {subject.wheel.size} bytes, sha256:{subject.wheel.sha256}"
    if subject.manifest is not None:
        yield "the pack as a whole asks for:"
        yield from (f"  {line}" for line in explain_in_words(subject.manifest.permission()))
        for name in subject.manifest.skills:
            yield f"skill {subject.pack}.{name}:"
            yield from (f"  {line}" for line in _skill(subject.manifest, name))
        if subject.manifest.settings:
            yield "settings:"
            yield from (f"  {name} = {value!r}" for name, value in subject.manifest.settings.items())
    extras = [one for one in subject.requires if "extra" in one.partition(";")[2]]
    always = [one for one in subject.requires if one not in extras]
    if always:
        yield f"depends on: {', '.join(always)}"
    elif subject.kind != "folder":
        yield "depends on nothing else"
    if extras:
        yield f"only with an extra, which is never installed unasked: {', '.join(extras)}"
    if subject.wheel is not None:
        yield f"would install {len(subject.wheel.files)} files: {', '.join(_files(subject))}"


def _skill(manifest: Manifest, name: str) -> Iterator[str]:
    from remit.packs.words import explain_skill

    table = manifest.skills[name]
    yield from explain_skill(manifest, name)
    yield f"uses {', '.join(table.uses) or 'no right'}; at most {table.timeout:g} s"


def _files(subject: Subject) -> list[str]:
    assert subject.wheel is not None
    targets = [file.target for file in subject.wheel.files.values()]
    rest = len(targets) - _SHOWN
    return targets[:_SHOWN] + ([f"... and {rest} more"] if rest > 0 else [])


def facts(subject: Subject) -> dict[str, Any]:
    """Return everything as JSON has it."""
    from dataclasses import asdict

    manifest, wheel = subject.manifest, subject.wheel
    found: dict[str, Any] = {
        "kind": subject.kind,
        "where": str(subject.where),
        "pack": subject.pack,
        "distribution": subject.distribution,
        "version": subject.version,
        "summary": subject.summary,
        "package": subject.package,
        "requires": subject.requires,
        "notes": subject.notes,
        "problems": [asdict(problem) for problem in subject.problems],
        "permission": manifest.permission().words() if manifest else None,
        "settings": dict(manifest.settings) if manifest else None,
        "skills": {name: _skill_facts(manifest, name) for name in manifest.skills} if manifest else {},
    }
    if wheel is not None:
        found["wheel"] = {"sha256": wheel.sha256, "size": wheel.size, "tags": wheel.tags, "groups": wheel.groups}
        found["files"] = [asdict(file) for file in wheel.files.values()]
    return found


def _skill_facts(manifest: Manifest, name: str) -> dict[str, Any]:
    from remit.packs.permissions import effective_effect

    table, permission = manifest.skills[name], manifest.skill_permission(name)
    return {
        "declared_effect": table.effect,
        "effect": effective_effect(table.effect, permission),
        "impact": table.impact,
        "uses": table.uses,
        "permission": permission.words(),
        "timeout": table.timeout,
        "may": list(_skill(manifest, name)),
    }
