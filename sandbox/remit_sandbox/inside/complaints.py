"""Which parameter of a handler has a type that cannot be described, in words for its author."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

_SHOWN = 120


def complaint(types: Mapping[str, Any], error: Exception) -> str:
    """Return what is wrong with a handler's types.

    Args:
        types: name of each parameter to its resolved type.
        error: what pydantic says about all of them together.
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

    for name, kind in types.items():
        try:
            TypeAdapter(kind).json_schema()
        except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
            shown = inspect.formatannotation(kind)[:_SHOWN]
            return (
                f"the type of {name!r} ({shown}) has no JSON form; "
                "take text, numbers, lists, dicts, data classes or pydantic models"
            )
        except Exception:
            return f"the type of {name!r} cannot be used: {first_line(error)}"
    return first_line(error)


def first_line(error: BaseException) -> str:
    """Return what pydantic says, without the lines about its website."""
    lines = [line for line in str(error).splitlines() if line.strip() and "errors.pydantic.dev" not in line]
    return " ".join(lines)[:500] or type(error).__name__
