"""Answers of a type: asked for as a schema, read from what the model says, checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from remit.errors import UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

MOST_ERRORS = 5
"""Mistakes of one answer that the model is told."""

MOST_OPENINGS = 50
"""Places in a text at which an answer is looked for."""

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)

ASK = (
    "When you have what you need, your final answer must be one JSON value that fits this JSON Schema, and nothing "
    "else: no words around it, no code fence.\n{schema}"
)

REPAIR = (
    "Your answer does not fit: {errors} Write the whole answer again as one JSON value that fits this JSON Schema, and "
    "nothing else:\n{schema}"
)


@dataclass(frozen=True, kw_only=True)
class Fits:
    """An answer that fits, as a value of the type."""

    value: Any


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """An answer that does not fit, and why, in words for the model."""

    errors: str


class AnswerType:
    """A type that the answer of a run must have.

    Args:
        type_: a pydantic model, a dataclass, a TypedDict, or any type that pydantic makes a JSON Schema of.

    Raises:
        UsageError: pydantic cannot.
    """

    def __init__(self, type_: Any) -> None:
        from pydantic import PydanticUserError, TypeAdapter

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(type_)
            self.schema: dict[str, Any] = self._adapter.json_schema()
        except (PydanticUserError, TypeError) as error:
            name = getattr(type_, "__name__", repr(type_))
            raise UsageError(
                f"answer_type {name} cannot be asked for: {str(error).splitlines()[0]}",
                remedy="give a pydantic model, or a type of plain JSON values",
            ) from None

    @cached_property
    def instructions(self) -> str:
        """What the model is told beforehand."""
        return ASK.format(schema=self._written)

    def repair(self, misfit: Misfit) -> str:
        """Return what the model is told about an answer that does not fit."""
        return REPAIR.format(errors=misfit.errors, schema=self._written)

    def read(self, text: str) -> Fits | Misfit:
        """Return the value that `text` holds: all of it, a fenced block, or the first JSON in it that fits.

        Where the type is no object or array, plain words count as well.
        """
        from pydantic import ValidationError

        first: ValidationError | None = None
        for value in values_in(text):
            try:
                return Fits(value=self._adapter.validate_json(value))
            except ValidationError as error:
                first = first or error
        if self.schema.get("type") not in ("object", "array"):
            try:
                return Fits(value=self._adapter.validate_python(text.strip()))
            except ValidationError as error:
                first = first or error
        return Misfit(errors=_told(first) if first else "it holds no JSON.")

    @cached_property
    def _written(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))


def values_in(text: str) -> Iterator[str]:
    """Yield the texts in `text` that are JSON: the most likely first."""
    decoder = json.JSONDecoder()
    for whole in (text.strip(), *(found[1].strip() for found in _FENCE.finditer(text))):
        if _decoded(decoder, whole) == len(whole):
            yield whole
    openings = [found.start() for found in re.finditer(r"[{\[]", text)][:MOST_OPENINGS]
    end = 0
    for start in openings:
        if start >= end and (length := _decoded(decoder, text[start:])):
            end = start + length
            yield text[start:end]


def _decoded(decoder: json.JSONDecoder, text: str) -> int:
    """Return how many characters at the beginning of `text` are one JSON value."""
    try:
        return decoder.raw_decode(text)[1]
    except (ValueError, RecursionError):
        return 0


def _told(error: ValidationError) -> str:
    """Return what is wrong, without what the value was."""
    lines = [
        f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)[:MOST_ERRORS]
    ]
    return "; ".join(lines) + "."
