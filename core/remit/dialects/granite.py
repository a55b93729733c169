"""Granite: `<|tool_call|>` before a list in JSON (3.0), `<tool_call>` before one (3.1); Granite 4 writes tagged JSON.

Granite 20B for functions writes `<function_call>` before each call.
"""

from __future__ import annotations

import json

from remit.dialects.form import Dialect, Form, Writing
from remit.dialects.marked import json_reader
from remit.dialects.tagged import FORM as TAGGED

_MARK = r"<\|tool_call\|>"
_EACH = r"<function_call>(?=\s{0,9}[\[{])"


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return f"<|tool_call|>[{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}]"


FORM = Form(name="granite", read=json_reader(_MARK, r"</?\|/?tool_call\|>"), inline=_MARK)
FORM_20B = Form(name="granite_20b", read=json_reader(_EACH, r"</function_call>"), inline=_EACH)
_WRITING = Writing(
    how='<|tool_call|>[{"name": SKILL, "arguments": {...}}]',
    call=_write,
    result=lambda name, text, tag: f"<|tool_response|>{text}",
    stop=lambda tag: ("<|tool_response|>",),
)
DIALECT = Dialect(forms=(FORM, FORM_20B, TAGGED), writing=_WRITING, tag="tool_call")
