"""Which results need no conversion: text, numbers, lists and dicts of exactly these types, within the caps.

The writer of pydantic then gives the same bytes as after a walk over every value (`results`), at a fraction of
the time: types are looked at a container at a time, by functions written in C.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

_CONTAINERS = {list, tuple, dict}
_KINDS = {str, int, float, bool, type(None), list, tuple, dict}


def is_plain(value: Any, *, depth: int, nodes: int, bits: int, size: int) -> bool:
    """Tell whether `value` is its own plain form; False only means that it has to be walked.

    Lone surrogates are not looked for: the writer raises for them.

    Args:
        depth: levels that it may nest.
        nodes: values that it may hold in all.
        bits: of the longest integer.
        size: characters of all its texts.
    """
    level: list[Any] = [(value,)]
    for _ in range(depth):
        inner: list[Any] = []
        for container in level:
            values = container
            if type(container) is dict:
                if set(map(type, container)) - {str}:
                    return False
                size -= sum(map(len, container))
                values = container.values()
            nodes -= len(values)
            kinds = set(map(type, values))
            if nodes < 0 or not kinds <= _KINDS or not _numbers_fit(values, kinds, bits):
                return False
            if str in kinds:
                size -= sum(map(len, _of(values, kinds, str)))
            if size < 0:
                return False
            if kinds & _CONTAINERS:
                inner += [item for item in values if type(item) in _CONTAINERS]
        if not inner:
            return True
        level = inner
    return False


def _numbers_fit(values: Iterable[Any], kinds: set[type], bits: int) -> bool:
    if float in kinds and not all(map(isfinite, _of(values, kinds, float))):
        return False
    return int not in kinds or max(map(int.bit_length, _of(values, kinds, int))) <= bits


def _of(values: Iterable[Any], kinds: set[type], kind: type) -> Iterable[Any]:
    return values if len(kinds) == 1 else [value for value in values if type(value) is kind]
