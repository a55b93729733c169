"""YAML and JSON as plain values that know on which line each of them stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from remit.errors import UsageError
from remit.packs.strict_json import BadJson, parse_strict

MOST_VALUES = 100_000
"""Values of one file, those that YAML aliases repeat counted each time."""

LONG = 1_000
"""Characters of a text that count as one more value: an alias can repeat a long text as often as a short one."""

DEEPEST = 50
"""Nesting of one file."""

Path = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""

_YAML_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+|\n', re.DOTALL)


@dataclass(frozen=True)
class Located:
    """A value and its lines.

    Attributes:
        value: plain JSON data.
        lines: path to the line on which it begins, from 1.
    """

    value: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Return the line of a value, or of the nearest one around it; 0 for none."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


class Malformed(ValueError):
    """A file that cannot be read; the message names the line."""


def read_json(text: str) -> Located:
    """Read one JSON value. Raises Malformed."""
    try:
        value = parse_strict(text)
    except BadJson as error:
        raise Malformed(str(error)) from None
    return Located(value, dict(_json_lines(text)))


def _json_lines(text: str) -> Iterator[tuple[Path, int]]:
    """Yield path and line of each value in a text that is JSON."""
    line, key = 1, ""
    path: list[Any] = []
    containers: list[str] = []
    due = True
    for found in _JSON_TOKEN.finditer(text):
        token = found[0]
        if token == "\n":
            line += 1
            continue
        if token in ",]}":
            if token != ",":
                containers.pop()
                path = path[: len(containers)]
            elif containers[-1] == "[":
                path[-1] += 1
            due = token == "," and containers[-1] == "["
            continue
        if token == ":":
            path[-1], due = key, True
            continue
        if containers and containers[-1] == "{" and not due:
            key = json.loads(token)
            continue
        yield tuple(path), line
        line += token.count("\n")
        due = False
        if token in "[{":
            containers.append(token)
            path.append(0)
            due = token == "["


def read_yaml(text: str) -> Located:
    """Read one YAML document of plain values: no tags, no merge keys, numbers and words as JSON has them.

    Raises:
        Malformed: it is none, or too large.
        UsageError: the library is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise UsageError(
            "a suite in YAML needs PyYAML, which is not installed",
            remedy='pip install "remit[eval]", or write the suite as JSON or JSON Lines',
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    building = _Building()
    try:
        for event in yaml.parse(text, Loader=loader):
            building.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise Malformed(f"{where}{getattr(error, 'problem', None) or error}") from None
    return Located(building.value, building.lines)


@dataclass
class _Open:
    """A list or table that is being read."""

    value: Any
    anchor: str | None
    before: int
    height: int = 1
    key: Any = None
    has_key: bool = False


class _Building:
    """Makes plain values of YAML's events, without recursion."""

    def __init__(self) -> None:
        self.value: Any = None
        self.lines: dict[Path, int] = {}
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._count = 0
        self._documents = 0
        self._line = 0

    def take(self, event: Any) -> None:
        """Take one event in."""
        kind = type(event).__name__
        self._line = event.start_mark.line + 1
        if kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise self._malformed("a second document begins here; write one suite a file")
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin(event, {} if kind == "MappingStartEvent" else [])
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._end()
        elif kind == "ScalarEvent":
            self._require_no_tag(event)
            value = _scalar(event.value) if event.implicit[0] and event.tag is None else event.value
            self._add(value, 1 + len(event.value) // LONG, 0, event.anchor)
        elif kind == "AliasEvent":
            if event.anchor not in self._anchors:
                raise self._malformed(f"the alias *{event.anchor} leads nowhere, or into itself")
            self._add(*self._anchors[event.anchor], None)

    def _begin(self, event: Any, value: Any) -> None:
        self._require_no_tag(event)
        if len(self._open) >= DEEPEST:
            raise self._malformed(f"nested more than {DEEPEST} levels deep")
        if self._open and isinstance(self._open[-1].value, dict) and not self._open[-1].has_key:
            raise self._malformed("a key is a text, not a list or table")
        self.lines[self._path()] = self._line
        self._open.append(_Open(value, event.anchor, self._count))
        self._counted(1)

    def _end(self) -> None:
        done = self._open.pop()
        size = self._count - done.before
        if done.anchor:
            self._anchors[done.anchor] = (done.value, size, done.height)
        self._raised(done.height)
        self._place(done.value)

    def _raised(self, height: int) -> None:
        """Note how many levels lie below the table or list that is being read; aliases bring levels of their own."""
        if len(self._open) + height > DEEPEST:
            raise self._malformed(f"nested more than {DEEPEST} levels deep")
        if self._open:
            self._open[-1].height = max(self._open[-1].height, height + 1)

    def _add(self, value: Any, size: int, height: int, anchor: str | None) -> None:
        self._counted(size)
        self._raised(height)
        if anchor:
            self._anchors[anchor] = (value, size, height)
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and not top.has_key:
            key = value if isinstance(value, str) else str(value)
            if key in top.value:
                raise self._malformed(f"the key {key!r} stands twice in one table")
            top.key, top.has_key = key, True
            return
        self.lines[self._path()] = self._line
        self._place(value)

    def _place(self, value: Any) -> None:
        if not self._open:
            self.value = value
            return
        top = self._open[-1]
        if isinstance(top.value, dict):
            top.value[top.key], top.has_key = value, False
        else:
            top.value.append(value)

    def _path(self) -> Path:
        return tuple(one.key if isinstance(one.value, dict) else len(one.value) for one in self._open)

    def _counted(self, size: int) -> None:
        self._count += size
        if self._count > MOST_VALUES:
            raise self._malformed(f"more than {MOST_VALUES} values, what aliases repeat counted each time")

    def _require_no_tag(self, event: Any) -> None:
        if event.tag not in (None, "!") and not str(event.tag).startswith("tag:yaml.org,2002:"):
            raise self._malformed(f"the tag {event.tag} is not taken: a suite holds plain values")
        if str(event.tag or "").startswith("tag:yaml.org,2002:python"):
            raise self._malformed(f"the tag {event.tag} is not taken: a suite holds plain values")

    def _malformed(self, why: str) -> Malformed:
        return Malformed(f"line {self._line}: {why}")


def _scalar(text: str) -> Any:
    """Return a plain scalar as JSON would have it; what is no number and no word of JSON is text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not _YAML_NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() and len(text) < 17 else float(text)
