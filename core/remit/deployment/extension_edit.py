"""Edits `[extensions]` of a `remit.toml` as text, so that comments, order and line ends stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.deployment.load import parse_config
from remit.deployment.source import parse_toml
from remit.errors import DeploymentError

Key = tuple[str, ...]


def edited_extensions(text: str, values: Mapping[Key, Any], path: Path) -> str:
    """Return the text of a `remit.toml` with keys of its table `[extensions]` set.

    Args:
        text: the file's text with plain line ends.
        values: key path within the table (`("settings", "vault", "url")`) to value.
        path: for messages.

    Raises:
        DeploymentError: a value that TOML cannot hold, or the table is written in a way that cannot be edited.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        if "extensions" not in document:
            document = tomlkit.parse(f"{text.rstrip()}\n\n[extensions]\n" if text.strip() else "[extensions]\n")
        table: Any = document["extensions"]
        for key, value in values.items():
            _put(table, key, value)
        edited = tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _by_hand(path) from error
    expected = parse_toml(text, path)
    for key, value in values.items():
        _change(expected.setdefault("extensions", {}), key, value)
    if parse_toml(edited, path) != expected:
        raise _by_hand(path)
    parse_config(edited, path)
    return edited if values else text


def _put(table: Any, key: Key, value: Any) -> None:
    import tomlkit

    if len(key) == 1:
        table[key[0]] = value
        return
    if key[0] not in table:
        table[key[0]] = tomlkit.table(is_super_table=len(key) > 2)
    _put(table[key[0]], key[1:], value)


def _change(table: dict[str, Any], key: Key, value: Any) -> None:
    if len(key) == 1:
        table[key[0]] = value
    else:
        _change(table.setdefault(key[0], {}), key[1:], value)


def _by_hand(path: Path) -> DeploymentError:
    return DeploymentError(
        f"{path}: the table [extensions] is written in a way that cannot be edited without loss",
        remedy="write it as a table of its own, [extensions], and run the command again",
    )
