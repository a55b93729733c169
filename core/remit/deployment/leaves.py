"""The single values in the tables of a deployment, by key: whatever table is added, none is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

Key = tuple[str, ...]
"""Where a value stands: `("model", "fallback", "0", "name")`."""


def leaves(value: object) -> dict[Key, Any]:
    """Return every value in `value` by its key, those of tables in it, in mappings and in lists included.

    A value that is no table stands at the empty key; nothing (None, an empty list or mapping) has no value.
    """
    return dict(_leaves(value, ()))


def said(table: BaseModel) -> dict[Key, Any]:
    """Return the values in `table` that are not what they are where nothing is written."""
    return dict(_said(table, None, ()))


def as_text(value: object) -> str:
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _leaves(value: object, key: Key) -> Iterator[tuple[Key, Any]]:
    parts = _parts(value)
    if parts is None:
        if not key and value in (None, "", (), {}):
            return
        yield key, value
    for name, part in (parts or {}).items():
        yield from _leaves(part, (*key, name))


def _said(table: BaseModel, standard: BaseModel | None, key: Key) -> Iterator[tuple[Key, Any]]:
    """Yield what differs from `standard`, or else from the defaults of the table's own class."""
    for name, info in type(table).model_fields.items():
        value, here = getattr(table, name), (*key, info.alias or name)
        usual = info.get_default(call_default_factory=True) if standard is None else getattr(standard, name)
        if value == usual:
            continue
        parts = _parts(value)
        if isinstance(value, BaseModel):
            found = list(_said(value, usual if type(usual) is type(value) else None, here))
            yield from found or [(here, value)]
        elif parts is None:
            yield here, value
        else:
            for part, one in parts.items():
                inner = list(_said(one, None, (*here, part))) if isinstance(one, BaseModel) else []
                yield from inner or [((*here, part), one)]


def _parts(value: object) -> Mapping[str, Any] | None:
    """Return what a table, or a mapping or list of tables, holds; None for any other value."""
    if isinstance(value, BaseModel):
        return {info.alias or name: getattr(value, name) for name, info in type(value).model_fields.items()}
    if isinstance(value, Mapping) and any(isinstance(one, BaseModel) for one in value.values()):
        return {str(name): one for name, one in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(one, BaseModel) for one in value):
        return {str(number): one for number, one in enumerate(value)}
    return None


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return str(value)
