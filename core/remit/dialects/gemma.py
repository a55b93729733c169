"""Gemma 4 and FunctionGemma: `call:NAME{key:value}` between tokens, with texts between tokens of their own.

Texts are raw and keys stand without quotes, so this is no JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.pythonic import FORM as PYTHONIC
from remit.dialects.scan import MAX_DEPTH, ScanError, scan, skip_space
from remit.dialects.shapes import Found, make_call, resolve, unknown

_QUOTE = '<|"|>'
_QUOTES = (_QUOTE, "<escape>")
_HEAD = re.compile(r"<(?:\|tool_call|start_function_call)>\s{0,9}call:(?P<name>[^\s{}<>]{1,200})\s{0,9}(?=\{)")
_END = re.compile(r"<(?:tool_call\||end_function_call)>")
_KEY = re.compile(r"\s{0,99}(?P<key>[^:{}\[\],<>\n]{1,400}):")
_PLAIN = re.compile(r"[^,{}\[\]<>\s]{1,400}")
_THOUGHT = re.compile(r"<\|channel>(?:thought)?\s{0,9}")
_THOUGHT_END = "<channel|>"


def _read(text: str, at: int, skills: Skills) -> Part:
    if text.startswith("<channel|>", at):
        return Part(end=at + len(_THOUGHT_END), thought=True)
    if thought := _THOUGHT.match(text, at):
        end = text.find(_THOUGHT_END, thought.end())
        inner = text[thought.end() : len(text) if end < 0 else end]
        after = len(text) if end < 0 else end + len(_THOUGHT_END)
        return Part(end=after, reasoning=inner, ended=end >= 0)
    head = _HEAD.match(text, at)
    try:
        if head is None:
            raise ScanError("expected call:NAME{...}", at, cut=_END.search(text, at) is None)
        value, end = _object(text, head.end(), 0)
    except ScanError as error:
        return recover(text, at, error, _END)
    name = resolve(head["name"], skills)
    found = Found(error=unknown(head["name"], skills)) if name is None else make_call(name, value, skills, [])
    mark = _END.match(text, skip_space(text, end))
    return Part(end=mark.end() if mark else end, found=(found,), exact=True)


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = skip_space(text, at + 1)
    while not text.startswith("}", at):
        key, at = _key(text, at)
        if key in members:
            raise ScanError(f"the key {json.dumps(key)} stands twice in one object", at)
        members[key], at = _value(text, skip_space(text, at), depth + 1)
        at = _next(text, at, "}")
    return members, at + 1


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = skip_space(text, at + 1)
    while not text.startswith("]", at):
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _next(text, at, "]")
    return items, at + 1


def _next(text: str, at: int, close: str) -> int:
    at = skip_space(text, at)
    if text.startswith(",", at):
        return skip_space(text, at + 1)
    if not text.startswith(close, at):
        raise ScanError(f"expected , or {close}", at, cut=at >= len(text))
    return at


def _key(text: str, at: int) -> tuple[str, int]:
    if text.startswith((*_QUOTES, '"'), at):
        key, at = _value(text, at, 0)
        if isinstance(key, str) and text.startswith(":", at):
            return key, at + 1
        raise ScanError("expected a key", at, cut=at >= len(text))
    found = _KEY.match(text, at)
    if found is None:
        raise ScanError("expected a key", at, cut=len(text) - at < 400)
    return found["key"].strip(), found.end()


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise ScanError(f"nested more than {MAX_DEPTH} levels deep", at)
    for quote in _QUOTES:
        if text.startswith(quote, at):
            start = at + len(quote)
            end = text.find(quote, start)
            if end < 0:
                raise ScanError("a text does not end", len(text), cut=True)
            return text[start:end], end + len(quote)
    if text.startswith("{", at):
        return _object(text, at, depth)
    if text.startswith("[", at):
        return _array(text, at, depth)
    if text.startswith('"', at):
        read = scan(text, at)
        return read.value, read.end
    plain = _PLAIN.match(text, at)
    if plain is None or plain.end() >= len(text):
        raise ScanError("expected a value", at, cut=at >= len(text) or plain is not None)
    read = scan(text, at)
    if read.end != plain.end():
        raise ScanError("expected a text, a number, true, false or null", at)
    return read.value, read.end


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    return f"<|tool_call>call:{name}{_written(arguments)}<tool_call|>"


def _written(value: object) -> str:
    if isinstance(value, str):
        return f"{_QUOTE}{value}{_QUOTE}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value)


FORM = Form(name="gemma", read=_read, inline=r"<\|tool_call>|<\|channel>|<channel\|>|<start_function_call>")
_WRITING = Writing(
    how=f"<|tool_call>call:SKILL{{name:{_QUOTE}text{_QUOTE},name:number}}<tool_call|>",
    call=_write,
    result=lambda name, text, tag: f"<|tool_response>response:{name}{{value:{_QUOTE}{text}{_QUOTE}}}<tool_response|>",
    stop=lambda tag: ("<|tool_response>",),
)
DIALECT = Dialect(forms=(FORM, PYTHONIC), writing=_WRITING)
