"""Reads one `.dist-info` folder by hand: names, entry points and file list, nothing executed.

`importlib.metadata` would do the same for 39 ms of import time. Formats: entry points and METADATA
of the Python packaging guide's core specifications, RECORD of PEP 376 and 627, `direct_url.json` of
PEP 610.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from remit.packs.folding import fold

GROUP = "remit.packs"
"""Entry-point group of packs."""

_NAMES = 256 * 1024
_HEAD = 64 * 1024
_RECORD = 64 * 1024 * 1024


class Refused(Exception):
    """A distribution whose pack is left out: `reason` in one sentence, `remedy` for whoever installs it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(reason)


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One `.dist-info` folder that has an entry point in our group.

    Attributes:
        site: the site folder that contains it.
        folder: the `.dist-info` folder.
        name: from its METADATA.
        version: from its METADATA.
        groups: entry-point group to name to value.
    """

    site: Path
    folder: Path
    name: str
    version: str
    groups: Mapping[str, Mapping[str, str]]


def pack_names(folder: str, group: str = GROUP) -> dict[str, dict[str, str]] | None:
    """Return the entry points of a `.dist-info` folder when it names a pack, None when it does not.

    Args:
        folder: the `.dist-info` folder.
        group: the entry-point group to look for, another one for extensions.

    Raises:
        Refused: it seems to name one, and cannot be read.
    """
    data = _read(f"{folder}/entry_points.txt", _NAMES)
    if data is None or group.encode() not in data:
        return None
    groups = parse_entry_points(_text(data, "entry_points.txt"))
    return groups if group in groups else None


def parse_entry_points(text: str) -> dict[str, dict[str, str]]:
    """Parse `entry_points.txt`: `[group]`, then `name = value` lines.

    Raises:
        Refused: a line that is neither, or one name twice in a group.
    """
    groups: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            current = groups.setdefault(line.strip("[]").strip(), {})  # as importlib.metadata does
            continue
        name, equals, value = line.partition("=")
        if current is None or not equals or name.strip() in current:
            raise Refused(f"entry_points.txt has a line that cannot be read: {line[:80]!r}")
        current[name.strip()] = value.strip()
    return groups


def read_distribution(site: str, folder: str, groups: Mapping[str, Mapping[str, str]]) -> Distribution:
    """Read name and version.

    Raises:
        Refused: METADATA is missing, empty, or names another distribution than the folder.
    """
    data = _read(f"{folder}/METADATA", _HEAD, cut=True)
    headers = _headers(data or b"")
    name, version = headers.get("name", ""), headers.get("version", "")
    if not name or not version:
        state = "missing" if data is None else "empty" if not data.strip() else "incomplete"
        raise Refused(f"version unknown (METADATA {state})", "reinstall it: pip install --force-reinstall")
    if not _plain(name) or not _plain(version.replace("+", "").replace("!", "")):
        raise Refused("METADATA has a name or version that is no plain ASCII name")
    return Distribution(site=Path(site), folder=Path(folder), name=name, version=version, groups=groups)


def _plain(name: str) -> bool:
    kept = name.replace("-", "").replace("_", "").replace(".", "")
    return len(name) <= 200 and kept.isascii() and kept.isalnum()


def _headers(data: bytes) -> dict[str, str]:
    """Return the first value of each header; the body after the blank line is not read."""
    head = data.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("utf-8", "replace")
    headers: dict[str, str] = {}
    for line in head.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key and not key[0].isspace():
            headers.setdefault(key.strip().lower(), value.strip())
    return headers


def read_record(folder: Path) -> tuple[str, ...]:
    """Return the paths that RECORD lists, as written.

    Raises:
        Refused: RECORD is missing or cannot be read.
    """
    import csv

    data = _read(f"{folder}/RECORD", _RECORD)
    if data is None:
        raise Refused("it has no RECORD, so its files are not known", "install it with pip")
    try:
        return tuple(row[0] for row in csv.reader(_text(data, "RECORD").splitlines()) if row)
    except csv.Error:
        raise Refused("its RECORD is no CSV", "reinstall it: pip install --force-reinstall") from None


def editable_source(folder: Path) -> Path | None:
    """Return the project's folder of an editable install, None for any other install.

    Raises:
        Refused: `direct_url.json` cannot be read, or points to another machine.
    """
    data = _read(f"{folder}/direct_url.json", _HEAD)
    if data is None:
        return None
    import json
    from urllib.parse import unquote, urlsplit

    try:
        facts = json.loads(data)
        if not facts.get("dir_info", {}).get("editable", False):
            return None
        url = urlsplit(facts["url"])
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise Refused("its direct_url.json cannot be read", "reinstall it: pip install -e DIR") from None
    path = unquote(url.path)
    if url.scheme != "file" or url.netloc not in ("", "localhost") or not path.isprintable():
        raise Refused("its direct_url.json names no folder of this machine", "reinstall it: pip install -e DIR")
    return Path(path)


def wheel_of(folder: Path, distribution: str, version: str) -> dict[str, str]:
    """Return the wheel that a distribution was installed from, file name to `sha256:...`, where pip wrote that down.

    It does so for a wheel that was given as a file or an address, not for one that an index was asked for.
    """
    import json
    import re
    from urllib.parse import unquote, urlsplit

    try:
        facts = json.loads(_read(f"{folder}/direct_url.json", _HEAD) or b"{}")
        name = unquote(urlsplit(facts["url"]).path).rpartition("/")[2]
        found = facts["archive_info"]["hashes"]["sha256"]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, Refused):
        return {}
    own = fold(name.partition("-")[0]) == fold(distribution) and name.split("-")[1:2] == [version]
    sound = re.fullmatch(r"[A-Za-z0-9_.+!-]{1,250}\.whl", name) and re.fullmatch(r"[0-9a-f]{64}", str(found))
    return {name: f"sha256:{found}"} if own and sound else {}


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"its {name} is not UTF-8") from None


def _read(path: str, largest: int, *, cut: bool = False) -> bytes | None:
    """Return a file's bytes, None when there is no such file; Refused when it is too large."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
        with open(descriptor, "rb", buffering=0) as file:
            data = _up_to(file, largest + 1)
    except OSError:
        return None
    if len(data) > largest and not cut:
        raise Refused(f"its {path.rpartition('/')[2]} is larger than {largest // 1024} KiB")
    return data[:largest]


def _up_to(file: IO[bytes], most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := file.read(min(most, 1024 * 1024))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)
