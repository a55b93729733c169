"""Says what is wrong with a manifest: the key path, the reason, the nearest known key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import BaseModel, ValidationError

from remit import __version__
from remit.packs.tables import HANDLER, LINE, NAME, Document

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

RULE_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""Ids of rules in `remit.toml`."""

_SHOWN = 5
_NAMED = {"skill": "name", "rule": "id"}
_WORD_FORM = "has to be written in lower-case letters and digits, words joined by one _, such as get_weather"
_FORMS = {
    NAME: _WORD_FORM,
    HANDLER: "has to be written package.module:function",
    LINE: "has to be one line without control characters",
    RULE_ID: "has to be letters, digits, _, - or ., at most 64 characters",
}
_BOUNDS = {
    "greater_than": "more than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}
_KINDS = {
    "string_type": "has to be a text in quotes",
    "bool_type": "has to be true or false",
    "int_type": "has to be a whole number",
    "int_from_float": "has to be a whole number",
    "float_type": "has to be a number",
    "float_parsing": "has to be a number",
    "finite_number": "has to be a number, not inf or nan",
    "list_type": "has to be a list in [ ]",
    "tuple_type": "has to be a list in [ ]",
    "dict_type": "has to be a table",
    "model_type": "has to be a table",
    "model_attributes_type": "has to be a table",
}


def complaint(error: ValidationError, raw: Mapping[str, Any]) -> str:
    """Return the first few errors in one line each, as `key.path: what is wrong`; `raw` is what was written."""
    errors = error.errors(include_url=False)
    lines = list(dict.fromkeys(_line(entry, raw) for entry in errors))
    more = f" (and {len(lines) - _SHOWN} more)" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more


def _line(entry: ErrorDetails, raw: Mapping[str, Any]) -> str:
    where = entry["loc"]
    path = key_path(where, raw)
    if entry["type"] == "extra_forbidden":
        return f"{path}: unknown key{_nearest(where)}"
    if entry["type"] == "missing":
        return f"{path}: is missing"
    said = wrong_value(entry)
    return f"{path}: {said}" if path else said


def wrong_value(entry: ErrorDetails) -> str:
    """Say what pydantic found wrong with one value in words of people; the value itself is not repeated."""
    context: Mapping[str, Any] = entry.get("ctx") or {}
    match entry["type"]:
        case "literal_error" | "enum":
            return _no_such_word(str(context.get("expected", "")), entry["input"])
        case "string_pattern_mismatch":
            return _FORMS.get(str(context.get("pattern")), f"has to fit the pattern {context.get('pattern')}")
        case "string_too_long":
            return f"has more than {context.get('max_length')} characters"
        case "too_long":
            return f"has more than {context.get('max_length')} entries"
        case "string_too_short" | "too_short":
            return "is empty"
        case "missing":
            return "is missing"
        case "value_error":
            return entry["msg"].removeprefix("Value error, ")
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            return f"has to be {_BOUNDS[entry['type']]} {next(iter(context.values()), '')}"
        case kind:
            return _KINDS.get(kind) or entry["msg"].replace("Input should be", "has to be", 1)


def _no_such_word(expected: str, written: object) -> str:
    words = [part.strip("'\" ") for part in expected.replace(" or ", ", ").split(",")]
    close = difflib.get_close_matches(str(written).lower()[:80], words, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"has to be {expected}{hint}"


def key_path(where: tuple[int | str, ...], raw: Mapping[str, Any] | None = None) -> str:
    """Write a location as people do: `skill get_weather: effect`, `skill 2: handler`, `permissions.fs.read`."""
    if len(where) > 1 and where[0] in _NAMED and isinstance(where[1], int):
        return ": ".join(part for part in (_table(where[0], where[1], raw or {}), key_path(where[2:])) if part)
    path = ""
    for part in where:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() or ("." not in part and "[" not in part):
            path += f".{part[:80]}"
        else:
            path += f".{part[:80]!r}"
    return path.removeprefix(".")


def _table(kind: int | str, number: int, raw: Mapping[str, Any]) -> str:
    """Name one of several tables: by its own name where it has one that can be shown, else by its number."""
    try:
        name = raw[str(kind)][number][_NAMED[str(kind)]]
    except (KeyError, IndexError, TypeError):
        name = None
    shown = isinstance(name, str) and 0 < len(name) <= 80 and name.isprintable()
    return f"{kind} {name if shown else number + 1}"


def _nearest(where: tuple[int | str, ...]) -> str:
    model = _model_at(where[:-1])
    known = list(model.model_fields) if model else []
    found = difflib.get_close_matches(str(where[-1])[:80], known, n=1, cutoff=0.5)
    if found:
        return f"; did you mean {found[0]}?"
    return f"; known here: {', '.join(known)}" if known else ""


def _model_at(where: tuple[int | str, ...]) -> type[BaseModel] | None:
    """Return the model of the table at `where`, None when it is none."""
    model: type[BaseModel] = Document
    for part in where:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        inner = _inner(field.annotation) if field else None
        if inner is None:
            return None
        model = inner
    return model


def _inner(annotation: Any) -> type[BaseModel] | None:
    candidates = [annotation, *getattr(annotation, "__args__", ())]
    for candidate in candidates:
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def newer_remit(specifier: str) -> str:
    """Say which Remit a `requires_remit` wants when it is not this one; empty when this one fits."""
    if not specifier:
        return ""
    try:
        wanted = SpecifierSet(specifier)
    except InvalidSpecifier:
        return f"{specifier!r} is no version specifier; write it like >=0.1"
    if wanted.contains(Version(__version__), prereleases=True):
        return ""
    return f"needs remit {specifier}, this is {__version__}"
