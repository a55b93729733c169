"""Values of a program as plain data that crosses the border of a cell and comes out the same.

JSON has no tuple, set, bytes or keys that are not text. These are written as an object with one key that begins with
`$`; the host reads them back without evaluating anything, within limits.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from remit_sandbox.inside.text import well_formed
from remit_sandbox.python.proxies import Imported

DEPTH = 40
"""Levels that a value may nest; what is deeper becomes text."""

NODES = 200_000
"""Values that it may hold in all."""

TEXT = 100_000
"""Characters of the text that stands for any other value."""

BITS = 14_000
"""Of the longest integer: what Python writes in decimal."""

_LISTS = (list, collections.deque)
_DICTS = (dict, collections.defaultdict, collections.OrderedDict, collections.Counter)


class _TooMuch(Exception):
    """The value is too deep or too large to be taken over piece by piece."""


def encode(value: Any) -> Any:
    """Return `value` as plain JSON data; never raises for what a program can make."""
    try:
        return _Encoder().encode(value, 0)
    except (_TooMuch, RecursionError, MemoryError):
        return shown(value)


class _Encoder:
    def __init__(self) -> None:
        self._nodes = 0

    def encode(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if depth > DEPTH or self._nodes > NODES:
            raise _TooMuch
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return well_formed(value)
        if kind is int:
            return value if value.bit_length() <= BITS else shown(value)
        if kind is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        return self._composite(value, kind, depth + 1)

    def _composite(self, value: Any, kind: type, depth: int) -> Any:
        if kind in (bytes, bytearray):
            return {"$base64": base64.b64encode(value).decode()}
        if kind in _LISTS:
            return [self.encode(item, depth) for item in value]
        if kind is tuple:
            return {"$tuple": [self.encode(item, depth) for item in value]}
        if kind in (set, frozenset):
            return {"$set" if kind is set else "$frozenset": [self.encode(item, depth) for item in value]}
        if kind in _DICTS:
            return self._mapping(value, depth)
        return shown(value)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        if all(type(key) is str and key[:1] != "$" for key in value):
            return {well_formed(key): self.encode(item, depth) for key, item in value.items()}
        return {"$dict": [[self.encode(key, depth), self.encode(item, depth)] for key, item in value.items()]}


def shown(value: Any) -> str:
    """Return the text that stands for a value without a plain form; never raises."""
    if type(value) is int:
        return f"(an integer of {value.bit_length()} bits)"
    try:
        text = value if isinstance(value, str) else _written(value)
        return well_formed(str.__str__(text))[:TEXT]
    except BaseException:
        return f"({'module' if isinstance(value, Imported) else type(value).__name__}, which cannot be shown)"


def _written(value: Any) -> str:
    module, name = type(value).__module__, type(value).__name__
    if module in ("builtins", "itertools") and not isinstance(value, range | slice | complex | type | BaseException):
        return repr(value) if _is_container(value) else f"<{name}>"
    if module in ("datetime", "decimal", "fractions", "uuid", "zoneinfo"):
        return str(value)
    return repr(value)


def _is_container(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | dict | type({}.keys()) | type({}.values()))


def decode(plain: Any) -> Any:
    """Return what `encode` was given, from JSON data that may be anything.

    Raises:
        ValueError: it is not what `encode` writes.
    """
    if isinstance(plain, list):
        return [decode(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if len(plain) == 1:
        (key, inner), *_ = plain.items()
        if key[:1] == "$":
            if key not in _READERS:
                raise ValueError(f"{key[:20]} is no kind of value")
            with contextlib.suppress(TypeError):
                return _READERS[key](inner)
            raise ValueError(f"a {key[1:]} that cannot be read")
    return {key: decode(item) for key, item in plain.items()}


def _pairs(inner: Any) -> dict[Any, Any]:
    return {decode(key): decode(item) for key, item in inner}


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "$float": lambda inner: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[inner],
    "$base64": lambda inner: base64.b64decode(inner, validate=True),
    "$tuple": lambda inner: tuple(decode(item) for item in inner),
    "$set": lambda inner: {decode(item) for item in inner},
    "$frozenset": lambda inner: frozenset(decode(item) for item in inner),
    "$dict": _pairs,
}
