"""What the target arguments of a call really stand for: real paths and host names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from remit.policy.places import address_domain, real_path, url_host
from remit.skills import Skill

AS_IT_STANDS = "[as it stands]"
"""Ends the name of a path that could be read in another way, too."""


def resolved(skill: Skill, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return argument to real path, host or mail domain, for targets whose kind is known.

    What cannot be read in one way only is left out, and stands in the arguments as it is. A path such as `~a` or
    `file:a` has the place that it names as it stands under a name that says so, since most skills open that.
    """
    base = skill.cell.workspace if skill.cell is not None else None
    found: dict[str, str] = {}
    for name, kind in skill.targets.items():
        value = arguments.get(name)
        items = value if isinstance(value, list) else [value]
        for index, item in enumerate(items):
            entry = f"{name}[{index}]" if isinstance(value, list) else name
            place = _resolve(kind, item, base)
            if place is None and kind == "path" and isinstance(item, str) and not item.startswith("/"):
                entry, place = f"{entry}{AS_IT_STANDS}", _as_it_stands(item, base)
            if place is not None:
                found[entry] = place
    return found


def _as_it_stands(path: str, base: str | None) -> str | None:
    """Return what a relative path names for a program that gives no sign in it a meaning of its own."""
    return real_path("./" + re.sub("//+", "/", path), base=base) if path else None


def _resolve(kind: str, value: Any, base: str | None) -> str | None:
    if not isinstance(value, str):
        return None
    if kind == "path":
        return real_path(value, base=base)
    if kind == "url":
        found = url_host(value)
        return None if found is None else found[0] + (f":{found[1]}" if found[1] else "")
    return address_domain(value) if kind == "address" else None
