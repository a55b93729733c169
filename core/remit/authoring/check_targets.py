"""Does the manifest say of every place that stands inside an argument that it is one?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from remit.argument_paths import is_covered, leaves
from remit.authoring.findings import Finding
from remit.packs.describe import SkillDescription

_KINDS: Mapping[str, tuple[str, ...]] = {
    "path": ("path", "file", "filename", "filepath", "folder", "directory", "dir", "destination", "dest"),
    "url": ("url", "uri", "href", "link", "endpoint", "webhook"),
    "address": ("email", "mail", "address", "recipient", "to", "cc", "bcc"),
    "account": ("iban", "account"),
}
_WORDS = {word: kind for kind, words in _KINDS.items() for word in words}
_IMPLIED = frozenset({"path", "file-path", "directory-path", "uri", "url"})


def check_targets(
    name: str, described: SkillDescription, targets: Mapping[str, str], *, file: str, line: int
) -> Iterator[Finding]:
    """Check one skill that was described: a place inside an object or a list is easily forgotten.

    Args:
        name: of the skill.
        described: has its schema.
        targets: of its manifest.
        file: of the handler.
        line: of the handler.
    """
    ways = dict(leaves(described.schema))
    for way, one in ways.items():
        kind = _looks_like(way, one)
        if kind and not is_covered(way, targets):
            yield Finding(
                code="target-undeclared",
                level="warning",
                message=f"{way} looks like a place, and no target names it: rules, labels and sign-offs do not see it",
                remedy=f'write targets = {{ "{way}" = "{kind}" }}, or annotate it as Path or AnyUrl',
                skill=name,
                file=file,
                line=line,
            )


def _looks_like(way: str, one: Mapping[str, Any]) -> str:
    """Return the kind of place that the name of a nested text promises; empty where its type or name says no such."""
    field = way.rpartition(".")[2].rstrip("[]")
    nested = "." in way or "[]" in way.removesuffix("[]")
    if not nested or one.get("type") != "string" or "enum" in one or one.get("format") in _IMPLIED:
        return ""
    words = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", field).lower())
    return next((_WORDS[word] for word in words if word in _WORDS), "")
