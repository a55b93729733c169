"""Answers that fit a JSON Schema, for programs that have no Python type to ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from remit.errors import SchemaError, UsageError
from remit.loop.answer_type import MOST_ERRORS, NO_JSON, AnswerType, Fits, Misfit, read_values
from remit.packs.arguments import Arguments, Checked
from remit.packs.schema import accept_schema


class AnswerSchema(AnswerType):
    """A JSON Schema that the answer of a run must fit: of an object, in the keywords that a skill's may have.

    Args:
        schema: the schema.

    Raises:
        UsageError: it is none, or has keywords that Remit does not take.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            self.schema = dict(accept_schema(json.dumps(schema).encode()))
        except (SchemaError, TypeError, ValueError) as error:
            raise UsageError(f"the answer cannot have this schema: {error}", remedy="see docs/agents.md") from None
        self._arguments = Arguments(self.schema)

    def read(self, text: str) -> Fits | Misfit:
        """Return the value that `text` holds: all of it, a fenced block, or the only JSON in it that fits."""
        return read_values(text, self._read_json) or Misfit(errors=NO_JSON)

    def _read_json(self, text: str) -> Fits | Misfit:
        checked = self._arguments.check(text)
        if isinstance(checked, Checked):
            return Fits(value=checked.value)
        told = [f"{one.path or 'the answer'}: {one.message}" for one in checked.errors[:MOST_ERRORS]]
        return Misfit(errors="; ".join(told) + ".")


def answer_of(type_: object) -> AnswerType | None:
    """Return what an answer must be, from a type or a JSON Schema; None for any text.

    Raises:
        UsageError: it cannot be asked for.
    """
    if type_ is None:
        return None
    return AnswerSchema(type_) if isinstance(type_, Mapping) else AnswerType(type_)
