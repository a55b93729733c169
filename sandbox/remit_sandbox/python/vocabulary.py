"""The built-in names of a program."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from remit_sandbox.python.guards import guarded_type

if TYPE_CHECKING:
    from remit_sandbox.python.guards import Guards

_FUNCTIONS = """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float
    format frozenset hash hex id int iter len list map max memoryview min next oct ord pow property range repr reversed
    round set slice sorted staticmethod str sum super tuple zip
    True False None NotImplemented Ellipsis __build_class__ __debug__
"""
_LEFT_OUT = frozenset({"BaseExceptionGroup", "ExceptionGroup"})

_SAME = {
    name: value
    for name, value in vars(builtins).items()
    if name in _FUNCTIONS.split()
    or (isinstance(value, type) and issubclass(value, BaseException) and name not in _LEFT_OUT)
}

INSTEAD = {
    "open": "there are no files here; input comes through `inputs`, and save_file(name, data) makes a file",
    "input": "nobody is there to answer; put the value into the code",
    "eval": "write the expression itself, or use json.loads for data",
    "exec": "write the code itself",
    "compile": "write the code itself",
    "globals": "use a dict of your own",
    "locals": "use a dict of your own",
    "object": "write object() for a sentinel, or class X: for a class",
    "exit": "raise SystemExit to stop",
    "quit": "raise SystemExit to stop",
    "help": "print what you need",
    "breakpoint": "print what you need",
    "ExceptionGroup": "raise one exception",
    "np": "numpy is not here; use lists, math and statistics",
    "pd": "pandas is not here; use lists of dicts, csv and statistics",
    "sys": "use math.inf for a largest number, raise SystemExit to stop",
    "os": "there are no files, programs or environment here",
}
"""What to do instead of a name that is not there."""


def built_ins(
    guards: Guards, show: Callable[..., None], importer: Callable[..., Any], save_file: Callable[[str, Any], None]
) -> dict[str, Any]:
    """Return a new dict of built-in names; nothing in it is shared but immutable types and functions."""
    return {
        **_SAME,
        "getattr": guards.getattr,
        "hasattr": guards.hasattr,
        "setattr": guards.setattr,
        "delattr": guards.delattr,
        "vars": guards.vars,
        "dir": guards.dir,
        "type": guarded_type,
        "isinstance": is_instance,
        "issubclass": is_subclass,
        "print": show,
        "save_file": save_file,
        "__import__": importer,
    }


def is_instance(value: Any, kinds: Any, /) -> bool:
    """The built-in `isinstance`; `type` in `kinds` means classes."""
    return isinstance(value, _real(kinds))


def is_subclass(cls: Any, kinds: Any, /) -> bool:
    """The built-in `issubclass`; `type` in `kinds` means classes of classes."""
    return issubclass(cls, _real(kinds))


def _real(kinds: Any) -> Any:
    if isinstance(kinds, tuple):
        return tuple(_real(kind) for kind in kinds)
    return type if kinds is guarded_type else kinds


def missing_name(name: str, known: Mapping[str, Any]) -> str:
    """Return what a program is told about a name that is not there."""
    import difflib

    if name in INSTEAD:
        return f"{name} is not available here: {INSTEAD[name]}"
    near = difflib.get_close_matches(name, [item for item in known if not item.startswith("_")], n=1)
    return f"name '{name}' is not defined" + (f"; did you mean {near[0]}?" if near else "")
