"""Answers of a type: asked for as a schema, read from what the model says, checked."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from remit.errors import UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

MOST_ERRORS = 5
"""Mistakes of one answer that the model is told."""

MOST_OPENINGS = 50
"""Places in a text at which an answer is looked for."""

NO_JSON = "it holds no JSON."

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
        """Return the value that `text` holds: all of it, a fenced block, or the only JSON in it that fits.

        Where the type is no object or array, plain words count as well.
        """
        found = read_values(text, lambda value: self._fitting(self._adapter.validate_json, value))
        if isinstance(found, Fits) or self.schema.get("type") in ("object", "array"):
            return found or Misfit(errors=NO_JSON)
        words = self._fitting(self._adapter.validate_python, text.strip())
        return words if isinstance(words, Fits) else found or words

    def _fitting(self, validate: Callable[[str], Any], text: str) -> Fits | Misfit:
        from pydantic import ValidationError

        try:
            value = validate(text)
        except ValidationError as error:
            return Misfit(errors=_told(error))
        plain = self._adapter.dump_python(value, warnings=False)
        return Fits(value=value) if _finite(plain) else Misfit(errors="NaN and Infinity are no numbers of JSON.")

    @cached_property
    def _written(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))


def read_values(text: str, read: Callable[[str], Fits | Misfit]) -> Fits | Misfit | None:
    """Return what the JSON in a text is read as; None where it holds none.

    Args:
        text: what a model said.
        read: reads one JSON text.

    Returns:
        What fits, where it is the only such: all of the text, else in a fence, else anywhere. Where several fit and
        differ, none is it.
    """
    first: Misfit | None = None
    for level in ([text.strip()], [found[1].strip() for found in _FENCE.finditer(text)], None):
        fitting: dict[str, Fits] = {}
        for value in _inside(text) if level is None else _whole(level):
            found = read(value)
            if isinstance(found, Fits):
                fitting[json.dumps(json.loads(value), sort_keys=True)] = found
            else:
                first = first or found
        if len(fitting) > 1:
            return Misfit(errors="it holds several answers, which differ.")
        if fitting:
            return next(iter(fitting.values()))
    return first


def _whole(texts: Sequence[str]) -> Iterator[str]:
    """Yield those texts that are JSON from beginning to end."""
    decoder = _decoder()
    yield from (text for text in texts if text and _decoded(decoder, text) == len(text))


def _inside(text: str) -> Iterator[str]:
    """Yield the objects and arrays that stand in a text."""
    decoder = _decoder()
    openings = [found.start() for found in re.finditer(r"[{\[]", text)][:MOST_OPENINGS]
    end = 0
    for start in openings:
        if start >= end and (length := _decoded(decoder, text[start:])):
            end = start + length
            yield text[start:end]


def _decoder() -> json.JSONDecoder:
    """Return what reads JSON as its standard has it, with numbers that a program can hold."""
    return json.JSONDecoder(parse_constant=_no_number, parse_float=_number)


def _number(digits: str) -> float:
    return number if math.isfinite(number := float(digits)) else _no_number(digits)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite(value: Any) -> bool:
    """Tell whether a value of plain Python parts holds no float that is none in JSON."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return not isinstance(value, (list, tuple, set, frozenset)) or all(map(_finite, value))


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
