"""Where a path really leads: part by part and link by link, as the kernel goes, or that this cannot be told."""

from __future__ import annotations

import errno
import os
import stat
from functools import lru_cache

_MOST_LINKS = 40
_LONGEST_NAME = 255
_SHIFTING = frozenset({"/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"})
"""Places that are others for every process."""

_MOUNTS = "/proc/self/mountinfo"


def walk(path: str, *, start: str = "/") -> str | None:
    """Return the absolute path without links that `path` leads to, whether or not something is there.

    None where that cannot be told: the way touches a place that is another one for each process (`/proc` and every
    other mount of it, `/dev/fd`), a folder on it cannot be looked into, its links go round, or `..` follows a link, so
    that programs which take `..` off the text come somewhere else than the kernel.

    Args:
        path: absolute, or relative to `start`.
        start: an absolute path without links.
    """
    place = _walk(path, "/" if path.startswith("/") else start)
    if place is None or ".." not in path.split("/"):
        return place
    plain = os.path.normpath("/".join(("", start, path) if not path.startswith("/") else ("", path)))
    return place if _walk(plain, "/") == place else None


def _walk(path: str, place: str) -> str | None:
    rest, links = path.split("/")[::-1], 0
    while rest:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            place = os.path.dirname(place)
            continue
        here = place
        place = f"{here}/{part}" if here != "/" else f"/{part}"
        found = _look(place)
        if found is None:
            return None
        if found:
            links += 1
            if links > _MOST_LINKS:
                return None
            place = "/" if found.startswith("/") else here
            rest += found.split("/")[::-1]
    return place


def _look(place: str) -> str | None:
    """Return what the link at `place` says, an empty text where there is none, None where nobody can tell."""
    if place in _SHIFTING:
        return None
    try:
        facts = os.lstat(place)
        if _is_procfs(facts.st_dev):
            return None
        return os.readlink(place) if stat.S_ISLNK(facts.st_mode) else ""
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:  # no file system has such a long name: nothing is there, and nothing will be
        named = any(len(name) > _LONGEST_NAME for name in os.fsencode(place).split(b"/"))
        return "" if named and error.errno == errno.ENAMETOOLONG else None
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _is_procfs(device: int) -> bool:
    """Tell whether files of this device are those of a mounted procfs, whose links lead each process elsewhere."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.partition(" - ") for line in file]
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    return any(facts.split()[2] == wanted and kind.split()[0] == "proc" for facts, _, kind in mounts)
