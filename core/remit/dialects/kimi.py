"""Kimi K2: a section of calls, each with its name in the id `functions.NAME:INDEX`, then JSON."""

from __future__ import annotations

import json
import re

from remit.dialects.form import Dialect, Form, Part, Writing
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError
from remit.dialects.sections import read_section
from remit.dialects.shapes import Found, named_call
from remit.dialects.xtml import FORM as XTML

_BEGIN, _END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_CALL, _ARGUMENTS, _CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"

_BEGINS = r"<\|tool_calls?_section_begin\|>"
_SECTION = re.compile(_BEGINS)
_EDGES = re.compile(r"<\|tool_call_begin\|>|(?P<end><\|tool_calls?_section_end\|>)")
_CLOSE = re.compile(r"<\|tool_call_end\|>|(?P<end><\|tool_calls?_section_end\|>)")
_HEAD = re.compile(r"\s{0,9}(?P<name>[^<>|\n]{1,200}?)(?::\d{1,9})?\s{0,9}<\|tool_call_argument_begin\|>")
_TAIL = re.compile(r"\s{0,99}(?:<\|tool_call_end\|>|(?=<\|tool_call)|\Z)")


def _read(text: str, at: int, skills: Skills) -> Part:
    section = _SECTION.match(text, at)
    return read_section(text, section.end() if section else at, skills, edges=_EDGES, close=_CLOSE, one=_one)


def _one(text: str, at: int, skills: Skills, repairs: list[str]) -> tuple[Found, int]:
    head = _HEAD.match(text, at)
    if head is None:
        raise ScanError("expected the id of the call and its arguments", at, cut=_ARGUMENTS not in text[at : at + 300])
    found, mended, end = named_call(head["name"], text, head.end(), skills)
    repairs += mended
    tail = _TAIL.match(text, end)
    if tail is None:
        raise ScanError("expected the end of the call", end)
    return found, tail.end()


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    given = json.dumps(arguments, ensure_ascii=False)
    return f"{_BEGIN}{_CALL}functions.{name}:0{_ARGUMENTS}{given}{_CALL_END}{_END}"


FORM = Form(name="kimi", read=_read, inline=rf"{_BEGINS}|<\|tool_call_begin\|>")
_WRITING = Writing(
    how=f"{_BEGIN}{_CALL}functions.SKILL:0{_ARGUMENTS}{{...}}{_CALL_END}{_END}",
    call=_write,
    result=lambda name, text, tag: f"## Return of functions.{name}:0\n{text}",
    stop=lambda tag: ("## Return of functions.",),
)
DIALECT = Dialect(forms=(FORM, XTML), writing=_WRITING)
