"""GLM 4.5 and later: the name, then `<arg_key>` and `<arg_value>` pairs, in `<tool_call>`."""

from __future__ import annotations

import re
from dataclasses import replace

from remit.dialects.fields import grammar, read_fields
from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.qwen_xml import as_text
from remit.dialects.scan import ScanError
from remit.dialects.shapes import Found, resolve, unknown
from remit.dialects.tagged import FORM as TAGGED

_HEAD = re.compile(r"<tool_call>\s{0,9}(?P<name>[\w.:-]{1,200})")
_END = re.compile(r"</tool_call>")
_GRAMMAR = grammar(
    opening=r"<arg_key>(?P<key>[^<>]{1,400})</arg_key>\s{0,99}<arg_value>",
    closing=r"</arg_value>\s*+(?=<arg_key>|</tool_call>)",
    end=_END.pattern,
    outer=r"(?=</tool_call>\s*+(?:<tool_call>[\w.:-]{1,200}\s{0,9}(?:<arg_key>|</tool_call>)|\Z))",
    wrapper="<tool_call>",
)


def _read(text: str, at: int, skills: Skills) -> Part | None:
    head = _HEAD.match(text, at)
    if head is None:
        return None
    name = resolve(head["name"], skills)
    if name is None:
        end = _END.search(text, head.end())
        told = Found(error=unknown(head["name"], skills))
        return Part(end=end.end() if end else len(text), found=(told,), over=end is None)
    repairs: list[str] = []
    try:
        found, end_at = read_fields(text, head.end(), name, skills, _GRAMMAR, repairs)
    except ScanError as error:
        return replace(recover(text, at, error, _END), exact=False)
    return Part(end=end_at, found=(found,), repairs=tuple(repairs))


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    pairs = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{as_text(value)}</arg_value>\n" for key, value in arguments.items()
    )
    return f"<tool_call>{name}\n{pairs}</tool_call>"


FORM = Form(
    name="glm",
    read=_read,
    inline=r"<tool_call>\s{0,9}[\w.:-]{1,200}\s{0,9}(?:</tool_call>|<arg_key>)",
)
_WRITING = Writing(
    how="<tool_call>SKILL\n<arg_key>name</arg_key>\n<arg_value>value</arg_value>\n</tool_call>",
    call=_write,
    result=lambda name, text, tag: f"<tool_response>\n{text}\n</tool_response>",
    stop=lambda tag: ("<|observation|>", "<tool_response>"),
)
DIALECT = Dialect(forms=(FORM, TAGGED), writing=_WRITING, tag="tool_call")
