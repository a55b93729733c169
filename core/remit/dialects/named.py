"""A bare name and then JSON: `get_weather` on one line, its arguments below. Small models write it."""

from __future__ import annotations

import re

from remit.dialects.form import Form, Part
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import named_call, resolve

_HEAD = re.compile(r"(?P<name>[\w.-]{1,200})[ \t]{0,9}\r?\n\s{0,9}(?=\{)")


def _read(text: str, at: int, skills: Skills) -> Part | None:
    head = _HEAD.match(text, at)
    if head is None or resolve(head["name"], skills) is None:
        return None
    try:
        found, repairs, end = named_call(head["name"], text, head.end(), skills)
    except ScanError:
        return None
    if skip_space(text, end) < len(text):
        return None
    return Part(end=end, found=(found,), repairs=tuple(repairs))


FORM = Form(name="named", read=_read, fresh=r"[\w.-]{1,200}[ \t]{0,9}\r?\n\s{0,9}(?=\{)")
