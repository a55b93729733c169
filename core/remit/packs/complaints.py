"""Says what is wrong with a manifest: the key path, the reason, the nearest known key."""

from __future__ import annotations

import difflib
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import BaseModel, ValidationError

from remit import __version__
from remit.packs.tables import Document

_SHOWN = 5


def complaint(error: ValidationError) -> str:
    """Return the first few errors in one line each, as `key.path: what is wrong`."""
    errors = error.errors(include_url=False, include_context=False)
    lines = list(dict.fromkeys(_line(entry["type"], entry["loc"], entry["msg"]) for entry in errors))
    more = f" (and {len(lines) - _SHOWN} more)" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more


def _line(kind: str, where: tuple[int | str, ...], message: str) -> str:
    path = key_path(where)
    if kind == "extra_forbidden":
        return f"{path}: unknown key{_nearest(where)}"
    if kind == "missing":
        return f"{path}: is missing"
    said = message.removeprefix("Value error, ")
    return f"{path}: {said}" if path else said


def key_path(where: tuple[int | str, ...]) -> str:
    """Write a location as people do: `skill[0].effect`."""
    path = ""
    for part in where:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() or ("." not in part and "[" not in part):
            path += f".{part[:80]}"
        else:
            path += f".{part[:80]!r}"
    return path.removeprefix(".")


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
