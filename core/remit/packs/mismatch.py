"""What is wrong with the arguments of a call, said so that a model can mend it.

No message repeats the value of an argument: it may be a secret, and the model knows what it wrote.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit.packs.lossless import child
from remit.packs.types import type_name

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
    "pattern": "must match the pattern {}",
}
_WRITTEN = {
    "date": "a date like 2026-01-31",
    "date-time": "a date and time like 2026-01-31T08:30:00Z",
    "time": "a time like 08:30:00",
    "duration": "a duration like PT1H30M or 01:30:00",
    "uuid": "a UUID",
    "uri": "an absolute URL like https://example.com/",
    "email": "an e-mail address",
}


@dataclass(frozen=True, kw_only=True)
class FieldError:
    """One fault of one argument.

    Attributes:
        path: which argument: `items[0].colour`; empty for the arguments as a whole.
        message: why it does not fit, without its value.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def field_errors(schema: Mapping[str, Any], errors: Iterable[ValidationError]) -> Iterator[FieldError]:
    """Turn what the validator found into faults by argument."""
    for error in errors:
        yield from _faults(schema, error)


def _faults(schema: Mapping[str, Any], error: ValidationError) -> Iterator[FieldError]:
    path = _path(error.instance_path)
    keyword = error.kind.name
    parent = _at(schema, error.schema_path[:-1])
    if keyword in ("anyOf", "oneOf") and (inner := _nearest_branch(error)):
        for one in inner:
            yield from _faults(schema, one)
    elif keyword == "additionalProperties":
        for name in getattr(error.kind, "unexpected", ()):
            yield FieldError(path=child(path, name), message=_unknown(name, parent.get("properties", {})))
    elif keyword == "required":
        yield FieldError(path=child(path, error.kind.property), message="is required, but missing")  # type: ignore[attr-defined]
    else:
        yield FieldError(path=path, message=_reason(keyword, parent, error))


def _reason(keyword: str, parent: Mapping[str, Any], error: ValidationError) -> str:
    value = parent.get(keyword)
    if keyword == "type":
        names = [value] if isinstance(value, str) else list(value or ())
        return f"must be {' or '.join(names)}, not {type_name(error.instance)}"
    if keyword == "enum":
        return f"must be one of {', '.join(_shown(one) for one in parent['enum'][:40])}"
    if keyword == "const":
        return f"must be {_shown(value)}"
    if keyword == "format":
        return f"must be {_WRITTEN.get(str(value), f'text in the format {value}')}"
    if keyword in _LIMITS:
        return _LIMITS[keyword].format(_shown(value) if keyword != "pattern" else value)
    if keyword == "oneOf":
        return "fits more than one of the alternatives"
    if keyword == "anyOf":
        return "fits none of the alternatives"
    if keyword == "propertyNames":
        return "has a member whose name is not allowed"
    return f"does not fit the schema ({keyword})"


def _nearest_branch(error: ValidationError) -> Sequence[ValidationError]:
    """Return the faults of the alternative that the value comes nearest to; several wrong types say so together."""
    branches: list[list[ValidationError]] = getattr(error.kind, "context", [])
    here = list(error.instance_path)
    meant = [branch for branch in branches if not any(_is_wrong_type(one, here) for one in branch)]
    if len(meant) == 1 or (meant and error.kind.name == "oneOf"):
        return min(meant, key=len, default=[])
    if meant:
        return min(meant, key=len)
    open_branches = [branch for branch in branches if not _is_null(branch)]
    return open_branches[0] if len(open_branches) == 1 else []


def _is_wrong_type(error: ValidationError, here: list[str | int]) -> bool:
    return error.kind.name in ("type", "const", "enum") and list(error.instance_path) == here


def _is_null(branch: list[ValidationError]) -> bool:
    return len(branch) == 1 and branch[0].kind.name == "type" and getattr(branch[0].kind, "types", None) == ["null"]


def _unknown(name: str, properties: Mapping[str, Any]) -> str:
    lowered = {known.casefold(): known for known in properties}
    near = difflib.get_close_matches(name.casefold()[:100], list(lowered), n=1)
    if near:
        return f"is unknown; did you mean {lowered[near[0]]!r}?"
    known = ", ".join(list(properties)[:40])
    return f"is unknown; known are {known}" if known else "is unknown; none are taken"


def _at(schema: Any, path: Sequence[str | int]) -> Mapping[str, Any]:
    for step in path:
        schema = schema[step]
    return schema if isinstance(schema, Mapping) else {}


def _path(steps: Sequence[str | int]) -> str:
    path = ""
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else child(path, step)
    return path


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
