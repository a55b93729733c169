"""MiniMax M3: calls in elements, each tag behind a mark of its own; an argument is an element and may hold others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from remit.dialects.fields import data, unescaped
from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.kinds import kinds_of, property_schema, resolved
from remit.dialects.parsed import ParsedCall, Skills
from remit.dialects.qwen_xml import as_text
from remit.dialects.scan import MAX_DEPTH, ScanError, skip_space
from remit.dialects.shapes import Found, resolve, unknown

_MARK = "]<]minimax[>["
_TAG = re.compile(
    re.escape(_MARK) + r"\s{0,9}<(?P<slash>/?)(?P<name>[A-Za-z_][\w.-]{0,199})"
    r"""(?:\s{1,9}name=["']?(?P<tool>[^"'<>\n]{1,200})["']?)?\s{0,9}>"""
)
_CALL_END = re.compile(re.escape(_MARK) + r"\s{0,9}</invoke>")


def _read(text: str, at: int, skills: Skills) -> Part:
    tag = _TAG.match(text, at)
    if tag is None:
        return recover(text, at, ScanError("a tag is not complete", at, cut=True), None)
    if tag["name"] != "invoke" or tag["slash"]:
        return Part(end=tag.end())
    written = unescaped(tag["tool"] or "").strip()
    name = resolve(written, skills)
    if name is None:
        end = _CALL_END.search(text, tag.end())
        told = Found(error=unknown(written, skills))
        return Part(end=end.end() if end else len(text), found=(told,), over=end is None)
    reader = _Elements(text, skills[name])
    try:
        arguments, end_at = reader.members(tag.end(), "invoke", skills[name], 0)
    except ScanError as error:
        return recover(text, at, error, _CALL_END)
    repairs = tuple(reader.repairs)
    call = ParsedCall(name=name, arguments=_object(arguments), repaired=bool(repairs))
    return Part(end=end_at, found=(Found(call=call),), repairs=repairs)


class _Elements:
    """Reads elements into JSON, each value as the schema has it."""

    def __init__(self, text: str, root: Mapping[str, Any]) -> None:
        self._text = text
        self._root = root
        self.repairs: list[str] = []

    def members(self, at: int, name: str, schema: Mapping[str, Any], depth: int) -> tuple[dict[str, str], int]:
        """Read elements up to the end tag of `name`; return them by name, and where the end tag ends."""
        found: dict[str, str] = {}
        for key, tag in self._tags(at, name):
            if key in found:
                raise ScanError(f"the argument {json.dumps(key)} stands twice in one call", tag.end())
            inner = property_schema(schema, key) if not depth or _says_members(schema) else {}
            found[key], self._at = self._value(tag, inner, depth + 1)
        return found, self._at

    def _items(self, at: int, name: str, schema: Any, depth: int) -> tuple[list[str], int]:
        found: list[str] = []
        for _, tag in self._tags(at, name):
            value, self._at = self._value(tag, schema, depth + 1)
            found.append(value)
        return found, self._at

    def _tags(self, at: int, name: str) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield the opening tags that follow each other; the caller moves `_at` behind each element."""
        self._at = at
        while True:
            start = skip_space(self._text, self._at)
            tag = _TAG.match(self._text, start)
            if tag is None:
                cut = _CALL_END.search(self._text, start) is None
                raise ScanError(f"expected an element or the end of {name}", start, cut=cut)
            if tag["slash"]:
                if tag["name"] != name:
                    raise ScanError(f"expected the end of {name}", start)
                self._at = tag.end()
                return
            yield tag["name"], tag

    def _value(self, tag: re.Match[str], schema: Any, depth: int) -> tuple[str, int]:
        if depth > MAX_DEPTH:
            raise ScanError("elements are nested too deeply", tag.start())
        mark = self._text.find(_MARK, tag.end())
        following = _TAG.match(self._text, mark) if mark >= 0 else None
        if following is None:
            raise ScanError("a value does not end", len(self._text) if mark < 0 else mark, cut=mark < 0)
        raw = self._text[tag.end() : mark]
        kinds = kinds_of(schema, self._root)
        if following["slash"]:
            if following["name"] != tag["name"]:
                raise ScanError(f"expected the end of {tag['name']}", mark)
            return self._leaf(raw, kinds), following.end()
        if raw.strip():
            raise ScanError("a text stands beside elements", tag.end())
        if "array" in kinds or (not kinds and following["name"] == "item"):
            items = _branch(schema, self._root, "array").get("items", {})
            values, end = self._items(tag.end(), tag["name"], items, depth)
            return f"[{', '.join(values)}]", end
        inner, end = self.members(tag.end(), tag["name"], _branch(schema, self._root, "object"), depth)
        return _object(inner), end

    def _leaf(self, raw: str, kinds: frozenset[str]) -> str:
        if not raw.strip() and kinds & {"array", "object"} and "string" not in kinds:
            return "[]" if "array" in kinds else "{}"
        written = None if kinds == {"string"} else data(raw.strip(), kinds, self.repairs)
        return written or json.dumps(raw, ensure_ascii=False)


def _branch(schema: Any, root: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the part of a schema that says what lies in an array or object."""
    schema = resolved(schema, root)
    if not isinstance(schema, Mapping):
        return {}
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        inner = resolved(branch, root)
        if isinstance(inner, Mapping) and kind in kinds_of(inner, root):
            return inner
    return schema


def _says_members(schema: Mapping[str, Any]) -> bool:
    return isinstance(schema.get("properties"), Mapping) or isinstance(schema.get("additionalProperties"), Mapping)


def _object(members: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in members.items()) + "}"


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    elements = "".join(f"{_MARK}<{key}>{as_text(value)}{_MARK}</{key}>\n" for key, value in arguments.items())
    return f'{_MARK}<tool_call>\n{_MARK}<invoke name="{name}">\n{elements}{_MARK}</invoke>\n{_MARK}</tool_call>'


FORM = Form(name="minimax_m3", read=_read, inline=r"\]<\]minimax\[>\[(?=\s{0,9}<|\Z)", begins=(_MARK,))
_WRITING = Writing(
    how=f'{_MARK}<tool_call>\n{_MARK}<invoke name="SKILL">\n{_MARK}<NAME>value{_MARK}</NAME>\n{_MARK}</invoke>\n'
    f"{_MARK}</tool_call>",
    call=_write,
    result=lambda name, text, tag: f"<response>{text}</response>",
    stop=lambda tag: ("<response>",),
)
DIALECT = Dialect(forms=(FORM,), writing=_WRITING)
