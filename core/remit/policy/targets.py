"""Targets that are paths: where each leads for the skill that is called, or that nobody can tell."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from remit.argument_paths import Below, Name, Place, covert, declared
from remit.policy.places import real_path
from remit.skills import Skill


def base_of(skill: Skill) -> str | None:
    """Return the folder that a relative path of a call starts from, None where that is a cell's own folder."""
    if skill.cell is not None:
        return skill.cell.workspace
    try:
        return os.getcwd() if skill.function is not None else None
    except OSError:  # it is gone
        return None


def path_targets(skill: Skill, arguments: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Yield place and value of everything that a target of kind `path` stands for."""
    paths = {way: kind for way, kind in skill.targets.items() if kind == "path"}
    for target in declared(arguments, paths):
        yield from parts(target.place, target.value)


def parts(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the values that a target stands for: those of a list, and of an object with its names."""
    if isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from parts((*place, number), below)
    elif isinstance(value, Mapping):
        for name, below in value.items():
            yield (*place, Name(str(name))), str(name)
            yield from parts((*place, Below(str(name))), below)
    else:
        yield place, value


def as_it_stands(path: str, *, base: str | None) -> str | None:
    """Return what a path names for a program that gives no sign in it a meaning of its own: `~a`, `file:a`."""
    if not path:
        return None
    plain = re.sub("//+", "/", path)
    return real_path(plain if path.startswith("/") else f"./{plain}", base=base)


def unclear(skill: Skill, arguments: Mapping[str, Any]) -> str:
    """Return why it cannot be told which file a call is about, in words without values; empty where it can.

    Nothing that a person is shown, or that a rule says of a folder, would hold for such a call.
    """
    if "path" not in skill.targets.values():
        return ""
    base = base_of(skill)
    for place, value in path_targets(skill, arguments):
        if _is_number(place, value):
            return f"{covert(place)} is no path: a number names an open file, another one in each process"
        if isinstance(value, str) and value and _is_unclear(value, base):
            return (
                f"nobody can tell which file {covert(place)} names: a path through /proc or /dev/fd is another one for"
                " each process, and so may be one with .. after a link"
            )
    return ""


def _is_number(place: Place, value: Any) -> bool:
    """Tell whether a number or a truth stands where a path should; what lies in an object may be about a file."""
    return not isinstance(value, str | None) and not isinstance(place[-1], Below)


def _is_unclear(path: str, base: str | None) -> bool:
    if base is None and not path.startswith("/"):  # in a folder of its own, which nobody else has
        return ".." in path.split("/")
    return real_path(path, base=base) is None and as_it_stands(path, base=base) is None
