"""What the target arguments of a call really stand for: real paths and host names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from remit.argument_paths import declared, written
from remit.policy.places import address_domain, real_path, url_host
from remit.policy.targets import as_it_stands, base_of, parts
from remit.skills import Skill

AS_IT_STANDS = "[as it stands]"
"""Ends the name of a path that could be read in another way, too."""


def resolved(skill: Skill, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return argument to real path, host or mail domain, for targets whose kind is known.

    Targets inside an argument stand under the way to them, `files[0].path`. What cannot be read in one way only is
    left out, and stands in the arguments as it is. A path such as `~a` or `file:a` has the place that it names as it
    stands under a name that says so, since most skills open that.
    """
    base = base_of(skill)
    found: dict[str, str] = {}
    for target in declared(arguments, skill.targets):
        for way, item in parts(target.place, target.value):
            if isinstance(item, str):
                found |= _resolved(written(way), target.kind, item, base)
    return found


def _resolved(entry: str, kind: str, value: str, base: str | None) -> dict[str, str]:
    place = _resolve(kind, value, base)
    if place is None and kind == "path":
        entry, place = f"{entry}{AS_IT_STANDS}", as_it_stands(value, base=base)
    return {} if place is None else {entry: place}


def files_of(resolved: Mapping[str, str]) -> dict[str, str]:
    """Return those of the resolved targets that are paths: no host and no mail domain is absolute."""
    return {name: place for name, place in resolved.items() if os.path.isabs(place)}


def _resolve(kind: str, value: str, base: str | None) -> str | None:
    if kind == "path":
        return real_path(value, base=base)
    if kind == "url":
        found = url_host(value)
        return None if found is None else found[0] + (f":{found[1]}" if found[1] else "")
    return address_domain(value) if kind == "address" else None
