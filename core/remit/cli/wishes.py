"""What somebody wants of a pack, as options of a command: skills, grants, settings, secrets."""

from __future__ import annotations

import argparse
from typing import Any

from remit.errors import UsageError


def add_wishes(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what of a pack is wanted."""
    parser.add_argument("--skills", help="only these skills, separated by commas")
    parser.add_argument(
        "--grant",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="give only this, as fs.read=${workspace}/docs/**; again for more, nothing after = for nothing. "
        "Keys that are not named give the least that the chosen skills need",
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting")
    parser.add_argument(
        "--secret", action="append", default=[], metavar="NAME=REF", help="bind a secret, as token=env:TOKEN"
    )
    parser.add_argument(
        "--distrust-read", action="store_true", help="do not accept a declared `read` that cannot be verified"
    )


def wishes(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the options ask for, as `remit.deployment.enable` takes it."""
    return {
        "grants": grants_of(options.grant),
        "skills": [skill.strip() for skill in options.skills.split(",")] if options.skills else None,
        "accept_read": () if options.distrust_read else None,
        "settings": values(options.set) or None,
        "secrets": {key: str(value) for key, value in _pairs(options.secret)} or None,
    }


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not equals or not name.strip():
            raise UsageError(f"{name!r} is no NAME=VALUE")
    return [(name.strip(), value) for name, _, value in pairs]


def values(given: list[str]) -> dict[str, Any]:
    """Return NAME=VALUE pairs with values in TOML's notation, or as text where they are none."""
    import tomllib

    values: dict[str, Any] = {}
    for name, value in _pairs(given):
        try:
            values[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            values[name] = value
    return values


def grants_of(given: list[str]) -> dict[str, Any] | None:
    """Return KEY=VALUE pairs by key; values may be given one by one or with commas between them."""
    import re

    grants: dict[str, list[str]] = {}
    for key, value in _pairs(given):
        comma = r",\s*(?=\$\{|/)" if key.startswith("fs") else ","
        entries = grants.setdefault(key, [])
        entries += [part.strip() for part in re.split(comma, value) if part.strip()]
    return grants or None
