"""Which names and attributes a program may write down. The same rules hold for names given as text at run time."""

from __future__ import annotations

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

FRAME_ATTRIBUTES = frozenset(INSPECT_ATTRIBUTES) | {
    "ag_running", "co_consts", "co_names", "cr_running", "f_lineno", "f_trace_lines", "f_trace_opcodes",
    "func_code", "func_globals", "gi_running", "gi_suspended", "mro", "tb_lasti", "tb_lineno",
}  # fmt: skip
"""Doors to frames, code and the tree of classes; closed on every object, since some objects forward them."""

_NUMERIC = {
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "xor",
    "or",
}  # fmt: skip
_METHODS = {
    "init", "new", "post_init", "repr", "str", "bytes", "format", "hash", "bool", "len", "length_hint", "getitem",
    "setitem", "delitem", "missing", "iter", "next", "reversed", "contains", "call", "enter", "exit", "lt", "le", "eq",
    "ne", "gt", "ge", "neg", "pos", "abs", "invert", "complex", "int", "float", "index", "round", "trunc", "floor",
    "ceil", "copy", "deepcopy", "get", "set", "set_name", "class_getitem",
}  # fmt: skip
CLASS_METHODS = frozenset(
    f"__{name}__"
    for name in [*_METHODS, *_NUMERIC, *(f"r{name}" for name in _NUMERIC), *(f"i{name}" for name in _NUMERIC)]
)
"""Special methods that a class of the program may define, and that may be called on its own objects."""

CLASS_NAMES = CLASS_METHODS | {"__slots__", "__doc__"}
"""Special names that may be bound in the body of a class."""

MODULE_NAMES = frozenset({"__all__", "__author__", "__version__", "__doc__"})
"""Special names that may be bound anywhere; they mean nothing here."""

SHOWN = frozenset({"__name__", "__doc__", "__qualname__"})
"""Special attributes of classes and functions that are plain text."""

READ = CLASS_METHODS | SHOWN | {"__class__", "__dict__", "__cause__", "__annotations__", "__len__", "__slots__"}
"""Special attributes that may be read from some objects; `guards` says from which."""

NAMED_TUPLE = frozenset({"_asdict", "_replace", "_fields", "_make", "_field_defaults"})
"""Public in spite of their underscore."""


def why_no_name(name: str, *, in_class: bool = False) -> str:
    """Return why a program may not use `name` as a variable; nothing when it may."""
    if not name.startswith("_") or not name.strip("_"):
        return ""
    if name.startswith("__") and name.endswith("__"):
        if name in MODULE_NAMES or (in_class and name in CLASS_NAMES):
            return ""
        return f"the special name {name} is not available here"
    if name.endswith("_"):
        return f"names that begin and end with an underscore are reserved; call it {name.strip('_')} instead of {name}"
    return ""


def why_no_attribute(name: str) -> str:
    """Return why no attribute called `name` may be read, whatever the object; nothing when it depends on that."""
    if name in FRAME_ATTRIBUTES:
        return f"the attribute {name} is not available: it leads out of the program"
    if name.startswith("__") and name.endswith("__") and name not in READ:
        return f"the special attribute {name} is not available"
    return ""


def why_not_written(name: str) -> str:
    """Return why no attribute called `name` may be set or deleted; nothing when it depends on the object."""
    if name in FRAME_ATTRIBUTES or (name.startswith("__") and name.endswith("__")):
        return f"the attribute {name} cannot be changed; define it in the body of the class"
    return ""


def mangled(name: str, class_name: str | None) -> str:
    """Return what Python makes of a private `name` inside a class."""
    if class_name is None or not name.startswith("__") or name.endswith("__"):
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name
