"""Qwen's XML (Qwen3-Coder, Qwen3.5 and later): `<function=NAME>` with `<parameter=KEY>` lines in `<tool_call>`.

The wrapper is often left out. Values are raw text, typed by the schema; one newline on each side is no part
of them.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from remit.dialects.fields import grammar, read_fields
from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import Found, named_call, resolve, unknown
from remit.dialects.tagged import FORM as TAGGED
from remit.dialects.tagged import result_tag

_HEAD = re.compile(r"(?:<tool_call>\s{0,9})?<function=(?P<name>[^<>\n]{1,200})>")
_END = re.compile(r"</function>(?:\s{0,9}</tool_call>)?")
_GRAMMAR = grammar(
    opening=r"<parameter=(?P<key>[^<>\n]{1,200})>",
    closing=r"</parameter>\s*+(?=<parameter=|</function>)",
    end=_END.pattern,
    following=r"\n(?=<parameter=[^<>\n]{1,200}>)",
    outer=r"\n?(?=</function>\s{0,9}</tool_call>)",
    wrapper="<tool_call>",
    block=True,
)


def _read(text: str, at: int, skills: Skills) -> Part:
    head = _HEAD.match(text, at)
    if head is None:
        return recover(text, at, ScanError("the name of the skill does not end", at, cut=True), None)
    name = resolve(head["name"], skills)
    repairs: list[str] = []
    try:
        if name is None:
            return _unknown(text, head, skills)
        start = skip_space(text, head.end())
        if text.startswith("{", start):
            found, mended, end = named_call(name, text, start, skills, closer="</function>")
            closing = _END.match(text, skip_space(text, end))
            end, repairs = closing.end() if closing else end, mended
        else:
            found, end = read_fields(text, start, name, skills, _GRAMMAR, repairs)
    except ScanError as error:
        return replace(recover(text, at, error, _END), exact=False)
    return Part(end=end, found=(found,), repairs=tuple(repairs))


def _unknown(text: str, head: re.Match[str], skills: Skills) -> Part:
    end = _END.search(text, head.end())
    told = Found(error=unknown(head["name"], skills))
    return Part(end=end.end() if end else len(text), found=(told,), over=end is None)


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    lines = "".join(f"<parameter={key}>\n{as_text(value)}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{lines}</function>\n</tool_call>"


def as_text(value: object) -> str:
    """Return a value as these formats write it: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


FORM = Form(name="qwen_xml", read=_read, inline=r"<tool_call>\s{0,9}<function=|<function=(?=[^<>\n]{0,200}(?:>|\Z))")
_WRITING = Writing(
    how="<tool_call>\n<function=SKILL>\n<parameter=NAME>\nvalue\n</parameter>\n</function>\n</tool_call>",
    call=_write,
    result=lambda name, text, tag: f"<tool_response>\n{text}\n</tool_response>",
    stop=lambda tag: (f"<{result_tag('tool_call')}>",),
)
DIALECT = Dialect(forms=(FORM, TAGGED), writing=_WRITING, tag="tool_call")
