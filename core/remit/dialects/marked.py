"""Calls in JSON between special tokens: what Llama 3, Command-R, Phi and Granite have in common."""

from __future__ import annotations

import re

from remit.dialects.form import Part, Read, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import Found, calls_in, sequence


def json_reader(begin: str, end: str, *, exact: bool = False) -> Read:
    """Return what reads one object, several, or a list of them, between the patterns `begin` and `end`.

    The end mark may be missing where the JSON is complete.
    """
    opening, closing = re.compile(begin), re.compile(end)

    def read(text: str, at: int, skills: Skills) -> Part | None:
        mark = opening.match(text, at)
        return _between(text, mark.end(), skills, closing, exact=exact) if mark else None

    return read


def _between(text: str, start: int, skills: Skills, closing: re.Pattern[str], *, exact: bool) -> Part:
    found: list[Found] = []
    repairs: list[str] = []
    at = start
    try:
        for value, after, mended in sequence(text, start):
            at = after
            found += calls_in(value, skills, wrapped=True, repairs=mended) or ()
            repairs += mended
        if at == start and not closing.match(text, skip_space(text, start)):
            raise ScanError("expected a JSON object", at, cut=skip_space(text, at) >= len(text))
    except ScanError as error:
        return recover(text, skip_space(text, at), error, closing, found)
    mark = closing.match(text, skip_space(text, at))
    return Part(end=mark.end() if mark else at, found=tuple(found), repairs=tuple(repairs), exact=exact)
