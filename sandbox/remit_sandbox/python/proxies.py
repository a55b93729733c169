"""What stands for a module, and for a class of classes, in a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn


class Imported:
    """A module as a program sees it: chosen names and nothing else. It is no value, and has no text."""

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        self.__dict__.update(names)
        _NAMES[id(self)] = name

    def __repr__(self) -> NoReturn:
        raise TypeError("a module is not a value; use one of its names")

    def __getattr__(self, name: str) -> NoReturn:
        module = _NAMES.get(id(self), "the module")
        raise AttributeError(f"{module} has no {name} here; available: {', '.join(sorted(self.__dict__))}"[:600])

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a module is not a value; it cannot be copied")


_NAMES: dict[int, str] = {}
"""Names by the identity of the proxy, so that a proxy holds nothing but what it shows."""


class MetaclassMark:
    """Stands for `abc.ABCMeta`, which itself could make classes past the policy."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<class 'abc.ABCMeta'>"
