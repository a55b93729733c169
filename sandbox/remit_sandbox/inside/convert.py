"""Strict conversion of one JSON object to a handler's arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from remit_sandbox.inside.signature import Prepared
from remit_sandbox.values import FieldError

ERRORS = 20
"""Errors that are reported at most."""

_MESSAGE = 300
_NAMELESS = {"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"}
_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}


class DoesNotFit(Exception):
    """Arguments that do not convert.

    Attributes:
        errors: where and why, in the order of the arguments.
    """

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{e.path}: {e.message}" for e in errors))


def convert(prepared: Prepared, arguments: bytes) -> Mapping[str, Any]:
    """Return the values of the model's fields that were given.

    Strict: no text becomes a number, no number text; an integer is fine where a float is due, and
    what JSON has no type for (dates, paths, enums, decimals) is read from text. Keys that a data
    class, model or typed dict does not know are refused at every depth.

    Args:
        prepared: the handler.
        arguments: JSON text in UTF-8; empty text means no arguments.

    Raises:
        DoesNotFit: with every error, at most twenty.
    """
    text = arguments or b"{}"
    try:
        made = prepared.model.__pydantic_validator__.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        raise DoesNotFit(tuple(_errors(error, text))) from None
    except RecursionError:
        raise DoesNotFit((FieldError(path="", message="the arguments nest too deeply"),)) from None
    values: Mapping[str, Any] = made.__dict__
    return values


def _errors(error: ValidationError, text: bytes) -> Iterable[FieldError]:
    try:
        value = from_json(text)
    except ValueError:
        value = None
    seen: set[tuple[str, str]] = set()
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = field_path(item["loc"], value, names_missing=item["type"] in _NAMELESS)
        message = "there is no such argument" if item["type"] in _UNKNOWN else item["msg"][:_MESSAGE]
        message = "it is required" if item["type"] in _NAMELESS else message
        if (path, message) not in seen and len(seen) < ERRORS:
            seen.add((path, message))
            yield FieldError(path=path, message=" ".join(message.split()))


def field_path(location: tuple[int | str, ...], value: Any, *, names_missing: bool = False) -> str:
    """Return `items[0].colour` for a location of pydantic's.

    A location also names branches of unions and validators (`("v", "float")`); those are left out,
    which the arguments themselves decide: a step that leads nowhere in them is no part of a path.
    """
    path = ""
    for index, step in enumerate(location):
        last = index == len(location) - 1
        if isinstance(step, int) and isinstance(value, list) and step < len(value):
            path, value = f"{path}[{step}]", value[step]
        elif isinstance(step, str) and isinstance(value, dict) and (step in value or (last and names_missing)):
            path, value = f"{path}.{step}" if path else step, value.get(step)
    return path
