"""`parse`: a model's whole text taken apart."""

from __future__ import annotations

import re

from remit.dialects.parsed import Parsed, Skills
from remit.dialects.reader import Reader
from remit.dialects.shapes import HOW
from remit.dialects.table import dialect_named, forms_and_tags, known_dialects

DEFAULT_TAG = "tool_call"

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")


def parse(
    text: str, skills: Skills, dialect: str = "auto", *, tag: str = DEFAULT_TAG, thinking: bool = False
) -> Parsed:
    """Take a model's text apart.

    Args:
        text: what the model wrote.
        skills: the skills that may be called, by their names on the wire.
        dialect: one of `DIALECTS`.
        tag: the tag that wraps a call in `tagged` and `auto`.
        thinking: the prompt has begun the reasoning (it ends with `<think>`, say): the text up to the end
            mark of reasoning is reasoning.

    Never raises for any text; takes time linear in its length.

    Raises:
        ValueError: an unknown dialect or an impossible tag.
    """
    check_dialect(dialect, tag)
    forms, tags = forms_and_tags(dialect, tag)
    labels = dialect_named(dialect).labels
    how = _how(dialect)
    return Reader(text, skills, forms=forms, tags=tags, labels=labels, how=how, thinking=thinking).read()


def _how(dialect: str) -> str:
    """Return how a call is written in a dialect, for errors; `auto` says it in JSON.

    The tag that was configured is not spelled out: errors are shown again where a model may only answer,
    and a small model that sees the tag writes one more call.
    """
    how = dialect_named(dialect).writing.how
    if dialect in ("auto", "json", "react"):
        return HOW
    return f"{HOW} Put it into the tags for calls." if "{tag}" in how else f"Write a call like this: {how}"


def check_dialect(dialect: str, tag: str) -> None:
    """Raise `ValueError` for an unknown dialect or a tag that is no name."""
    if dialect not in known_dialects():
        raise ValueError(f"There is no dialect {dialect!r}; there are {', '.join(known_dialects())}.")
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is no tag: use a letter, then letters, digits, _ or -, at most 32 characters.")
