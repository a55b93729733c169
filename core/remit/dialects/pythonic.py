"""Calls as Python writes them: `[get_weather(city="Oslo"), now()]`, as Llama 4 and small models do.

Nothing is evaluated: names, then keyword arguments that are plain values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, scan, skip_space
from remit.dialects.shapes import Found, make_call, resolve, unknown

_NAME = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,199})\(")
_KEY = re.compile(r"(?P<key>[A-Za-z_]\w{0,199})\s{0,9}=(?!=)")
_LINE_END = re.compile(r"[ \t]{0,99}(?:\n|\Z|<\|python_end\|>|<\|e[a-z_]{1,20}\|>)")
_START, _END = "<|python_start|>", "<|python_end|>"
_END_MARK = re.compile(re.escape(_END))

_MOST = 1000

CODE = frozenset({"python", "py", "tool_code"})
"""Languages of fences that hold calls where they hold nothing else."""


def _read(text: str, at: int, skills: Skills) -> Part | None:
    if text.startswith(_END, at):
        return Part(end=at + len(_END))
    if text.startswith(_START, at):
        return _wrapped(text, skip_space(text, at + len(_START)), skills)
    listed = text.startswith("[", at)
    try:
        found, end = _list(text, at, skills) if listed else _each(text, at, skills)
    except ScanError as error:
        told = error.cut and _names_skill(text, at, skills)
        return recover(text, at, error, None) if told else None
    alone = _LINE_END.match(text, end) if listed else skip_space(text, end) >= len(text)
    if not alone or not (listed or all(one.call for one in found)):
        return None
    return Part(end=end, found=tuple(found))


def _wrapped(text: str, at: int, skills: Skills) -> Part:
    try:
        found, end = _list(text, at, skills) if text.startswith("[", at) else _each(text, at, skills)
    except ScanError as error:
        return recover(text, at, error, _END_MARK)
    return Part(end=end, found=tuple(found))


def read_code(text: str, skills: Skills) -> list[Found] | None:
    """Return the calls of a block of code that holds nothing else, or None."""
    at = skip_space(text, 0)
    try:
        found, end = _list(text, at, skills) if text.startswith("[", at) else _each(text, at, skills)
    except ScanError:
        return None
    known = all(one.call for one in found)
    return found if found and known and skip_space(text, end) >= len(text) else None


def _names_skill(text: str, at: int, skills: Skills) -> bool:
    name = _NAME.match(text, skip_space(text, at + 1) if text.startswith("[", at) else at)
    return name is not None and resolve(name["name"], skills) is not None


def _each(text: str, at: int, skills: Skills) -> tuple[list[Found], int]:
    """Read calls that follow each other on lines of their own."""
    found: list[Found] = []
    following: int | None = at
    while following is not None:
        one, at = _call(text, following, skills)
        found.append(one)
        _not_too_many(found, at)
        rest = skip_space(text, at + 1 if text.startswith(";", at) else at)
        following = rest if "\n" in text[at:rest] and _NAME.match(text, rest) else None
    return found, at


def _list(text: str, at: int, skills: Skills) -> tuple[list[Found], int]:
    inner = skip_space(text, at + 1)
    if text.startswith(("'", '"'), inner):
        return _quoted(text, at, skills)
    found: list[Found] = []
    while True:
        one, at = _call(text, inner, skills)
        found.append(one)
        _not_too_many(found, at)
        at = skip_space(text, at)
        if text.startswith("]", at):
            return found, at + 1
        if not text.startswith(",", at):
            raise ScanError("expected , or ]", at, cut=at >= len(text))
        inner = skip_space(text, at + 1)


def _not_too_many(found: list[Found], at: int) -> None:
    if len(found) > _MOST:
        raise ScanError(f"more than {_MOST} calls were written at once", at)


def _quoted(text: str, at: int, skills: Skills) -> tuple[list[Found], int]:
    read = scan(text, at, python=True)
    found: list[Found] = []
    for item in read.value:
        one, end = _call(item, 0, skills) if isinstance(item, str) else (Found(), 0)
        if not isinstance(item, str) or end < len(item):
            raise ScanError("expected a call", at)
        found.append(one)
    return found, read.end


def _call(text: str, at: int, skills: Skills) -> tuple[Found, int]:
    head = _NAME.match(text, at)
    if head is None:
        raise ScanError("expected a call", at, cut=len(text) - at < 200 and "(" not in text[at:])
    arguments, end = _arguments(text, head.end())
    name = resolve(head["name"], skills)
    return Found(error=unknown(head["name"], skills)) if name is None else make_call(name, arguments, skills, []), end


def _arguments(text: str, at: int) -> tuple[Mapping[str, object], int]:
    given: dict[str, object] = {}
    at = skip_space(text, at)
    while not text.startswith(")", at):
        key = _KEY.match(text, at)
        if key is None or key["key"] in given:
            raise ScanError("expected name=value", at, cut=len(text) - at < 200 and "=" not in text[at:])
        read = scan(text, key.end(), python=True)
        given[key["key"]] = read.value
        at = skip_space(text, read.end)
        if text.startswith(",", at):
            at = skip_space(text, at + 1)
        elif not text.startswith(")", at):
            raise ScanError("expected , or )", at, cut=at >= len(text))
    return given, at + 1


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    given = ", ".join(f"{key}={_literal(value)}" for key, value in arguments.items())
    return f"[{name}({given})]"


def _literal(value: object) -> str:
    """Return a value as a literal that both Python and our scanner read; JSON's text is Python's, too."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


FORM = Form(
    name="pythonic",
    read=_read,
    inline=r"<\|python_(?:start|end)\|>",
    line=r"\[(?=\s{0,9}['\"]?[A-Za-z_][\w.-]{0,199}\()",
    fresh=r"\[(?=\s{0,9}['\"]?[A-Za-z_][\w.-]{0,199}\()|[A-Za-z_][\w.-]{0,199}\(",
)
_WRITING = Writing(
    how="[SKILL(name=value, ...)]",
    call=_write,
    result=lambda name, text, tag: f"Result of {name}: {text}",
    stop=lambda tag: ("<|python_end|>",),
)
DIALECT = Dialect(forms=(FORM,), writing=_WRITING)
