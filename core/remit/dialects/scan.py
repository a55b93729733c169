"""A scanner for JSON as models write it: exact where it is sound, and open about every repair.

Repaired are trailing commas, single quotes, Python's `True`, `False` and `None`, comments, unquoted keys,
and closers that are missing right before the end mark of a wrapper. Raw control characters in strings are
no damage. Never repaired: what is cut off, duplicate keys, NaN, infinities, odd numbers, stray quotes.
Time is linear in what is read, and nothing is ever evaluated.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 64
"""Deepest nesting that is read."""

_SPACE = re.compile(r"[ \t\r\n\f\v\u00a0\ufeff]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DOUBLE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SINGLE = re.compile(r"'[^'\\]*(?:\\.[^'\\]*)*'", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.+-])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_UNESCAPED = re.compile(r"\\(.)|\"", re.DOTALL)

_LENIENT = json.JSONDecoder(strict=False)
"""Reads texts with raw control characters in them, too."""

_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON: dict[str, Any] = {"True": True, "False": False, "None": None}


class ScanError(ValueError):
    """The text cannot be read as JSON.

    Attributes:
        position: where reading stopped.
        cut: the text ended before the value did.
    """

    def __init__(self, message: str, position: int, *, cut: bool = False) -> None:
        self.position = position
        self.cut = cut
        super().__init__(message)


class ScannedObject(dict[str, Any]):
    """An object that knows its own text.

    Attributes:
        text: the text that was read, or None when any part of it had to be repaired.
    """

    text: str | None = None


@dataclass(kw_only=True)
class Scan:
    """A value read from a text: the value, where it ends, and the repairs that were made."""

    value: Any
    end: int
    repairs: list[str] = field(default_factory=list)


def scan(text: str, start: int, *, closer: str = "", python: bool = False) -> Scan:
    """Read one JSON value at `start`.

    Args:
        closer: the end mark of the wrapper; right before it missing closers are supplied.
        python: the value is a Python literal, so that single quotes, `True`, `False` and `None` are in order.

    Raises:
        ScanError: what is wrong and where.
    """
    scanner = _Scanner(text, closer, python=python)
    value, end = scanner.value(skip_space(text, start), 0)
    return Scan(value=value, end=end, repairs=list(dict.fromkeys(scanner.repairs)))


def skip_space(text: str, position: int) -> int:
    """Return the position of the first character at or after `position` that is no white space."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


class _Scanner:
    def __init__(self, text: str, closer: str, *, python: bool) -> None:
        self._text = text
        self._closer = closer
        self._python = python
        self.repairs: list[str] = []

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH:
            raise ScanError(f"nested more than {MAX_DEPTH} levels deep", at)
        first = self._peek(at)
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        if first in "\"'":
            return self._string(at)
        return self._plain(at)

    def _peek(self, at: int) -> str:
        if at >= len(self._text):
            raise ScanError("the text ends too early", at, cut=True)
        return self._text[at]

    def _next(self, at: int) -> int:
        """Skip white space and comments; a literal of Python has none."""
        at = skip_space(self._text, at)
        while not self._python and self._text.startswith(("//", "/*"), at):
            comment = _COMMENT.match(self._text, at)
            if comment is None:
                raise ScanError("a comment does not end", len(self._text), cut=True)
            self.repairs.append("comment left out")
            at = skip_space(self._text, comment.end())
        return at

    def _object(self, at: int, depth: int) -> tuple[Any, int]:
        members = ScannedObject()
        start, before = at, len(self.repairs)
        at = self._next(at + 1)
        while self._peek(at) != "}":
            key, at = self._key(at)
            if key in members:
                raise ScanError(f"the key {json.dumps(key)} stands twice in one object", at)
            at = self._expect(":", self._next(at))
            members[key], at = self.value(self._next(at), depth + 1)
            at, ended = self._after(self._next(at), "}")
            if ended:
                break
        else:
            at += 1
        if len(self.repairs) == before:
            members.text = self._text[start:at]
        return members, at

    def _array(self, at: int, depth: int) -> tuple[Any, int]:
        items: list[Any] = []
        at = self._next(at + 1)
        while self._peek(at) != "]":
            item, at = self.value(at, depth + 1)
            items.append(item)
            at, ended = self._after(self._next(at), "]")
            if ended:
                return items, at
        return items, at + 1

    def _after(self, at: int, close: str) -> tuple[int, bool]:
        """Go on after a member: over a comma to the next one, or over the end."""
        mark = self._peek(at)
        if mark == close:
            return at + 1, True
        if mark == ",":
            at = self._next(at + 1)
            if self._peek(at) == close:
                self.repairs.append("trailing comma left out")
            return at, False
        if self._closer and self._text.startswith(self._closer, at):
            self.repairs.append(f"missing {close} supplied")
            return at, True
        raise ScanError(f"expected , or {close}", at)

    def _expect(self, mark: str, at: int) -> int:
        if self._peek(at) != mark:
            raise ScanError(f"expected {mark}", at)
        return at + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self._peek(at) in "\"'":
            return self._string(at)
        word = _WORD.match(self._text, at)
        if word is None or not self._text.startswith(":", self._next(word.end())):
            raise ScanError("expected a key in double quotes", at, cut=word is not None and self._is_end(word.end()))
        self.repairs.append("key put in quotes")
        return word[0], word.end()

    def _is_end(self, at: int) -> bool:
        return skip_space(self._text, at) >= len(self._text)

    def _string(self, at: int) -> tuple[str, int]:
        single = self._text[at] == "'"
        found = (_SINGLE if single else _DOUBLE).match(self._text, at)
        if found is None:
            raise ScanError("a text in quotes does not end", len(self._text), cut=True)
        written = found[0]
        if single:
            if not self._python:
                self.repairs.append("single quotes read as double quotes")
            inner = _UNESCAPED.sub(_as_double, written[1:-1])
            written = f'"{inner}"'
        elif "\\" not in written:
            return written[1:-1], found.end()
        try:
            value = _LENIENT.decode(written)
        except ValueError:
            raise ScanError("a text in quotes has an escape that JSON does not know", found.end()) from None
        return value, found.end()

    def _plain(self, at: int) -> tuple[Any, int]:
        if number := _NUMBER.match(self._text, at):
            return _number(number[0], at), number.end()
        word = _WORD.match(self._text, at)
        if word and word[0] in _LITERALS:
            return _LITERALS[word[0]], word.end()
        if word and word[0] in _PYTHON:
            if not self._python:
                self.repairs.append(f"Python's {word[0]} read as JSON")
            return _PYTHON[word[0]], word.end()
        shown = json.dumps(self._text[at : at + 12])
        raise ScanError(f"{shown} is no JSON value", at, cut=word is not None and word.end() >= len(self._text))


def _as_double(found: re.Match[str]) -> str:
    if found[0] == '"':
        return '\\"'
    return "'" if found[1] == "'" else found[0]


def _number(text: str, at: int) -> int | float:
    if len(text) > 400:
        raise ScanError("a number has too many digits", at)
    value: int | float = json.loads(text)
    if value in (float("inf"), float("-inf")):
        raise ScanError(f"the number {text[:24]} is too large", at)
    return value
