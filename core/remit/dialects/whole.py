"""`parse`: a model's whole text taken apart."""

from __future__ import annotations

import re
from typing import Literal, get_args

from remit.dialects.marks import ALSO_TAGS
from remit.dialects.parsed import Parsed, Skills
from remit.dialects.reader import Reader

Dialect = Literal["auto", "tagged", "react", "json"]
"""How calls are written: `tagged` JSON, `react` lines, bare or fenced `json`; `auto` knows them by their marks.

Bare and fenced JSON that names a known skill counts in every dialect.
"""

DIALECTS: tuple[str, ...] = get_args(Dialect)

DEFAULT_TAG = "tool_call"

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")


def parse(text: str, skills: Skills, dialect: str = "auto", *, tag: str = DEFAULT_TAG) -> Parsed:
    """Take a model's text apart.

    Args:
        text: what the model wrote.
        skills: the skills that may be called, by their names on the wire.
        dialect: one of `DIALECTS`.
        tag: the tag that wraps a call in `tagged` and `auto`.

    Never raises for any text; takes time linear in its length.

    Raises:
        ValueError: an unknown dialect or an impossible tag.
    """
    check_dialect(dialect, tag)
    tags = (tag, *(other for other in ALSO_TAGS if other != tag)) if dialect == "auto" else (tag,)
    labels = {"react": True, "auto": None}.get(dialect, False)
    return Reader(text, skills, tags=tags, labels=labels).read()


def check_dialect(dialect: str, tag: str) -> None:
    """Raise `ValueError` for an unknown dialect or a tag that is no name."""
    if dialect not in DIALECTS:
        raise ValueError(f"There is no dialect {dialect!r}; there are {', '.join(DIALECTS)}.")
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is no tag: use a letter, then letters, digits, _ or -, at most 32 characters.")
