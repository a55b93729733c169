"""Kimi K3: everything stands in elements, `<|open|>NAME ...<|sep|>` to `<|close|>NAME<|sep|>`."""

from __future__ import annotations

import re

from remit.dialects.fields import grammar, read_fields, unescaped
from remit.dialects.form import Form, Part, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError
from remit.dialects.shapes import Found, resolve, unknown

_TAG = re.compile(r"<\|(?P<kind>open|close)\|>(?P<name>[a-z_]{1,32})(?P<rest>[^<>]{0,400})<\|sep\|>")
_TOOL = re.compile(r'\btool="(?P<tool>[^"]{1,200})"')
_THOUGHT_END = "<|close|>think<|sep|>"
_CALL_END = re.compile(r"<\|close\|>call<\|sep\|>")
_GRAMMAR = grammar(
    opening=r'<\|open\|>argument\s{1,9}key="(?P<key>[^"]{0,400})"'
    r'(?:\s{1,9}type="(?:(?P<text>string)|(?P<data>\w{1,20}))")?\s{0,9}<\|sep\|>',
    closing=r"<\|close\|>argument<\|sep\|>\s*+(?=<\|open\|>argument\b|<\|close\|>call<\|sep\|>)",
    end=_CALL_END.pattern,
)


def _read(text: str, at: int, skills: Skills) -> Part:
    tag = _TAG.match(text, at)
    if tag is None:
        return recover(text, at, ScanError("an element is not complete", at, cut=True), None)
    if tag["kind"] == "close":
        return Part(end=tag.end(), thought=tag["name"] == "think", exact=True)
    if tag["name"] == "think":
        end = text.find(_THOUGHT_END, tag.end())
        inner = text[tag.end() : len(text) if end < 0 else end]
        return Part(
            end=tag.end() + len(inner) + (len(_THOUGHT_END) if end >= 0 else 0), reasoning=inner, ended=end >= 0
        )
    if tag["name"] == "call":
        return _call(text, at, tag, skills)
    return Part(end=tag.end(), exact=True)


def _call(text: str, at: int, tag: re.Match[str], skills: Skills) -> Part:
    tool = _TOOL.search(tag["rest"])
    written = unescaped(tool["tool"]) if tool else ""
    name = resolve(written, skills)
    if name is None:
        end = _CALL_END.search(text, tag.end())
        found = Found(error=unknown(written, skills))
        return Part(end=end.end() if end else len(text), found=(found,), over=end is None, exact=True)
    repairs: list[str] = []
    try:
        found, end_at = read_fields(text, tag.end(), name, skills, _GRAMMAR, repairs)
    except ScanError as error:
        return recover(text, at, error, _CALL_END)
    return Part(end=end_at, found=(found,), repairs=tuple(repairs), exact=True)


FORM = Form(name="xtml", read=_read, inline=r"<\|(?:open|close)\|>(?=[a-z]|\Z)")
