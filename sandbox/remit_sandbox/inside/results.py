"""Any value that a handler returns, as strict JSON text."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, Sequence, Set, ValuesView
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic_core import to_json as write

from remit_sandbox.inside.media import File, media_type
from remit_sandbox.inside.plain import is_plain
from remit_sandbox.inside.text import well_formed

DEPTH = 100
"""Levels that a result may nest."""

NODES = 1_000_000
"""Values that a result may hold in all."""

LENGTH = 32 * 1024 * 1024 - 64 * 1024
"""Bytes of JSON text, unless the cell is told another limit."""

DIGITS = 4_300
"""Decimal digits of an integer: what Python itself parses."""

BITS = int(DIGITS * 3.3)
"""Of the longest integer."""

_SMALL = 2**53
_TEXT_TYPES = (UUID, PurePath, Fraction)
_TIMES = (datetime, date, time)
_TEXT_MODULES = ("ipaddress", "zoneinfo", "pydantic.networks")


class NotJson(ValueError):
    """A value that has no honest form in JSON; the message says where and why."""


def to_json(value: Any, *, limit: int = LENGTH, mask: Callable[[str], str] | None = None) -> bytes:
    """Return `value` as JSON text in UTF-8, deterministic and strict.

    Bytes become `{"$bytes": base64, "media_type": ...}`, times ISO 8601 text, decimals text, enums
    their value, sets sorted arrays, data classes, named tuples and pydantic models objects. Keys
    of mappings become text. Lone surrogates in text are written as `\\udc80`.

    Args:
        value: what the handler returned.
        limit: the longest text in bytes.
        mask: applied to every text, to keep secrets out.

    Raises:
        NotJson: NaN or infinity, a type without a JSON form, two keys that become one, a value
            that contains itself, or one that is too large.
    """
    text = _at_once(value, limit) if mask is None else None
    if text is None:
        text = write(_Plain(limit, mask).convert(value))
    if len(text) > limit:
        raise NotJson(f"the result is {len(text)} bytes of JSON; at most {limit} are allowed")
    return text


def _at_once(value: Any, limit: int) -> bytes | None:
    """Return the JSON text of a value that needs no conversion, None for any other."""
    if type(value) is str:
        fits = len(value) <= limit
    else:
        fits = is_plain(value, depth=DEPTH, nodes=NODES, bits=BITS, size=limit)
    try:
        return write(value) if fits else None
    except ValueError:
        return None


class _Plain:
    """One conversion to the types that `json` writes; counts what it sees."""

    def __init__(self, limit: int, mask: Callable[[str], str] | None) -> None:
        self._limit = limit
        self._mask = mask
        self._nodes = 0
        self._size = 0
        self._path: list[str | int | None] = []

    def convert(self, value: Any) -> Any:
        self._count(value)
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is int:
            return self._integer(value)
        if kind is float:
            return self._float(value)
        if kind is dict:
            return self._mapping(value)
        if kind is list or kind is tuple:
            return self._items(value)
        return self._other(value)

    def _count(self, value: Any) -> None:
        self._nodes += 1
        if self._nodes > NODES:
            raise NotJson(f"the result holds more than {NODES} values")
        if len(self._path) > DEPTH:
            raise NotJson(f"the result nests deeper than {DEPTH} levels; does it contain itself?")
        if isinstance(value, (str, bytes, bytearray)):
            self._grow(len(value))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            raise NotJson(f"the result is larger than {self._limit} bytes; return less, or write it to a file")

    def _other(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return self.convert(value.value)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return self._integer(int.__add__(value, 0))
        if isinstance(value, float):
            return self._float(float.__add__(value, 0.0))
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(value)
        if isinstance(value, File):
            return {**self._bytes(value.data), "media_type": self._text(value.media_type)}
        text = _text_form(value, self._where)
        if text is not None:
            return self._text(text)
        return self._composite(value)

    def _composite(self, value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return self._mapping({f.name: getattr(value, f.name) for f in fields(value)})
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._mapping(dict(zip(value._fields, value, strict=True)))
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (Set, KeysView)):
            return self._set(value)
        if isinstance(value, (Sequence, ValuesView, ItemsView)) or _is_deque(value):
            return self._items(value)
        return self._foreign(value)

    def _foreign(self, value: Any) -> Any:
        pydantic = sys.modules.get("pydantic")
        if pydantic is not None and isinstance(value, pydantic.BaseModel):
            return self._step(None, value.model_dump(mode="python"))
        root = type(value).__module__.partition(".")[0]
        if root == "numpy" and hasattr(value, "tolist"):
            return self._step(None, value.tolist())
        raise NotJson(
            f"the handler returned a {_name(type(value))}{self._where()}, which has no JSON form; "
            "return text, numbers, lists, dicts, data classes or bytes"
        )

    def _text(self, value: str) -> str:
        value = well_formed(value)
        return self._mask(value) if self._mask else value

    def _integer(self, value: int) -> int:
        if value.bit_length() > BITS:
            raise NotJson(f"an integer{self._where()} has more than about {DIGITS} digits")
        return value

    def _float(self, value: float) -> float:
        if not math.isfinite(value):
            raise NotJson(f"the handler returned {value!r}{self._where()}; JSON has no such number")
        return value

    def _bytes(self, value: bytes | bytearray | memoryview) -> dict[str, str]:
        data = bytes(value)
        self._grow(len(data) // 3)
        return {"$bytes": base64.b64encode(data).decode(), "media_type": media_type(data)}

    def _items(self, values: Iterable[Any]) -> list[Any]:
        return [self._step(index, value) for index, value in enumerate(values)]

    def _set(self, values: Iterable[Any]) -> list[Any]:
        return sorted(self._items(values), key=_order)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, item in value.items():
            name = self._text(_key(key, self._where))
            self._grow(len(name))
            if name in plain:
                raise NotJson(f"two keys{self._where()} become the same text {name!r}")
            plain[name] = self._step(name, item)
        return plain

    def _step(self, name: str | int | None, value: Any) -> Any:
        simple = (type(value) is int and -_SMALL < value < _SMALL) or value is None
        if simple and self._nodes < NODES:
            self._nodes += 1
            return value
        self._path.append(name)
        plain = self.convert(value)
        self._path.pop()
        return plain

    def _where(self) -> str:
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self._path if step is not None)
        path = path[:200]
        return f" at result{path}" if path else ""


def _text_form(value: Any, where: Callable[[], str]) -> str | None:
    """Return the text of a value whose honest JSON form is text, None for every other value."""
    if isinstance(value, _TIMES):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise NotJson(f"the handler returned the decimal {value}{where()}; JSON has no such number")
        return str(value)
    if isinstance(value, (*_TEXT_TYPES, timezone)):
        return str(value)
    kind = type(value)
    if kind.__module__ in _TEXT_MODULES or (kind.__module__ == "pydantic.types" and hasattr(kind, "get_secret_value")):
        return str(value)
    return None


def _duration(value: timedelta) -> str:
    """Return `value` in ISO 8601: `P1DT2H3.5S` style, days and seconds only."""
    sign = "-" if value < timedelta(0) else ""
    value = abs(value)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    seconds = f"{value.seconds}{fraction}"
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}" if days and seconds == "0" else f"{sign}P{days}T{seconds}S"


def _key(key: Any, where: Callable[[], str]) -> str:
    if type(key) is str:
        return key
    if key is None or key is True or key is False:
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, Enum):
        return _key(key.value, where)
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int):
        return str(int.__add__(key, 0))
    if isinstance(key, float):
        return float.__repr__(key)
    if type(key) is tuple:
        return "(" + ", ".join(_key(part, where) for part in key) + ")"
    text = _text_form(key, where)
    if text is None:
        raise NotJson(f"a key{where()} is a {_name(type(key))}, which has no text form")
    return text


def _order(value: Any) -> tuple[int, Any, str]:
    """Numbers by size, then texts, then the rest by their JSON text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (0, value, "")
    if isinstance(value, str):
        return (1, 0, value)
    return (2, 0, json.dumps(value, sort_keys=True))


def _is_deque(value: Any) -> bool:
    return type(value).__module__ == "collections" and type(value).__name__ == "deque"


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
