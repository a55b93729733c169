"""`remit packs try`: a pack in development, with all that its author needs to see."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.call import EXIT_CODES, make, plain, show
from remit.cli.opening import warn_problems, whole
from remit.cli.waiting import waiting
from remit.errors import ManifestError, PackError, RemitError, UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.packs.installed import PackProblem
    from remit.pipeline.events import PipelineEvent
    from remit.skills import Skill

POLL_SECONDS = 0.5


def try_once(options: argparse.Namespace, settings: Mapping[str, Any]) -> int:
    """List what the pack offers, or make one call."""
    from remit.deployment.try_pack import try_pack

    try:
        with waiting(f"reading the pack in {options.directory}"):
            deployment = try_pack(
                options.directory,
                settings=settings,
                workspace=options.workspace,
                private_net=options.private_net,
            )
    except PackError as error:
        return _broken(error, as_json=options.json)
    except ManifestError as error:
        raise ManifestError(error.message, remedy=_authors_remedy(error.remedy)) from None
    with deployment:
        warn_problems(_for_author(problem) for problem in deployment.problems)
        for note in (*deployment.notes, *_about_workspace(deployment, options.workspace)):
            screen.warn(f"note: {screen.visible(note)}")
        if options.skill is None:
            return _offer(deployment, as_json=options.json)
        return _call(deployment, options)


def _for_author(problem: PackProblem) -> PackProblem:
    return replace(problem, remedy=_authors_remedy(problem.remedy))


def _authors_remedy(remedy: str) -> str:
    """Return a remedy without the advice to ask the author, who is reading it."""
    from remit.packs.manifest import AUTHORS_TURN

    return "" if remedy == AUTHORS_TURN else remedy


def _about_workspace(deployment: Deployment, named: str | None) -> Iterator[str]:
    """Say which folder a call really reads or changes, where it can."""
    if any(skill.cell is not None and skill.cell.workspace for skill in deployment.skills.values()):
        temporary = "the workspace is an empty temporary folder; --workspace DIR takes one of yours"
        yield temporary if named is None else f"the workspace is {deployment.workspace}"


def _broken(error: PackError, *, as_json: bool) -> int:
    """Say why the pack cannot be tried, with the author's own lines when its code failed."""
    if not error.traceback:
        raise error
    if as_json:
        screen.say_json({"status": "failed", "result": None, "reason": error.message, "traceback": error.traceback})
    else:
        screen.warn(screen.visible(error.traceback).rstrip())
        screen.error(error.message)
    return error.exit_code


def watch(options: argparse.Namespace, settings: Mapping[str, Any]) -> int:
    """Try again whenever a file of the pack changes, until Ctrl-C."""
    seen: dict[str, int] = {}
    while True:
        found = stamps(Path(options.directory))
        if found != seen:
            seen = found
            screen.say(screen.styled(f"-- {time.strftime('%H:%M:%S')}", "dim"))
            _try_again(options, settings)
        time.sleep(POLL_SECONDS)


def _try_again(options: argparse.Namespace, settings: Mapping[str, Any]) -> None:
    try:
        try_once(options, settings)
    except RemitError as error:
        screen.error(error.message, error.remedy)


def stamps(folder: Path) -> dict[str, int]:
    """Return every file below `folder` with the time it was changed."""
    files: dict[str, int] = {}
    for path in folder.rglob("*"):
        if "__pycache__" in path.parts or any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        try:
            if path.is_file():
                files[str(path)] = path.stat().st_mtime_ns
        except OSError:
            continue
    return files


def _offer(deployment: Deployment, *, as_json: bool) -> int:
    skills = [skill for skill in deployment.skills.values() if skill.confined]
    if as_json:
        screen.say_json([_facts(skill) for skill in skills])
        return 0 if skills else 1
    for skill in skills:
        impact = f", {', '.join(sorted(skill.impact))}" if skill.impact else ""
        screen.say(screen.styled(f"{skill.full} ({skill.effect}{impact})", "bold"))
        screen.say("  " + screen.visible(skill.description).replace("\n", "\n  "))
        screen.say("  arguments: " + screen.visible(json.dumps(skill.schema.get("properties", {}), ensure_ascii=False)))
    return 0 if skills else 1


def _facts(skill: Skill) -> dict[str, Any]:
    return {
        "skill": skill.full,
        "wire": skill.wire,
        "effect": skill.effect,
        "impact": sorted(skill.impact),
        "description": skill.description,
        "schema": skill.schema,
    }


def _call(deployment: Deployment, options: argparse.Namespace) -> int:
    name = _full_name(deployment, options.skill)
    printed: list[str] = []

    def listen(event: PipelineEvent) -> None:
        if event.kind == "output":
            printed.append(event.text)
        if event.kind in ("output", "progress"):
            for line in event.text.splitlines():
                screen.warn(screen.styled(f"  | {screen.visible(line)}", "dim"))

    result = make(deployment, name, whole(options.arguments), on_event=listen)
    if options.json:
        screen.say_json({**plain(result), "output": "".join(printed), "traceback": result.traceback})
    else:
        if result.traceback:
            screen.warn(screen.visible(result.traceback).rstrip())
        show(result, as_json=False)
        screen.say(screen.styled(f"({result.status}, {result.duration:.3f} s)", "dim"))
    return EXIT_CODES.get(result.status, 1)


def _full_name(deployment: Deployment, written: str) -> str:
    """Return the full name of a skill of the pack that is tried; its pack may be left out."""
    if written in deployment.skills or "." in written or "__" in written:
        return written
    for full, skill in deployment.skills.items():
        if skill.name == written:
            return full
    for problem in map(_for_author, deployment.problems):
        if problem.reason.startswith(f"skill {written}: "):
            reason = problem.reason.removeprefix(f"skill {written}: ")
            raise PackError(f"skill {written} is left out: {reason}", remedy=problem.remedy)
    names = ", ".join(skill.name for skill in deployment.skills.values() if skill.confined)
    raise UsageError(f"the pack has no skill {written!r}; it has: {names or 'none'}")
