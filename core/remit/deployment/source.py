"""Reading `remit.toml` as text: size, encoding, and in which line a key stands."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remit.errors import DeploymentError

CONFIG_NAME = "remit.toml"
LOCK_NAME = "remit.lock"
MAX_CONFIG_BYTES = 1024 * 1024
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_ENTRY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def read_config_bytes(path: Path) -> bytes:
    """Return the bytes of a configuration file.

    Raises:
        DeploymentError: missing, unreadable, no regular file, or over 1 MiB.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise DeploymentError(f"{path} is no regular file")
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError as error:
        raise DeploymentError(f"there is no {path.name} in {path.parent}", remedy="run `remit init`") from error
    except OSError as error:
        raise DeploymentError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise DeploymentError(f"{path} is larger than {MAX_CONFIG_BYTES} bytes")
    return data


def config_text(data: bytes, path: Path) -> str:
    """Decode a configuration file: UTF-8, a byte order mark and CRLF are no trouble.

    Raises:
        DeploymentError: it is no UTF-8.
    """
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DeploymentError(f"{path}:{line}: not UTF-8 (byte {error.start})") from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        DeploymentError: it is no TOML, with the line.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = str(error) or "nested too deeply"
        at_end = text.rstrip().count("\n") + 1 if "at end of document" in why else 0
        where = f"{path}:{at_end}" if at_end else str(path)
        remedy = "write it anew there; a value stands whole behind its `=`, texts in quotes"
        raise DeploymentError(f"{where}: not valid TOML: {why}", remedy=remedy) from error


def line_of(text: str, key: Sequence[str | int]) -> int | None:
    """Return the line, from 1, in which the value at `key` or its nearest parent is written."""
    best, depth = None, 0
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        entry = None if header else _ENTRY.match(line)
        if header:
            table = _parts(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            here = table
        elif entry:
            here = (*table, *_parts(entry[1]))
        else:
            continue
        shared = _shared(here, key)
        if shared > depth and (shared == len(here) or shared == len(key)):
            best, depth = number, shared
    return best


def _parts(text: str) -> tuple[str | int, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _shared(one: Sequence[str | int], other: Sequence[str | int]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
