"""Mistral: `[TOOL_CALLS]` before a list in JSON (to v7), before name and arguments each (v11 and later)."""

from __future__ import annotations

import json
import re

from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, scan, skip_space
from remit.dialects.shapes import calls_in, named_call

_MARK = "[TOOL_CALLS]"
_HEAD = re.compile(r"(?P<name>[^\[\]{}\s]{1,200})(?:\[CALL_ID\][^\[\]{}\s]{0,64})?(?:\[ARGS\])?\s{0,9}")


def _read(text: str, at: int, skills: Skills) -> Part:
    start = skip_space(text, at + len(_MARK))
    try:
        if text.startswith(("[", "{"), start) and not text.startswith(_MARK, start):
            read = scan(text, start)
            found = tuple(calls_in(read.value, skills, wrapped=True, repairs=read.repairs) or ())
            return Part(end=read.end, found=found, repairs=tuple(read.repairs), exact=True)
        head = _HEAD.match(text, start)
        if head is None or not text.startswith("{", head.end()):
            end = head.end() if head else start
            raise ScanError("expected a call", start, cut=end >= len(text))
        call, repairs, end = named_call(head["name"], text, head.end(), skills)
    except ScanError as error:
        return recover(text, start, error, None)
    return Part(end=end, found=(call,), repairs=tuple(repairs), exact=True)


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return f"{_MARK}{name}[ARGS]{json.dumps(arguments, ensure_ascii=False)}"


FORM = Form(name="mistral", read=_read, inline=r"\[TOOL_CALLS\]")
_WRITING = Writing(
    how=f"{_MARK}SKILL[ARGS]{{...}}",
    call=_write,
    result=lambda name, text, tag: f"[TOOL_RESULTS]{json.dumps({'content': text}, ensure_ascii=False)}[/TOOL_RESULTS]",
    stop=lambda tag: ("[TOOL_RESULTS]",),
)
DIALECT = Dialect(forms=(FORM,), writing=_WRITING)
