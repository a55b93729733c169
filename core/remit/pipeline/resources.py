"""What the target arguments of a call really stand for: real paths and host names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit.policy.places import address_domain, real_path, url_host
from remit.skills import Skill


def resolved(skill: Skill, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return argument to real path, host or mail domain, for targets whose kind is known.

    What cannot be read in one way only is left out, and stands in the arguments as it is.
    """
    base = skill.cell.workspace if skill.cell is not None else None
    found: dict[str, str] = {}
    for name, kind in skill.targets.items():
        value = arguments.get(name)
        items = value if isinstance(value, list) else [value]
        for index, item in enumerate(items):
            place = _resolve(kind, item, base)
            if place is not None:
                found[f"{name}[{index}]" if isinstance(value, list) else name] = place
    return found


def _resolve(kind: str, value: Any, base: str | None) -> str | None:
    if not isinstance(value, str):
        return None
    if kind == "path":
        return real_path(value, base=base)
    if kind == "url":
        found = url_host(value)
        return None if found is None else found[0] + (f":{found[1]}" if found[1] else "")
    return address_domain(value) if kind == "address" else None
