"""The types behind a handler's annotations."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from types import SimpleNamespace
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
    return _modern(hints[name])


def _modern(annotation: Any) -> Any:
    """Rebuild a `typing.TypedDict` with `typing_extensions`, which pydantic needs before Python 3.12."""
    if sys.version_info >= (3, 12):
        return annotation
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        return _rebuilt(annotation)
    arguments = typing.get_args(annotation)
    modern = tuple(_modern(argument) for argument in arguments)
    if all(new is old for new, old in zip(modern, arguments, strict=True)):
        return annotation
    return annotation.copy_with(modern) if hasattr(annotation, "copy_with") else annotation.__class_getitem__(modern)


def _rebuilt(kind: Any) -> Any:
    from typing import NotRequired, Required

    from typing_extensions import TypedDict

    hints = typing.get_type_hints(kind, include_extras=True)
    marks = {name: Required if name in kind.__required_keys__ else NotRequired for name in hints}
    plain = {name: _modern(_unmarked(hint)) for name, hint in hints.items()}
    return TypedDict(kind.__name__, {name: marks[name][hint] for name, hint in plain.items()})  # type: ignore[operator]


def _unmarked(hint: Any) -> Any:
    origin = typing.get_origin(hint)
    return typing.get_args(hint)[0] if origin in (typing.Required, typing.NotRequired) else hint
