"""The arguments of a call against the locked schema of its skill: what goes to policy, digest and cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from remit.packs.lossless import bend
from remit.packs.mismatch import FieldError, field_errors
from remit.packs.signature import signature
from remit.packs.strict_json import WHITESPACE, BadJson, dump_exact, parse_strict
from remit.packs.types import type_name
from remit.packs.validator import compile_schema

if TYPE_CHECKING:
    from jsonschema_rs import Validator

MAX_TEXT = 16 * 1024 * 1024
"""Longest arguments, in characters of their JSON text."""

MAX_ERRORS = 12
"""Most faults that one rejection names."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """Arguments that fit.

    Attributes:
        json: the exact JSON that policy, digest and cell see.
        value: the same, parsed.
        notes: what was bent or repaired on the way, one sentence each, without values.
    """

    json: bytes
    value: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Arguments that do not fit.

    Attributes:
        errors: the faults, at most `MAX_ERRORS`.
        message: for the model: which argument, why, and the schema in short.
    """

    errors: tuple[FieldError, ...]
    message: str


class Arguments:
    """Checks the arguments of one skill.

    Args:
        schema: the skill's schema as `accept_schema` returned it.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._parts: dict[int, Validator] = {}

    @cached_property
    def _validator(self) -> Validator:
        return compile_schema(self._schema)

    def check(self, text: str, *, repaired: bool = False) -> Checked | Rejected:
        """Check JSON text as a model or person wrote it; empty text and `null` mean no arguments.

        Args:
            text: the arguments as they came.
            repaired: a parser mended the text before; only noted.

        Never raises for any text. Defaults are not inserted.
        """
        try:
            value = self._read(text)
        except BadJson as error:
            return self._reject([FieldError(path="", message=f"The arguments are {_as_clause(error)}")])
        try:
            return self._fit(value, ("the JSON text was repaired by a parser",) if repaired else ())
        except RecursionError:
            return self._reject([FieldError(path="", message="The arguments are nested too deeply")])

    def _read(self, text: str) -> Any:
        if len(text) > MAX_TEXT:
            raise BadJson(f"longer than {MAX_TEXT} characters")
        stripped = text.strip(WHITESPACE)
        return {} if stripped in ("", "null") else parse_strict(text)

    def _fit(self, value: Any, notes: tuple[str, ...]) -> Checked | Rejected:
        bent = bend(self._schema, value, self._fits)
        if not isinstance(bent.value, dict):
            found = type_name(bent.value)
            return self._reject([FieldError(path="", message=f"The arguments must be a JSON object, not {found}")])
        if bent.twice:
            message = "is given twice (the names are one after Unicode NFC folding)"
            return self._reject([FieldError(path=path, message=message) for path in bent.twice[:MAX_ERRORS]])
        faults = field_errors(self._schema, self._validator.iter_errors(bent.value))
        errors = list(dict.fromkeys(islice(faults, MAX_ERRORS)))
        if errors:
            return self._reject(errors)
        return Checked(json=dump_exact(bent.value), value=bent.value, notes=(*notes, *bent.notes))

    def _fits(self, part: Mapping[str, Any], value: Any) -> bool:
        # Parts belong to the schema, which lives as long as this object, so their ids stay theirs.
        validator = self._parts.get(id(part))
        if validator is None:
            validator = self._parts[id(part)] = compile_schema(part)
        return validator.is_valid(value)

    def _reject(self, errors: list[FieldError]) -> Rejected:
        lines = "\n".join(f"- {error}" for error in errors)
        shape = signature(self._schema)
        message = f"The arguments do not fit, so nothing was run:\n{lines}\nExpected: {shape}"
        return Rejected(errors=tuple(errors), message=message)


def _as_clause(error: BadJson) -> str:
    text = str(error)
    known = ("not valid JSON", "nested", "longer")
    return text if text.startswith(known) else f"not acceptable: {text}"
