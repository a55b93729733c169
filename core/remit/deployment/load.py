"""Reads a `remit.toml` and says what is wrong with it: file, line, key, nearest known key."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from remit.deployment.config import Config
from remit.deployment.source import config_text, line_of, parse_toml, read_config_bytes
from remit.errors import DeploymentError
from remit.packs.complaints import key_path, wrong_value

Key = tuple[str | int, ...]
_MOST_ERRORS = 8


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """One configuration file as it was read.

    Attributes:
        path: where it lies.
        data: its bytes, for the digest.
        text: its text with plain line ends.
        config: its values.
    """

    path: Path
    data: bytes
    text: str
    config: Config


def load_config(path: Path) -> ConfigFile:
    """Read and check a configuration file.

    Raises:
        DeploymentError: missing, unreadable, no TOML, or it says something unknown or wrong; the
            message names file, line, key and, for an unknown key, the nearest known one.
    """
    data = read_config_bytes(path)
    text = config_text(data, path)
    return ConfigFile(path=path, data=data, text=text, config=parse_config(text, path))


def parse_config(text: str, path: Path) -> Config:
    """Check the text of a configuration file; `path` is for messages."""
    table = parse_toml(text, path)
    if "policy" not in table:
        raise DeploymentError(f"{path}: the key `policy` is missing", remedy="write `policy = 1` at the top")
    try:
        return Config.model_validate(table, context=_context(table))
    except ValidationError as error:
        raise DeploymentError("\n".join(_explain(error, text, path, table))) from None


def _context(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what validation has to know beforehand: whether extensions are enabled."""
    extensions = table.get("extensions")
    return {"extensions": extensions.get("enabled") if isinstance(extensions, dict) else None}


def _explain(error: ValidationError, text: str, path: Path, table: Mapping[str, Any]) -> Iterator[str]:
    """Say each error without repeating the value that was written: it may be a secret."""
    found = error.errors(include_url=False)
    for one in found[:_MOST_ERRORS]:
        key = _written(one["loc"], table)
        line = line_of(text, key)
        where = f"{path}:{line}" if line else str(path)
        if one["type"] == "extra_forbidden":
            yield f"{where}: unknown key `{spell(key)}`{_suggestion(key)}{_of_rule(key, table)}"
        else:
            yield f"{where}: `{spell(key)}`: {wrong_value(one)}{_of_rule(key, table)}"
    if len(found) > _MOST_ERRORS:
        yield f"... and {len(found) - _MOST_ERRORS} more"


def _of_rule(key: Key, table: Mapping[str, Any]) -> str:
    """Name the rule that a key belongs to; its number alone makes people count."""
    if len(key) < 2 or key[0] != "rule" or not isinstance(key[1], int):
        return ""
    return f" ({key_path(key[:2], table)})"


def _written(location: Sequence[str | int], table: Mapping[str, Any]) -> Key:
    """Drop what pydantic puts into a location and nobody wrote, such as the branch of a union."""
    here: Any = table
    key: list[str | int] = []
    for index, part in enumerate(location):
        inside = (isinstance(here, Mapping) and part in here) or (isinstance(here, list) and isinstance(part, int))
        if inside:
            here = here[part]
            key.append(part)
        elif index == len(location) - 1 and isinstance(here, Mapping):
            key.append(part)
    return tuple(key)


def spell(key: Sequence[str | int]) -> str:
    """Write a key path as people do: `packs.files.grant.fs.read`, `rule.match` (which rule is said apart)."""
    text = ""
    for number, part in enumerate(key):
        if isinstance(part, int):
            text += "" if number == 1 and key[0] == "rule" else f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the entry of `known` that is most like `name`, None when none is."""
    folded = {one.casefold().replace("-", "_"): one for one in known}
    found = difflib.get_close_matches(name.casefold().replace("-", "_"), list(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _suggestion(key: Key) -> str:
    known = _known_keys(key[:-1])
    close = nearest(str(key[-1]), known)
    if close:
        return f"; did you mean `{close}`?"
    return f"; known here: {', '.join(known)}" if known else ""


def _known_keys(key: Key) -> tuple[str, ...]:
    model: type[BaseModel] | None = Config
    steps = list(key)
    while steps and model is not None:
        annotation = _field(model, str(steps.pop(0)))
        model = next(_models(annotation), None)
        if steps and _is_container(annotation):
            steps.pop(0)
    if model is None:
        return ()
    return tuple(info.alias or name for name, info in model.model_fields.items())


def _field(model: type[BaseModel], written: str) -> Any:
    for name, info in model.model_fields.items():
        if written == (info.alias or name):
            return info.annotation
    return None


def _is_container(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (dict, list, tuple)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models(argument)
