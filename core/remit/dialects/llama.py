"""Llama 3: bare JSON with `parameters`, often behind `<|python_tag|>`."""

from __future__ import annotations

import json

from remit.dialects.form import Dialect, Form, Writing
from remit.dialects.marked import json_reader
from remit.dialects.pythonic import FORM as PYTHONIC

_TAG = r"<\|python_tag\|>"


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return json.dumps({"name": name, "parameters": arguments}, ensure_ascii=False)


FORM = Form(name="llama", read=json_reader(_TAG, r"<\|e(?:om|ot)_id\|>", exact=True), inline=_TAG)
_WRITING = Writing(
    how='{"name": SKILL, "parameters": {...}}',
    call=_write,
    result=lambda name, text, tag: f"Result of {name}: {text}",
    stop=lambda tag: ("<|eom_id|>",),
)
DIALECT = Dialect(forms=(FORM, PYTHONIC), writing=_WRITING)
