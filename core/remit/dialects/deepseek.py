"""DeepSeek V3 and R1 (`function`, separator, name, fenced JSON) and V3.1 (name, separator, JSON).

What V3.2 and later write stands in `dsml`.
"""

from __future__ import annotations

import json
import re

from remit.dialects.form import Dialect, Form, Part, Writing
from remit.dialects.invoke import DSML
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError
from remit.dialects.sections import read_section
from remit.dialects.shapes import Found, named_call

_BEGIN, _END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL, _CALL_END, _SEPARATOR = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"

_EDGES = re.compile(f"{_CALL}|(?P<end>{_END})")
_CLOSE = re.compile(f"{_CALL_END}|(?P<end>{_END})")
_HEAD = re.compile(
    rf"\s{{0,9}}(?:function{_SEPARATOR})?(?P<name>[^<>｜\n]{{1,200}})(?:{_SEPARATOR})?\s{{0,9}}(?P<fence>```[a-z]{{0,9}})?"
)
_TAIL = re.compile(rf"\s{{0,99}}(?:```\s{{0,99}})?(?:{_CALL_END})?")


def _read(text: str, at: int, skills: Skills) -> Part:
    start = at + len(_BEGIN) if text.startswith(_BEGIN, at) else at
    return read_section(text, start, skills, edges=_EDGES, close=_CLOSE, one=_one)


def _one(text: str, at: int, skills: Skills, repairs: list[str]) -> tuple[Found, int]:
    head = _HEAD.match(text, at)
    if head is None or head.end() >= len(text):
        raise ScanError("expected the name of a skill and its arguments", at, cut=len(text) - at < 200)
    found, mended, end = named_call(head["name"], text, head.end(), skills)
    repairs += mended
    tail = _TAIL.match(text, end)
    end = tail.end() if tail else end
    if end < len(text) and not text.startswith((_CALL, _END), end) and not text.endswith(_CALL_END, 0, end):
        raise ScanError("expected the end of the call", end)
    return found, end


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return f"{_BEGIN}{_CALL}{name}{_SEPARATOR}{json.dumps(arguments, ensure_ascii=False)}{_CALL_END}{_END}"


FORM = Form(name="deepseek", read=_read, inline=f"{_BEGIN}|{_CALL}")
_WRITING = Writing(
    how=f"{_BEGIN}{_CALL}SKILL{_SEPARATOR}{{...}}{_CALL_END}{_END}",
    call=_write,
    result=lambda name, text, tag: f"<｜tool▁output▁begin｜>{text}<｜tool▁output▁end｜>",
    stop=lambda tag: ("<｜tool▁output▁begin｜>",),
)
DIALECT = Dialect(forms=(FORM, DSML), writing=_WRITING)
