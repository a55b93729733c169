"""A handler's type hints and docstring as JSON Schema and description."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from remit_sandbox.inside.annotations import CannotDescribe
from remit_sandbox.inside.complaints import complaint, first_line
from remit_sandbox.inside.docstrings import Documentation, read_docstring
from remit_sandbox.inside.results import to_json
from remit_sandbox.inside.signature import ABSENT, IN_MODEL, Parameter, Prepared, prepare
from remit_sandbox.inside.text import well_formed
from remit_sandbox.inside.tidy import tidy
from remit_sandbox.values import Described

DEFAULT_LENGTH = 1_000
"""Bytes of a default as JSON; a longer one is left out of the schema."""


def describe_function(function: Callable[..., Any]) -> Described:
    """Return the schema and description of `function`; never raises for what is wrong with it.

    What cannot be published (variadic parameters, recursive types, `Literal[Enum.X]`, types
    without a JSON form) is told in `Described.error`.
    """
    try:
        return describe(prepare(function))
    except CannotDescribe as error:
        return Described(error=well_formed(str(error)))
    except Exception as error:
        return Described(error=well_formed(f"{type(error).__name__}: {first_line(error)}")[:500])


def describe(prepared: Prepared) -> Described:
    """Return the schema and description of a prepared handler.

    Raises:
        CannotDescribe: with the reason.
    """
    documentation = read_docstring(getattr(prepared.function, "__doc__", None))
    raw = _raw_schema(prepared)
    for parameter in prepared.parameters:
        _annotate(raw["properties"][parameter.key], parameter, documentation)
    return Described(
        schema=json.dumps(tidy(raw), ensure_ascii=False).encode(),
        description=documentation.prose,
        notes=tuple(_notes(prepared, documentation)),
    )


def _raw_schema(prepared: Prepared) -> dict[str, Any]:
    try:
        return prepared.model.model_json_schema(schema_generator=_Generator)
    except CannotDescribe:
        raise
    except Exception as error:
        raise CannotDescribe(complaint({one.name: one.annotation for one in prepared.parameters}, error)) from None


def _annotate(node: dict[str, Any], parameter: Parameter, documentation: Documentation) -> None:
    text = documentation.arguments.get(parameter.name) or parameter.remark
    if text and not node.get("description"):
        node["description"] = text
    default = jsonable_default(parameter.default)
    if default is not ABSENT:
        node["default"] = default


def _notes(prepared: Prepared, documentation: Documentation) -> list[str]:
    known = {parameter.name for parameter in prepared.parameters} | {"ctx"}
    absent = [name for name in documentation.arguments if name not in known]
    return [f"the docstring describes {name!r}, which is no parameter" for name in absent[:20]]


def jsonable_default(value: Any) -> Any:
    """Return `value` as plain JSON, or `ABSENT` when it has no honest short form in JSON.

    Never raises, whatever methods the value has.
    """
    if value is ABSENT or value is IN_MODEL:
        return ABSENT
    try:
        text = to_json(value, limit=DEFAULT_LENGTH)
    except Exception:
        return ABSENT
    return ABSENT if b'"$bytes":' in text else json.loads(text)


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, with defaults shown our way and one lie refused."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        default = jsonable_default(schema.get("default", ABSENT))
        return inner if default is ABSENT else {**inner, "default": default}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        members = [item for item in schema["expected"] if isinstance(item, Enum)]
        if members:
            name = f"{type(members[0]).__name__}.{members[0].name}"
            raise CannotDescribe(
                f"Literal[{name}] can never be met by JSON; write the value itself, or take the whole enum"
            )
        return super().literal_schema(schema)

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: what is left out is left out on purpose."""


def described_fields(described: Described) -> Mapping[str, Any]:
    """Return `described` as plain data for a frame."""
    return {
        "schema": described.schema,
        "description": described.description,
        "notes": list(described.notes),
        "error": described.error,
    }
