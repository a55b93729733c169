"""What the rewritten program calls: one guard for reading an attribute, one for writing, one for each new class.

A program may read public attributes of anything, private ones (`_x`) of its own objects. It may write to plain
containers, and to its own classes, their objects and its own functions. A refused read raises, it never gives None.
"""

from __future__ import annotations

import abc
import array
import collections
import decimal
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType
from typing import Any

from remit_sandbox.python.formatting import RAW, SAFE, bound
from remit_sandbox.python.names import CLASS_METHODS, NAMED_TUPLE, SHOWN, why_no_attribute, why_not_written
from remit_sandbox.python.proxies import Imported, MetaclassMark

CONTAINERS = frozenset(
    {
        list, dict, bytearray, memoryview, array.array, collections.deque, collections.defaultdict,
        collections.OrderedDict, collections.Counter, collections.ChainMap, collections.UserDict, collections.UserList,
    }
)  # fmt: skip
"""Types whose items a program may set and delete."""

PATTERN_TYPES = frozenset({bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple})
"""Types of which a class pattern with one place matches the subject itself, and reads nothing."""

_MISSING: Any = object()


def _kind(name: str) -> type:
    return type(name, (), {"__slots__": (), "__module__": "builtins"})


_FUNCTION = _kind("function")
_HIDDEN = {
    FunctionType: _FUNCTION,
    MethodType: _kind("method"),
    BuiltinFunctionType: _kind("builtin_function_or_method"),
    Imported: _kind("module"),
}


class Held:
    """One value that a pattern compares with."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Sentinel:
    """What `object()` makes: something equal to nothing but itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<object>"


class Guards:
    """The guards of one program or session.

    Args:
        variables: the program's global variables; its functions are known by them.
    """

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables
        self._own: set[type] = set()

    def names(self) -> dict[str, Any]:
        """Return the guards by the names under which the policy calls them."""
        return {
            "_getattr_": self.read,
            "_write_": self.written,
            "_class_": self.own_class,
            "_metaclass_": metaclass,
            "_type_": type_of,
            "_hold_": Held,
            "_pattern_class_": self.pattern_class,
            "_sentinel_": Sentinel,
            "_bare_set_": self.bare_set,
            "_bare_new_": self.bare_new,
        }

    def own_class(self, cls: type) -> type:
        """Remember a class as the program's own."""
        if issubclass(cls, str):
            for name, function in SAFE.items():
                if not isinstance(cls.__dict__.get(name), FunctionType):
                    setattr(cls, name, _method(function))
        self._own.add(cls)
        return cls

    def is_own_class(self, value: object) -> bool:
        """Whether `value` is a class of the program."""
        return isinstance(value, type) and value in self._own

    def is_own_function(self, value: object) -> bool:
        """Whether `value` is a function that the program defined."""
        return type(value) is FunctionType and value.__globals__ is self._variables

    def read(self, owner: Any, name: str) -> Any:
        """`owner.name`.

        Raises:
            AttributeError: there is none, or it is closed; the message says which.
        """
        if type(name) is not str:
            raise TypeError("the name of an attribute is text")
        if name[:1] == "_":
            return self._read_private(owner, name)
        if reason := why_no_attribute(name):
            raise AttributeError(reason)
        if name == "obj" and isinstance(owner, AttributeError | NameError):
            raise AttributeError("the attribute obj is not available: it leads out of the program")
        if name == "register" and isinstance(owner, abc.ABCMeta) and not self.is_own_class(owner):
            raise AttributeError("classes can be registered with your own abstract classes only")
        value = getattr(owner, name)
        return _formatted(value) if name in SAFE else value

    def _read_private(self, owner: Any, name: str) -> Any:
        kind = type(owner)
        if name in NAMED_TUPLE and isinstance(owner, tuple | type) and hasattr(owner, "_fields"):
            return getattr(owner, name)
        if name.startswith("__") and name.endswith("__"):
            return self._read_special(owner, name)
        if kind in self._own or self.is_own_class(owner) or kind is super or self.is_own_function(owner):
            return getattr(owner, name)
        raise AttributeError(f"the private attribute {name} of a {_HIDDEN.get(kind, kind).__name__} is not available")

    def _read_special(self, owner: Any, name: str) -> Any:
        kind = type(owner)
        if reason := why_no_attribute(name):
            raise AttributeError(reason)
        if name in SHOWN and (isinstance(owner, type) or callable(owner)):
            return getattr(owner, name)
        if name == "__cause__" and isinstance(owner, BaseException):
            return owner.__cause__
        own = kind in self._own
        if name in ("__class__", "__dict__"):
            if own:
                return getattr(owner, name)
        elif name in CLASS_METHODS and (own or kind is super or isinstance(owner, type)):
            if name != "__new__" or kind is super or self.is_own_class(owner):
                return getattr(owner, name)
        elif (own or self.is_own_class(owner)) and name in ("__annotations__", "__doc__", "__slots__"):
            return getattr(owner, name)
        raise AttributeError(f"the special attribute {name} of a {_HIDDEN.get(kind, kind).__name__} is not available")

    def written(self, owner: Any) -> Any:
        """Return `owner` when the program may set and delete its attributes and items.

        Raises:
            TypeError: it may not.
        """
        kind = type(owner)
        if kind in CONTAINERS or kind in self._own or kind is decimal.Context:
            return owner
        if self.is_own_class(owner) or self.is_own_function(owner):
            return owner
        if isinstance(owner, Imported):
            raise TypeError("a module cannot be changed")
        name = owner.__name__ if isinstance(owner, type) else kind.__name__
        raise TypeError(f"a {name} cannot be changed; only lists, dicts and objects of your own classes can")

    def pattern_class(self, cls: Any, reads: int) -> Any:
        """Return the class of a pattern.

        Args:
            cls: what the pattern names.
            reads: 0 when it only asks for the type, 1 with one place, 2 when it looks at attributes.

        Raises:
            TypeError: it looks at attributes of objects that are not the program's own.
        """
        if cls is guarded_type or not isinstance(cls, type):
            raise TypeError("a class pattern needs a class")
        if reads == 0 or self.is_own_class(cls) or (reads == 1 and cls in PATTERN_TYPES):
            return cls
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return cls
        raise TypeError(f"a pattern can look into objects of your own classes only, not into a {cls.__name__}")

    def getattr(self, owner: Any, name: str, default: Any = _MISSING, /) -> Any:
        """The built-in `getattr`, guarded."""
        try:
            return self.read(owner, name)
        except AttributeError:
            if default is _MISSING:
                raise
            return default

    def hasattr(self, owner: Any, name: str, /) -> bool:
        """The built-in `hasattr`, guarded: what is closed is not there."""
        try:
            self.read(owner, name)
        except AttributeError:
            return False
        return True

    def setattr(self, owner: Any, name: str, value: Any, /) -> None:
        """The built-in `setattr`, guarded."""
        setattr(self.written(owner), writable(name), value)

    def delattr(self, owner: Any, name: str, /) -> None:
        """The built-in `delattr`, guarded."""
        delattr(self.written(owner), writable(name))

    def bare_set(self, owner: Any, name: str, value: Any, /) -> None:
        """`object.__setattr__`, as frozen data classes need it, on the program's own objects."""
        if type(owner) not in self._own:
            raise TypeError("object.__setattr__ is for objects of your own classes")
        object.__setattr__(owner, writable(name), value)

    def bare_new(self, cls: Any, /, *more: Any) -> Any:
        """`object.__new__`, for the program's own classes."""
        if not self.is_own_class(cls):
            raise TypeError("object.__new__ is for your own classes")
        return object.__new__(cls)

    def vars(self, owner: Any, /) -> Mapping[str, Any]:
        """The built-in `vars`, for objects of the program's own classes."""
        if type(owner) in self._own:
            return dict(vars(owner))
        raise TypeError("vars() takes an object of one of your own classes")

    def dir(self, owner: Any = _MISSING, /) -> list[str]:
        """The built-in `dir` with an argument: public names."""
        if owner is _MISSING:
            raise TypeError("dir() takes the object to look at")
        return [name for name in dir(owner) if not name.startswith("_")]


