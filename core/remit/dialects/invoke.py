"""Calls as `<invoke name="...">` with `<parameter name="...">`: MiniMax M2, and DeepSeek V3.2 and later.

MiniMax wraps them in `<minimax:tool_call>`, others in `<function_calls>`. DeepSeek puts a mark of its own into
every tag and says of every parameter whether it is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.dialects.fields import Grammar, grammar, read_fields, unescaped
from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.qwen_xml import as_text
from remit.dialects.scan import ScanError
from remit.dialects.shapes import Found, make_call, resolve, unknown
from remit.dialects.tagged import FORM as TAGGED

_DSML = "｜DSML｜"


def _reader(mark: str, wrappers: str) -> Callable[[str, int, Skills], Part]:
    """Return what reads the marks of one kind; `mark` is the pattern that every tag begins with."""
    wrapper = re.compile(rf"</?{mark}(?:{wrappers})>")
    head = re.compile(rf'<{mark}invoke\s{{1,9}}name="(?P<name>[^"<>\n]{{1,200}})"\s{{0,9}}(?P<empty>/)?>')
    fields = grammar(
        opening=rf'<{mark}parameter\s{{1,9}}name="(?P<key>[^"\n]{{1,400}})"'
        r'(?:\s{1,9}string="(?:(?P<text>true)|(?P<data>false))")?\s{0,9}>',
        closing=rf"</{mark}parameter>\s*+(?=<{mark}parameter\b|</{mark}invoke>)",
        end=rf"</{mark}invoke>",
    )

    def read(text: str, at: int, skills: Skills) -> Part:
        if around := wrapper.match(text, at):
            return Part(end=around.end())
        opening = head.match(text, at)
        if opening is None:
            return recover(text, at, ScanError("a tag is not complete", at, cut=True), None)
        return _call(text, opening, skills, fields)

    return read


def _call(text: str, head: re.Match[str], skills: Skills, fields: Grammar) -> Part:
    written = unescaped(head["name"])
    name = resolve(written, skills)
    repairs: list[str] = []
    try:
        if name is None:
            return _unknown(text, head, unknown(written, skills), fields)
        if head["empty"]:
            return Part(end=head.end(), found=(make_call(name, {}, skills, repairs),))
        found, at = read_fields(text, head.end(), name, skills, fields, repairs)
    except ScanError as error:
        return recover(text, head.start(), error, fields.end)
    return Part(end=at, found=(found,), repairs=tuple(repairs))


def _unknown(text: str, head: re.Match[str], told: str, fields: Grammar) -> Part:
    end = head if head["empty"] else fields.end.search(text, head.end())
    return Part(end=end.end() if end else len(text), found=(Found(error=told),), over=end is None)


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    lines = "".join(f'<parameter name="{key}">{as_text(value)}</parameter>\n' for key, value in arguments.items())
    return f'<minimax:tool_call>\n<invoke name="{name}">\n{lines}</invoke>\n</minimax:tool_call>'


FORM = Form(
    name="invoke",
    read=_reader("", "minimax:tool_call|function_calls"),
    inline=r"</?(?:minimax:tool_call|function_calls)>|<invoke\s{1,9}name=",
)
DSML = Form(
    name="dsml",
    read=_reader(_DSML + r"\s?", "function_calls|tool_calls|calls"),
    inline=rf"</?{_DSML}",
)
_WRITING = Writing(
    how='<minimax:tool_call>\n<invoke name="SKILL">\n<parameter name="NAME">value</parameter>\n</invoke>\n'
    "</minimax:tool_call>",
    call=_write,
    result=lambda name, text, tag: f"<response>{text}</response>",
    stop=lambda tag: ("<response>",),
)
DIALECT = Dialect(forms=(FORM, TAGGED), writing=_WRITING, tag="tool_calls")
