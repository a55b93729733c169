"""Bare JSON, and ReAct: how the two forms that need no mark are written; the reader itself reads them."""

from __future__ import annotations

import json

from remit.dialects.form import Dialect, Writing
from remit.dialects.named import FORM as NAMED


def _write_json(name: str, arguments: dict[str, object], tag: str) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _write_react(name: str, arguments: dict[str, object], tag: str) -> str:
    given = json.dumps(arguments, ensure_ascii=False)
    return f"Thought: I need the skill {name}.\nAction: {name}\nAction Input: {given}"


_JSON = Writing(
    how='{"name": SKILL, "arguments": {...}}',
    call=_write_json,
    result=lambda name, text, tag: f"Result of {name}: {text}",
    stop=lambda tag: (),
)
_REACT = Writing(
    how="",
    call=_write_react,
    result=lambda name, text, tag: f"Observation: {text}",
    stop=lambda tag: ("Observation:",),
    answer=lambda text: f"Thought: No skill is needed for this.\nFinal Answer: {text}",
)
JSON = Dialect(forms=(NAMED,), writing=_JSON)
REACT = Dialect(forms=(), writing=_REACT, labels=True)