def writable(name: str) -> str:
    """Return `name` when an attribute called so may be set.

    Raises:
        AttributeError: it may not.
        TypeError: it is no text.
    """
    if type(name) is not str:
        raise TypeError("the name of an attribute is text")
    if reason := why_not_written(name):
        raise AttributeError(reason)
    return name


def type_of(value: Any, /) -> Any:
    """`type` with one argument; functions and modules have a stand-in that cannot make any."""
    kind = type(value)
    return guarded_type if isinstance(value, type) or value is guarded_type else _HIDDEN.get(kind, kind)


def guarded_type(value: Any, /, *more: Any) -> Any:
    """The built-in `type`: the type of a value. It makes no classes."""
    if more:
        raise TypeError("type() with three arguments is not available; write a class statement")
    return type_of(value)


guarded_type.__name__ = guarded_type.__qualname__ = "type"


def metaclass(value: Any) -> type:
    """Return the class of classes that a program may name.

    Raises:
        TypeError: it is any other than ABCMeta.
    """
    if isinstance(value, MetaclassMark):
        return abc.ABCMeta
    raise TypeError("the only metaclass available is abc.ABCMeta; use a decorator or a function")


def _formatted(value: Any) -> Any:
    """Return the stand-in for a formatting method of `str`, and anything else as it is."""
    if type(value) is BuiltinFunctionType and isinstance(value.__self__, str):
        return bound(SAFE[value.__name__], value.__self__)
    if type(value) is MethodDescriptorType:
        return RAW.get(value, value)
    return value


def _method(function: Callable[..., str]) -> Callable[..., str]:
    def stand_in(self: str, /, *arguments: Any, **named: Any) -> str:
        return function(self, *arguments, **named)

    return stand_in
