"""What stands in the files that a call names: bound by a sign-off, and compared with what would be written.

The host reads a file only where the skill itself may, and never through a link that somebody puts in its way.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping

from remit.pipeline.resources import files_of
from remit.skills import Skill

LARGEST = 16 * 1024 * 1024
"""Bytes of all files of one call that are read to bind them; of what is beyond, size and times are bound."""

MOST_FILES = 100
"""Files of one call that are read."""

NOTHING = "nothing"
"""There is no such file."""


def contents(skill: Skill, resolved: Mapping[str, str]) -> dict[str, str]:
    """Return argument to what the file that it names holds: its hash and size, that there is none, or what else it is.

    Places that the skill may neither read nor write are left out, as are hosts and addresses.

    Args:
        skill: what would be called.
        resolved: argument to real path or host, from `remit.pipeline.resources.resolved`.
    """
    left, found = LARGEST, {}
    for number, (name, place) in enumerate(_files(skill, resolved)):
        found[name], read = _held(place, left if number < MOST_FILES else 0)
        left -= read
    return found


def text_of(skill: Skill, place: str, largest: int, *, held: str | None = None) -> str | None:
    """Return the text of a file that the skill may read, None where there is no file.

    Args:
        skill: what would be called.
        place: real path of the file.
        largest: most bytes that it may have.
        held: what it must hold, as `contents` said before; None for anything.

    Raises:
        OSError: it cannot be read, is no regular file, is larger, holds something else, or nobody granted it.
        UnicodeDecodeError: it is no text.
    """
    if not _within(place, _roots(skill)):
        raise OSError(errno.EACCES, "it is not granted", place)
    try:
        with _opened(place) as (descriptor, facts):
            if facts.st_size > largest:
                raise OSError(errno.EFBIG, "it is too large", place)
            data = _read(descriptor, largest)
    except FileNotFoundError:
        data = None
    if held not in (None, NOTHING if data is None else _named(data)):
        raise OSError(errno.EAGAIN, "it has changed meanwhile", place)
    return None if data is None else data.decode("utf-8")


def may_write(skill: Skill, place: str) -> bool:
    """Tell whether the skill has the right to write this file."""
    return skill.cell is not None and _within(place, skill.cell.rights.write)


def beyond_rights(skill: Skill, resolved: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that name files which the skill may neither read nor write, with their real paths."""
    if skill.cell is None:
        return {}
    held = dict(_files(skill, resolved))
    return {name: place for name, place in files_of(resolved).items() if name not in held}


def _files(skill: Skill, resolved: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    roots = _roots(skill)
    for name, place in files_of(resolved).items():
        if _within(place, roots):
            yield name, place


def _roots(skill: Skill) -> tuple[str, ...]:
    return (*skill.cell.rights.read, *skill.cell.rights.write) if skill.cell is not None else ()


def _within(place: str, roots: Iterable[str]) -> bool:
    for root in roots:
        folder = root.removesuffix("/**")
        if place == folder or (root.endswith("/**") and place.startswith(f"{folder}/")):
            return True
    return False


def _held(place: str, largest: int) -> tuple[str, int]:
    """Return what a file holds, in words, and how many bytes of it were read."""
    try:
        with _opened(place) as (descriptor, facts):
            if facts.st_size > largest:
                times = f"changed at {facts.st_mtime_ns} and {facts.st_ctime_ns}, number {facts.st_ino}"
                return f"{facts.st_size} bytes, too many to be read; {times}", 0
            data = _read(descriptor, largest)
    except FileNotFoundError:
        return NOTHING, 0
    except IsADirectoryError:
        return "a folder", 0
    except OSError as error:
        return f"cannot be read: {errno.errorcode.get(error.errno or 0, 'unknown')}", 0
    return _named(data), len(data)


def _named(data: bytes) -> str:
    return f"{len(data)} bytes, sha256:{hashlib.sha256(data).hexdigest()}"


@contextlib.contextmanager
def _opened(place: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file by its real path, which has no link in it: one that is there now is not followed.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    descriptor = _descriptor(place) if os.open in os.supports_dir_fd else os.open(place, os.O_RDONLY)
    try:
        facts = os.fstat(descriptor)
        _require_regular(facts, place)
        yield descriptor, facts
    finally:
        os.close(descriptor)


def _descriptor(place: str) -> int:
    """Open a file by way of each folder above it, none of which may be a link."""
    *folders, name = place.strip("/").split("/")
    through = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
    folder = os.open("/", through)
    try:
        for part in folders:
            inner = os.open(part, through, dir_fd=folder)
            os.close(folder)
            folder = inner
        _require_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), place)
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def _require_regular(facts: os.stat_result, place: str) -> None:
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", place)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", place)


def _read(descriptor: int, largest: int) -> bytes:
    parts, size = [], 0
    while part := os.read(descriptor, 1024 * 1024):
        parts.append(part)
        size += len(part)
        if size > largest:
            raise OSError(errno.EFBIG, "it grew while it was read")
    return b"".join(parts)
