"""Granite: `<|tool_call|>` before a list in JSON (3.x); Granite 4 writes tagged JSON."""

from __future__ import annotations

import json

from remit.dialects.form import Dialect, Form, Writing
from remit.dialects.marked import json_reader
from remit.dialects.tagged import FORM as TAGGED

_MARK = r"<\|tool_call\|>"


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return f"<|tool_call|>[{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}]"


FORM = Form(name="granite", read=json_reader(_MARK, r"</?\|/?tool_call\|>"), inline=_MARK)
_WRITING = Writing(
    how='<|tool_call|>[{"name": SKILL, "arguments": {...}}]',
    call=_write,
    result=lambda name, text, tag: f"<|tool_response|>{text}",
    stop=lambda tag: ("<|tool_response|>",),
)
DIALECT = Dialect(forms=(FORM, TAGGED), writing=_WRITING, tag="tool_call")
