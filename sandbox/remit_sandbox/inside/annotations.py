"""The types behind a handler's annotations."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from types import SimpleNamespace, UnionType
from typing import Any


class CannotDescribe(Exception):
    """A handler that no schema can describe; the message says why and what to write instead."""


def namespace_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the names that the annotations of `function` may use."""
    inner: Any = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)
    if not inspect.isfunction(inner):
        inner = vars(type(inner)).get("__call__", inner)
    names: Mapping[str, Any] = getattr(inner, "__globals__", {})
    return names


def resolve(name: str, annotation: Any, namespace: Mapping[str, Any]) -> Any:
    """Return the type behind one annotation, which may be text; `Any` when there is none.

    Raises:
        CannotDescribe: it names something that does not exist.
    """
    if annotation is inspect.Parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={name: annotation})
    try:
        hints = typing.get_type_hints(holder, globalns=dict(namespace), include_extras=True)
    except Exception as error:
        raise CannotDescribe(f"the annotation of {name!r} cannot be resolved: {error}") from None
    return _settled(hints[name], set())


def _settled(annotation: Any, seen: set[type]) -> Any:
    """Return `annotation` so that pydantic reads every type in it as its author meant it."""
    if typing.is_typeddict(annotation):
        return _rebuilt(annotation, seen) if _is_old(annotation) else annotation
    _settle_class(typing.get_origin(annotation) or annotation, seen)
    arguments = typing.get_args(annotation)
    settled = tuple(_settled(argument, seen) for argument in arguments)
    if all(new is old for new, old in zip(settled, arguments, strict=True)):
        return annotation
    if isinstance(annotation, UnionType):
        return typing.Union[settled]  # noqa: UP007 - built from a tuple
    return annotation.copy_with(settled) if hasattr(annotation, "copy_with") else annotation.__class_getitem__(settled)


def _is_old(kind: Any) -> bool:
    """Tell whether pydantic needs a `typing.TypedDict` rebuilt, as before Python 3.12."""
    return sys.version_info < (3, 12) and type(kind).__module__ == "typing"


def _rebuilt(kind: Any, seen: set[type]) -> Any:
    from typing import NotRequired, Required

    from typing_extensions import TypedDict

    hints = typing.get_type_hints(kind, include_extras=True)
    marks = {name: Required if name in kind.__required_keys__ else NotRequired for name in hints}
    plain = {name: _settled(_unmarked(hint), seen) for name, hint in hints.items()}
    return TypedDict(kind.__name__, {name: marks[name][hint] for name, hint in plain.items()})  # type: ignore[operator]


def _unmarked(hint: Any) -> Any:
    origin = typing.get_origin(hint)
    return typing.get_args(hint)[0] if origin in (typing.Required, typing.NotRequired) else hint


def _settle_class(kind: Any, seen: set[type]) -> None:
    """Resolve the annotations of a data class or named tuple: pydantic lets a field's name hide a type's."""
    if not isinstance(kind, type) or kind in seen:
        return
    if not (is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))):
        return
    seen.add(kind)
    for base in kind.__mro__:
        annotations = vars(base).get("__annotations__")
        if annotations:
            _settle_fields(base, annotations, seen)


def _settle_fields(kind: type, annotations: dict[str, Any], seen: set[type]) -> None:
    outer = vars(sys.modules[kind.__module__]) if kind.__module__ in sys.modules else {}
    inner = {name: value for name, value in vars(kind).items() if name not in annotations}
    declared = vars(kind).get("__dataclass_fields__", {})
    for name, written in annotations.items():
        holder = SimpleNamespace(__annotations__={name: written})
        try:
            hint = typing.get_type_hints(holder, globalns=dict(outer), localns=inner, include_extras=True)[name]
        except Exception:
            continue  # pydantic says what is wrong with it
        annotations[name] = hint = _settled(hint, seen)
        if name in declared:
            declared[name].type = hint
