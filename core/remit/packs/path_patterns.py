"""Path patterns of permissions: an existing file, or a folder and all below it (`dir/**`).

Both start at an anchor (`${workspace}`, `${data}`, `${tmp}`) or are absolute. Patterns are compared
as text, component by component; whoever resolves anchors compares real paths, because a link inside
a granted folder leads out of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from remit.errors import PolicyError

ANCHORS = ("${workspace}", "${data}", "${tmp}")
"""The deployment's folder, the pack's own folder, the cell's temporary folder."""

_LONGEST = 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_path(text: str) -> str:
    """Return `text` when it is a well-formed pattern.

    Raises:
        PolicyError: it climbs, uses a wildcard in the middle, or starts nowhere known.
    """
    reason = _wrong(text)
    if reason:
        raise PolicyError(f"{text[:200]!r} is no path pattern: {reason}")
    return text


def _wrong(text: str) -> str:
    """Say why `text` is no pattern, empty when it is one."""
    if len(text) > _LONGEST or _CONTROL.search(text) or "\\" in text:
        return f"at most {_LONGEST} characters, none of them a control character or backslash"
    start = next((anchor for anchor in ANCHORS if text == anchor or text.startswith(anchor + "/")), "")
    if not start and not text.startswith("/"):
        return f"it must be absolute or start with one of {', '.join(ANCHORS)}"
    rest = text[len(start) :]
    if not rest or rest.endswith("/"):
        return f"a folder is written {text.rstrip('/')}/**"
    return _wrong_parts(rest[1:].split("/"))


def _wrong_parts(parts: list[str]) -> str:
    below = parts[:-1] if parts[-1] == "**" else parts
    for part in below:
        if part in ("", ".", ".."):
            return 'empty parts, "." and ".." are not allowed'
        if "*" in part or "?" in part or "[" in part or "${" in part:
            return "the only wildcard is a final /**"
    return ""


def path_within(narrow: str, wide: str) -> bool:
    """Whether every path that `narrow` matches is matched by `wide`."""
    if narrow == wide:
        return True
    return wide.endswith("/**") and narrow.startswith(wide[:-2])


def paths_within(narrow: str, wide: Iterable[str]) -> bool:
    """Whether one of `wide` covers `narrow` (patterns are a tree: several never cover what none does)."""
    return any(path_within(narrow, pattern) for pattern in wide)


def anchored_path(text: str, anchors: Mapping[str, str]) -> str | None:
    """Replace a leading `${name}` by `anchors[name]`; None when that anchor is not known here."""
    if not text.startswith("${"):
        return text
    name, _, rest = text[2:].partition("}")
    folder = anchors.get(name)
    return None if folder is None else folder.rstrip("/") + rest
