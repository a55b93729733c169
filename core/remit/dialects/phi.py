"""Phi-4: `functools[...]` (mini) or `<|tool_call|>[...]<|/tool_call|>`, both with a list in JSON."""

from __future__ import annotations

import json

from remit.dialects.form import Dialect, Form, Writing
from remit.dialects.granite import FORM as GRANITE
from remit.dialects.marked import json_reader


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return f"functools[{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}]"


FORM = Form(name="phi", read=json_reader(r"functools\s{0,9}(?=\[)", r"(?!)"), line=r"functools\s{0,9}\[\s{0,9}\{")
_WRITING = Writing(
    how='functools[{"name": SKILL, "arguments": {...}}]',
    call=_write,
    result=lambda name, text, tag: f"Result of {name}: {text}",
    stop=lambda tag: ("<|end|>",),
)
DIALECT = Dialect(forms=(FORM, GRANITE), writing=_WRITING)
