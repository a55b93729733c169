"""Edits `remit.toml` as text, so that comments, order and line ends stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.deployment.files import DeploymentFiles, digest_of, lock_from, read_files, read_lock_bytes, write_atomically
from remit.deployment.layers import canonical
from remit.deployment.load import ConfigFile, parse_config
from remit.deployment.source import CONFIG_NAME, LOCK_NAME, parse_toml
from remit.errors import DeploymentError
from remit.packs.lock import Lock, format_lock

Key = tuple[str, ...]


def edited_pack(text: str, pack: str, values: Mapping[Key, Any], path: Path) -> str:
    """Return the text of a `remit.toml` with `[packs.PACK]` changed.

    Args:
        text: the file's text with plain line ends.
        pack: the pack's canonical name; a table under another spelling is kept as it is named.
        values: key path within the table (`("grant", "fs", "read")`) to value; None removes it.
        path: for messages.

    Raises:
        DeploymentError: the file is written in a way that cannot be edited without loss.
    """
    spelled = _spelled(parse_config(text, path).packs, pack)
    if spelled is None:
        block = f"[packs.{pack}]\n"
        start = f"{text.rstrip()}\n\n" if text.strip() else ""
        edited, text = start + _edited(block, pack, values, path, pack), start + block
    else:
        edited = _edited(text, spelled, values, path, pack)
    _check(text, edited, pack, values, path)
    return edited


def _edited(text: str, spelled: str, values: Mapping[Key, Any], path: Path, pack: str) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        table: Any = document["packs"][spelled]
        for key, value in values.items():
            if value is None:
                _remove(table, key)
            else:
                _put(table, key, value)
        return tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _by_hand(path, pack) from error


def write_files(files: DeploymentFiles, text: str, lock: Lock) -> DeploymentFiles:
    """Write both files and return what is there now.

    Args:
        files: what they were when the edit was made.
        text: the new text of `remit.toml`.
        lock: the new lock.

    Raises:
        DeploymentError: they changed meanwhile, or cannot be written.
    """
    now = digest_of((files.folder / CONFIG_NAME).read_bytes(), read_lock_bytes(files.folder))
    if now != files.digest:
        raise DeploymentError(f"the files in {files.folder} changed meanwhile", remedy="run the command again")
    written = planned_files(files, text, lock)
    if written.lock_data != files.lock_data:
        write_atomically(files.folder / LOCK_NAME, written.lock_data)
    if written.config.data != files.config.data:
        write_atomically(files.folder / CONFIG_NAME, written.config.data)
    return read_files(files.folder)


def planned_files(files: DeploymentFiles, text: str, lock: Lock) -> DeploymentFiles:
    """Return the files as `write_files` would write them."""
    same = text == files.config.text
    ends = "\r\n" if b"\r\n" in files.config.data else "\n"
    data = files.config.data if same else text.replace("\n", ends).encode()
    path = files.config.path
    lock_data = files.lock_data if lock == files.lock else format_lock(lock).encode()
    return DeploymentFiles(
        folder=files.folder,
        config=ConfigFile(path=path, data=data, text=text, config=parse_config(text, path)),
        lock_data=lock_data,
        lock=lock_from(lock_data, files.folder),
    )


def _spelled(packs: Mapping[str, Any], pack: str) -> str | None:
    return next((name for name in packs if canonical(name) == pack), None)


def _remove(table: Any, key: Key) -> None:
    """Remove one key, and parents that it leaves empty."""
    if key[0] not in table:
        return
    if len(key) == 1:
        del table[key[0]]
        return
    _remove(table[key[0]], key[1:])
    if not table[key[0]]:
        del table[key[0]]


def _put(table: Any, key: Key, value: Any) -> None:
    import tomlkit

    if key[0] not in table:
        table.append(tomlkit.key(list(key)) if len(key) > 1 else key[0], value)
    elif len(key) == 1:
        table[key[0]] = value
    else:
        _put(table[key[0]], key[1:], value)


def _check(text: str, edited: str, pack: str, values: Mapping[Key, Any], path: Path) -> None:
    """The edited text must say what was meant, and everything else as before."""
    try:
        expected, found = parse_toml(text, path), parse_toml(edited, path)
    except DeploymentError as error:
        raise _by_hand(path, pack) from error
    table = expected["packs"][_spelled(expected["packs"], pack)]
    for key, value in values.items():
        _change(table, key, value)
    if found != expected:
        raise _by_hand(path, pack)
    parse_config(edited, path)


def _change(table: dict[str, Any], key: Key, value: Any) -> None:
    if value is None:
        _remove(table, key)
    elif len(key) == 1:
        table[key[0]] = value
    else:
        _change(table.setdefault(key[0], {}), key[1:], value)


def _by_hand(path: Path, pack: str) -> DeploymentError:
    return DeploymentError(
        f"{path}: the table of pack {pack} is written in a way that cannot be edited without loss",
        remedy=f"write it as a table of its own, [packs.{pack}], and run the command again",
    )
