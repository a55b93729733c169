"""A key fact: a slot with a typed value, the labels of what it rests on, and where it comes from."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, get_args

Kind = Literal["text", "number", "boolean", "date", "list"]
"""What a slot holds: one line or more of text, a number, yes or no, a day (`2026-11-30`), or several texts."""

Value = str | int | float | bool | tuple[str, ...]
"""A date is text in ISO form."""

By = Literal["person", "model"]
"""Who wrote a fact: the person, by `remit memory set`, or the model, by a call."""

MOST_ITEMS = 50
"""Texts of a list."""

LONGEST_NAME = 48

_LARGEST = sys.float_info.max
_LATEST = 253_402_214_400.0
"""The beginning of the last day of the year 9999."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_BETWEEN = re.compile(r"[\s_-]+")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a fact comes from.

    Attributes:
        by: who wrote it.
        own_words: the person themselves said the value, in a session that had read nothing untrusted, or typed it.
        session, call: of the call that wrote it; empty where a person did.
        login: name of the account of the person who typed it; empty where the model wrote it.
        typed: the person typed a fact of this name, which the model has changed on their words since: it stays theirs.
    """

    by: By
    own_words: bool = False
    session: str = ""
    call: str = ""
    login: str = ""
    typed: bool = False

    @property
    def guarded(self) -> bool:
        """Only the person's own words change the fact."""
        return self.by == "person" or self.typed


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One thing that is remembered of a person.

    Attributes:
        name: of the slot, such as `home_city`; a person has each name once.
        kind: what the slot holds.
        value: of that kind.
        labels: `untrusted` where it may rest on what strangers wrote, `private` where it is nobody else's business.
        origin: where it comes from.
        created, updated: seconds since 1970.
    """

    name: str
    kind: Kind
    value: Value
    labels: frozenset[str] = frozenset()
    origin: Origin = field(default_factory=lambda: Origin(by="model"))
    created: float = 0.0
    updated: float = 0.0

    @property
    def plain(self) -> str | int | float | bool | list[str]:
        """The value as plain JSON data."""
        return list(self.value) if isinstance(self.value, tuple) else self.value

    def to_json(self) -> dict[str, Any]:
        """Return the fact as plain JSON data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "value": self.plain,
            "labels": sorted(self.labels),
            "origin": vars(self.origin).copy(),
            "created": self.created,
            "updated": self.updated,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Fact:
        """Read what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        kind: Any = body["kind"]
        origin: Any = body["origin"]
        if not isinstance(body["name"], str) or not isinstance(origin, Mapping):
            raise TypeError("a fact has a name and an origin")
        if slot_name(body["name"]) != body["name"] or kind not in get_args(Kind):
            raise ValueError(f"{body['name']!r} of kind {kind!r} is no fact")
        if origin["by"] not in get_args(By):
            raise ValueError(f"nobody known wrote the fact {body['name']}")
        where: dict[str, Any] = {name: str(origin.get(name, "")) for name in ("session", "call", "login")}
        known: dict[str, Any] = {name: origin.get(name) is True for name in ("own_words", "typed")}
        return cls(
            name=body["name"],
            kind=kind,
            value=typed(kind, body["value"]),
            labels=frozenset(map(str, body.get("labels", ()))),
            origin=Origin(by=origin["by"], **known, **where),
            created=_moment(body["created"]),
            updated=_moment(body["updated"]),
        )


def slot_name(text: str) -> str:
    """Return the name of a slot as it is written: `Home city` becomes `home_city`.

    Raises:
        ValueError: it has other characters than those of English words, or is longer than `LONGEST_NAME`.
    """
    name = _BETWEEN.sub("_", text.lower()).strip("_")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ValueError(
            f"{text[:60]!r} is no name of a fact: write at most {LONGEST_NAME} letters a to z, digits and _, "
            "such as home_city"
        )
    return name


def kind_of(value: object) -> Kind:
    """Return the kind of a value where nothing declares it. Raises ValueError for what is no value of a fact."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (list, tuple)):
        return "list"
    raise ValueError("a fact is a text, a number, true or false, or a list of texts")


def typed(kind: Kind, value: object) -> Value:
    """Return `value` as one of this kind, where that loses nothing: `"42"` is the number 42.

    Raises:
        ValueError: it is none.
    """
    return _TYPED[kind](value)


def length(value: Value) -> int:
    """Return the characters of a value."""
    return sum(map(len, value)) if isinstance(value, tuple) else len(str(value))


def _moment(seconds: Any) -> float:
    """Return a time that a calendar has."""
    if not 0 <= float(seconds) < _LATEST:
        raise ValueError(f"{seconds!r} is no time")
    return float(seconds)


def _text(value: object) -> str:
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("the value is empty")
        return value.strip()
    if isinstance(value, (int, float)):
        return json.dumps(value)
    raise ValueError("the value must be one text")


def _number(value: object) -> int | float:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST <= value <= _LARGEST:
        raise ValueError("the value must be a number, such as 42 or 1.5")
    return value


def _boolean(value: object) -> bool:
    said = {"true": True, "yes": True, "false": False, "no": False}
    found = said.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ValueError("the value must be true or false")
    return found


def _date(value: object) -> str:
    try:
        return date.fromisoformat(str(value).strip()).isoformat()
    except ValueError:
        raise ValueError("the value must be a day in the form 2026-11-30") from None


def _list(value: object) -> tuple[str, ...]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not items or len(items) > MOST_ITEMS:
        raise ValueError(f"the value must be a list of 1 to {MOST_ITEMS} texts")
    return tuple(map(_text, items))


_TYPED = {"text": _text, "number": _number, "boolean": _boolean, "date": _date, "list": _list}
