"""A section of calls between special tokens, as DeepSeek and Kimi write it."""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.dialects.form import Part
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError
from remit.dialects.shapes import HOW, Found, damaged

One = Callable[[str, int, Skills, list[str]], tuple[Found, int]]
"""Reads the call behind its begin mark: returns it and where it ends; raises `ScanError`."""


def read_section(
    text: str, at: int, skills: Skills, *, edges: re.Pattern[str], close: re.Pattern[str], one: One
) -> Part:
    """Read calls from `at` to the end of the section; what else stands in it is left out.

    Args:
        edges: finds the next beginning of a call or, as group `end`, the end of the section.
        close: the end mark of a call, or of the section.
    """
    found: list[Found] = []
    repairs: list[str] = []
    noise = ""
    while (edge := edges.search(text, at)) is not None:
        noise = noise or text[at : edge.start()].strip()
        at = edge.end()
        if edge["end"] is not None:
            return _done(at, found, repairs, noise)
        try:
            mended: list[str] = []
            call, at = one(text, at, skills, mended)
            found.append(call)
            repairs += mended
        except ScanError as error:
            found.append(Found(error=damaged(text, at, error)))
            closed = None if error.cut else close.search(text, max(at, error.position))
            if closed is None:
                return Part(end=len(text), found=tuple(found), repairs=tuple(repairs), over=True, exact=True)
            at = closed.start() if closed["end"] is not None else closed.end()
    rest = text[at:].strip()
    if rest or not found:
        found.append(Found(error=damaged(text, at, ScanError("the section does not end", at, cut=True))))
    return Part(end=len(text), found=tuple(found), repairs=tuple(repairs), over=True, exact=True)


def _done(at: int, found: list[Found], repairs: list[str], noise: str) -> Part:
    if noise and not found:
        found.append(Found(error=f"A call was expected, but the section of calls holds none. {HOW}"))
    return Part(end=at, found=tuple(found), repairs=tuple(repairs), exact=True)
