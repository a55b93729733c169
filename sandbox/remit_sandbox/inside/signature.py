"""What a handler takes: its parameters, and a pydantic model that converts JSON to them.

The fields of the model are called `p0`, `p1` ... and carry the parameter's name as an alias, so
that no name of a parameter can meet a name of pydantic's. Defaults stay out of the model: they are
Python's business when the handler is called, and are compared by identity only.
"""

from __future__ import annotations

import inspect
import sys
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Optional

from remit_sandbox.inside.annotations import CannotDescribe, namespace_of, resolve
from remit_sandbox.inside.complaints import complaint

if TYPE_CHECKING:
    from pydantic import BaseModel

_EMPTY = inspect.Parameter.empty
_VARIADIC = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


class NoHandler(LookupError):
    """A reference that names no function of the pack."""


class _Absent:
    """Stands for *not given* inside the model."""


ABSENT = _Absent()
IN_MODEL = _Absent()
"""Stands for a default written as pydantic's `Field(...)`: the model has it."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One argument.

    Attributes:
        name: as in the handler's signature.
        key: the name in JSON (NFC).
        annotation: the resolved type.
        default: the handler's default; `ABSENT` when it must be given, `IN_MODEL` when the model has it.
        positional: it can be passed by position only.
        remark: the text of `Annotated[T, "text"]`.
    """

    name: str
    key: str
    annotation: Any
    default: Any
    positional: bool
    remark: str = ""

    @property
    def required(self) -> bool:
        return self.default is ABSENT


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A handler ready to be described and called.

    Attributes:
        function: the handler.
        parameters: its arguments in order, without `ctx`.
        model: converts one JSON object to them; fields are `p0`, `p1` ...
        context: how `ctx` is passed: `position`, `name`, or empty when it is not asked for.
        context_index: where `ctx` stands among the parameters.
    """

    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    model: type[BaseModel]
    context: str = ""
    context_index: int = 0

    def bind(self, values: Mapping[str, Any], context: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return (positional, named) for the handler, from the values of the model's fields."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for index, parameter in enumerate(self.parameters):
            value = values.get(f"p{index}", ABSENT)
            if value is ABSENT and not parameter.positional:
                continue
            value = parameter.default if value is ABSENT else value
            if parameter.positional:
                positional.append(value)
            else:
                named[parameter.name] = value
        if self.context == "position":
            positional.insert(self.context_index, context)
        elif self.context:
            named["ctx"] = context
        return positional, named


def prepare(function: Callable[..., Any]) -> Prepared:
    """Read the signature of `function` and build its model.

    Raises:
        CannotDescribe: variadic parameters, names that fold to one, annotations that cannot be
            resolved, types that pydantic does not know.
    """
    parameters: list[Parameter] = []
    context, context_index = "", 0
    namespace = namespace_of(function)
    signature = _signature(function)
    _refuse_variadic(signature)
    for parameter in signature.parameters.values():
        if is_context(parameter):
            positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            context, context_index = ("position" if positional else "name"), len(parameters)
        else:
            parameters.append(_parameter(parameter, namespace))
    _refuse_equal_names(parameters)
    return Prepared(
        function=function,
        parameters=tuple(parameters),
        model=_model(function, parameters),
        context=context,
        context_index=context_index,
    )


def is_context(parameter: inspect.Parameter) -> bool:
    """Tell whether Remit gives this parameter: named `ctx`, and without annotation or a `Context`."""
    if parameter.name != "ctx":
        return False
    annotation = parameter.annotation
    if annotation is _EMPTY:
        return True
    if isinstance(annotation, str):
        return annotation.strip().strip("'\"").rpartition(".")[2] == "Context"
    return isinstance(annotation, type) and annotation.__name__ == "Context"


def wants_context(function: Callable[..., Any]) -> bool:
    """Tell whether a post-hook asks for `ctx`."""
    return any(is_context(parameter) for parameter in _signature(function).parameters.values())


def check_hook(function: Callable[..., Any]) -> None:
    """See to it that a post-hook can be called as `(call, result)`, with `ctx` where it asks for it.

    Raises:
        CannotDescribe: it cannot.
    """
    named = {"ctx": None} if wants_context(function) else {}
    try:
        _signature(function).bind(None, None, **named)
    except TypeError as error:
        raise CannotDescribe(f"its post-hook must take (call, result) or (call, result, ctx): {error}") from None


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise CannotDescribe(f"its signature cannot be read: {error}") from None


def _refuse_variadic(signature: inspect.Signature) -> None:
    stars = [_VARIADIC[p.kind] + p.name for p in signature.parameters.values() if p.kind in _VARIADIC]
    if stars:
        raise CannotDescribe(
            f"it takes {' and '.join(stars)}; a model needs to know every argument by name and type: "
            "write each as a parameter, or take one list or dict"
        )


def _refuse_equal_names(parameters: list[Parameter]) -> None:
    seen: dict[str, str] = {}
    for parameter in parameters:
        if parameter.key in seen:
            raise CannotDescribe(
                f"the parameters {seen[parameter.key]!r} and {parameter.name!r} are the same name "
                "after Unicode normalisation (NFC)"
            )
        seen[parameter.key] = parameter.name


def _parameter(parameter: inspect.Parameter, namespace: Mapping[str, Any]) -> Parameter:
    annotation = resolve(parameter.name, parameter.annotation, namespace)
    remark = next((item for item in getattr(annotation, "__metadata__", ()) if type(item) is str), "")
    default: Any = ABSENT if parameter.default is _EMPTY else parameter.default
    if _is_field(default):
        annotation = Annotated[annotation, default]
        default = ABSENT if default.is_required() else IN_MODEL
    elif default is None and annotation is not Any:
        annotation = Optional[annotation]  # noqa: UP045 - `|` fails on annotations that are no types
    return Parameter(
        name=parameter.name,
        key=unicodedata.normalize("NFC", parameter.name),
        annotation=annotation,
        default=default,
        positional=parameter.kind is inspect.Parameter.POSITIONAL_ONLY,
        remark=remark,
    )


def _is_field(value: Any) -> bool:
    pydantic_fields = sys.modules.get("pydantic.fields")
    return pydantic_fields is not None and isinstance(value, pydantic_fields.FieldInfo)


def _model(function: Callable[..., Any], parameters: list[Parameter]) -> type[BaseModel]:
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for index, parameter in enumerate(parameters):
        ours = not parameter.required and parameter.default is not IN_MODEL
        options: dict[str, Any] = {"default_factory": _absent} if ours else {}
        options |= dict.fromkeys(("alias", "validation_alias", "serialization_alias"), parameter.key)
        fields[f"p{index}"] = (parameter.annotation, Field(**options))
    try:
        model: type[BaseModel] = create_model(
            "Arguments",
            __config__=ConfigDict(extra="forbid", protected_namespaces=()),
            __module__=getattr(function, "__module__", None) or __name__,
            **fields,
        )
        model.model_rebuild(_types_namespace={})  # raises, with its name, for a type that cannot be found
    except Exception as error:
        raise CannotDescribe(complaint({one.name: one.annotation for one in parameters}, error)) from None
    return model


def _absent() -> _Absent:
    return ABSENT
