"""Safe forms of a few parts of the standard library that write or make attributes by name."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import pprint
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from remit_sandbox.python.proxies import MetaclassMark

if TYPE_CHECKING:
    from remit_sandbox.python.guards import Guards
from remit_sandbox.python.modules import ADDED


class Parts:
    """What the modules of one program hold beside their plain names.

    Args:
        guards: knows the program's own classes.
        show: the program's `print`.
    """

    def __init__(self, guards: Guards, show: Callable[..., None]) -> None:
        self._guards = guards
        self._show = show
        self._random = random.Random()
        self._functions: dict[str, Mapping[str, Any]] = {
            "abc": {"ABCMeta": MetaclassMark(), "abstractmethod": self.abstractmethod},
            "dataclasses": {"dataclass": self.dataclass},
            "enum": ENUMS,
            "functools": {"total_ordering": self.total_ordering, "wraps": self.wraps},
            "typing": dict.fromkeys(ADDED["typing"].split(), as_it_is),
            "pprint": {"pprint": self.pprint, "pp": self.pprint},
        }

    def names(self, module: str) -> Mapping[str, Any]:
        """Return the names of one module."""
        if module == "random":
            return {name: getattr(self._random, name) for name in ADDED["random"].split()}
        return self._functions.get(module, {})

    def dataclass(self, cls: Any = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`, for classes of the program."""
        if cls is None:
            return lambda found: self.dataclass(found, **options)
        made = dataclasses.dataclass(**options)(self._own(cls, "dataclass"))
        return self._guards.own_class(made)

    def abstractmethod(self, function: Any, /) -> Any:
        """`abc.abstractmethod`, for functions of the program."""
        inner = (
            getattr(function, "__func__", function) if isinstance(function, classmethod | staticmethod) else function
        )
        if not self._guards.is_own_function(inner):
            raise TypeError("abstractmethod is for functions that you define")
        return abc.abstractmethod(function)

    def total_ordering(self, cls: Any, /) -> Any:
        """`functools.total_ordering`, for classes of the program."""
        return functools.total_ordering(self._own(cls, "total_ordering"))

    def wraps(self, wrapped: Any, /) -> Callable[[Any], Any]:
        """`functools.wraps`, for functions of the program."""

        def decorate(wrapper: Any) -> Any:
            if not self._guards.is_own_function(wrapper):
                raise TypeError("wraps() is for functions that you define")
            return functools.wraps(wrapped)(wrapper)

        return decorate

    def pprint(self, value: Any, /, **options: Any) -> None:
        """`pprint.pprint`, into the program's output."""
        self._show(pprint.pformat(value, **options))

    def _own(self, cls: Any, what: str) -> Any:
        if not self._guards.is_own_class(cls):
            raise TypeError(f"{what} is for classes that you define")
        return cls


def as_it_is(value: Any, /) -> Any:
    """`typing.final` and the like, which mean nothing when a program runs."""
    return value


class SafeEnumType(enum.EnumMeta):
    """The type of enumerations, which makes no member of a special name when it is called with a list of names."""

    def __call__(cls, value: Any, names: Any = None, **more: Any) -> Any:
        if names is None and not more:
            return super().__call__(value)
        listed: list[Any] = names.replace(",", " ").split() if isinstance(names, str) else list(names or ())
        pairs: list[Any] = [(name, index) for index, name in enumerate(listed, 1)] if _are_names(listed) else listed
        if any(type(name) is not str or name.startswith("_") or not name.isidentifier() for name, _ in pairs):
            raise ValueError("the members of an enumeration have plain names")
        return super().__call__(str(value), [(name, item) for name, item in pairs])


def _are_names(listed: list[Any]) -> bool:
    return all(type(name) is str for name in listed)


def _safe(base: type) -> type:
    made: type = SafeEnumType(base.__name__, (base,), SafeEnumType.__prepare__(base.__name__, (base,)))
    made.__module__ = "enum"
    return made


ENUMS = {name: _safe(getattr(enum, name)) for name in ADDED["enum"].split()}
"""The classes of `enum` without a way to make members of special names."""
