"""Tagged JSON: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, with any tag.

Hermes and the Qwen models write it, and MiniMax M1, xLAM and others with tags of their own.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache

from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import Found, calls_in, sequence

ALSO_TAGS = ("tool_call", "tool_calls", "function_call")
"""Tags that are known besides the one that was configured."""

FORM = Form(name="tagged", read=lambda text, at, skills: None)
"""Stands for the form in a dialect: which tags it reads depends on the tag that is configured."""

_FENCE_OPEN = re.compile(r"\s{0,99}`{3,9}[a-z_]{0,20}[ \t]{0,9}\n?")
_FENCE_CLOSE = re.compile(r"\s{0,99}`{3,9}")
_EXTRA_CLOSERS = re.compile(r"\s{0,9}[}\]][}\]\s]{0,9}")


@lru_cache(maxsize=64)
def tagged_form(tags: tuple[str, ...]) -> Form:
    """Return the form of calls in any of `tags`."""
    names = "|".join(map(re.escape, tags))
    mark = re.compile(rf"<\|?(?P<tag>{names})\|?>")

    def read(text: str, at: int, skills: Skills) -> Part | None:
        opening = mark.match(text, at)
        return _read(text, opening, skills) if opening else None

    return Form(name="tagged", read=read, inline=rf"<\|?(?:{names})\|?>")


def result_tag(tag: str) -> str:
    """Return the tag that wraps a result where `tag` wraps a call."""
    return "tool_response" if tag == "tool_call" else f"{tag}_result"


def inside(text: str, tag: str) -> str:
    """Escape an end mark inside JSON text; both writings mean the same to a JSON reader."""
    return text.replace(f"</{tag}>", f"<\\/{tag}>")


def _read(text: str, opening: re.Match[str], skills: Skills) -> Part:
    closer = f"</{opening['tag']}>"
    end = re.compile(rf"</{re.escape(opening['tag'])}>|<\|/{re.escape(opening['tag'])}\|>")
    at = _behind_repeated(text, opening)
    fence = _FENCE_OPEN.match(text, at)
    at = start = fence.end() if fence else at
    found: list[Found] = []
    repairs: list[str] = []
    try:
        for value, after, mended in sequence(text, start, closer=closer):
            at = after
            found += calls_in(value, skills, wrapped=True, repairs=mended) or ()
            repairs += mended
        if at == start:
            raise ScanError("expected a JSON object", at, cut=skip_space(text, at) >= len(text))
    except ScanError as error:
        return replace(recover(text, skip_space(text, at), error, end, found), repairs=tuple(repairs), exact=False)
    if fence and (fence_end := _FENCE_CLOSE.match(text, at)):
        at = fence_end.end()
    return _after(text, at, closer, found, repairs)


def _behind_repeated(text: str, opening: re.Match[str]) -> int:
    at = opening.end()
    while text.startswith(opening[0], skip_space(text, at)):
        at = skip_space(text, at) + len(opening[0])
    return at


def _after(text: str, at: int, closer: str, found: list[Found], repairs: list[str]) -> Part:
    """Step over surplus braces and the end marks of the wrapper."""
    extra = _EXTRA_CLOSERS.match(text, at)
    if extra and text.startswith(closer, extra.end()):
        repairs.append("surplus closing brace left out")
        found = [replace(one, call=replace(one.call, repaired=True)) if one.call else one for one in found]
        at = extra.end()
    while text.startswith(closer, skip_space(text, at)):
        at = skip_space(text, at) + len(closer)
    return Part(end=at, found=tuple(found), repairs=tuple(repairs))


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<{tag}>{inside(call, tag)}</{tag}>"


def _write_result(name: str, text: str, tag: str) -> str:
    mark = result_tag(tag)
    return f"<{mark}>{inside(json.dumps({'name': name, 'content': text}, ensure_ascii=False), mark)}</{mark}>"


_WRITING = Writing(
    how='<{tag}>{"name": SKILL, "arguments": {...}}</{tag}>',
    call=_write,
    result=_write_result,
    stop=lambda tag: (f"<{result_tag(tag)}>",),
)
TAGGED = Dialect(forms=(FORM,), writing=_WRITING)
HERMES = Dialect(forms=(FORM,), writing=_WRITING, tag="tool_call")
