"""Command R7B and later: a list in JSON between `<|START_ACTION|>` and `<|END_ACTION|>`.

Command-R before them writes `Action:` and a fence with such a list.
"""

from __future__ import annotations

import json
import re

from remit.dialects.form import Dialect, Form, Part, Writing
from remit.dialects.marked import json_reader
from remit.dialects.parsed import Skills

_BEGIN, _END = "<|START_ACTION|>", "<|END_ACTION|>"
_THINK, _THINK_END = "<|START_THINKING|>", "<|END_THINKING|>"
_AROUND = re.compile(r"<\|(?:START|END)_(?:RESPONSE|TEXT|ACTION|THINKING)\|>")
_calls = json_reader(re.escape(_BEGIN), re.escape(_END))


def _read(text: str, at: int, skills: Skills) -> Part | None:
    if text.startswith(_BEGIN, at):
        return _calls(text, at, skills)
    if text.startswith(_THINK, at):
        start, end = at + len(_THINK), text.find(_THINK_END, at)
        inner = text[start : len(text) if end < 0 else end]
        return Part(end=start + len(inner) + (len(_THINK_END) if end >= 0 else 0), reasoning=inner, ended=end >= 0)
    mark = _AROUND.match(text, at)
    return Part(end=mark.end(), thought=mark[0] == _THINK_END) if mark else None


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    call = {"tool_call_id": "0", "tool_name": name, "parameters": arguments}
    return f"{_BEGIN}[{json.dumps(call, ensure_ascii=False)}]{_END}"


FORM = Form(name="command", read=_read, inline=_AROUND.pattern)
_WRITING = Writing(
    how=f'{_BEGIN}[{{"tool_call_id": "0", "tool_name": SKILL, "parameters": {{...}}}}]{_END}',
    call=_write,
    result=lambda name, text, tag: f"<|START_TOOL_RESULT|>{text}<|END_TOOL_RESULT|>",
    stop=lambda tag: ("<|START_TOOL_RESULT|>",),
)
DIALECT = Dialect(forms=(FORM,), writing=_WRITING, labels=None)
