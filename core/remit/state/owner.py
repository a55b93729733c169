"""Which process a started call belongs to, and whether that process is still there.

A process that starts calls holds the lock of one file for as long as it lives; the kernel takes the lock away
when it dies, however it dies. That holds across containers that share the folder, and a process number that
is used again misleads nobody. Where files cannot be locked, the number of the process has to do.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from remit.errors import StateError

_FOLDER = "running"
_SUFFIX = ".lock"


class Owner:
    """This process as the owner of calls; made late, and again after a fork."""

    def __init__(self, folder: Path) -> None:
        """Name the state folder."""
        self._folder = folder / _FOLDER
        self._process = os.getpid()
        self._id = ""
        self._file: int | None = None

    @property
    def id(self) -> str:
        """The id that records of started calls carry; its lock is held from now on.

        Raises:
            StateError: the lock cannot be made.
        """
        if self._process != os.getpid():
            self._forget()
        if not self._id:
            self._make()
        return self._id

    def release(self) -> None:
        """Give the lock up; the next use makes another. Idempotent."""
        if self._file is not None and self._process == os.getpid():
            with suppress(OSError):
                (self._folder / f"{self._id}{_SUFFIX}").unlink()
        self._forget()

    def _forget(self) -> None:
        file, self._file, self._id, self._process = self._file, None, "", os.getpid()
        if file is not None:
            os.close(file)

    def _make(self) -> None:
        name = f"{os.getpid()}-{secrets.token_hex(8)}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._folder / f"{name}{_SUFFIX}", flags, 0o600)
            _lock(self._file)
        except OSError as error:
            raise StateError(
                f"{self._folder} cannot be used: {error.strerror or error}",
                remedy="make the state folder writable and make room, or set REMIT_STATE",
            ) from error
        self._id = name


def is_alive(folder: Path, owner: str) -> bool:
    """Tell whether the process that owned a call lives; what a dead one left is taken away.

    Args:
        folder: the state folder.
        owner: an id that `Owner.id` gave; an empty one belongs to nobody.
    """
    if not _is_id(owner):
        return False
    path = folder / _FOLDER / f"{owner}{_SUFFIX}"
    try:
        file = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        if not _lock(file, owner):
            return True
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(file)


def _is_id(owner: str) -> bool:
    process, _, rest = owner.partition("-")
    return process.isdigit() and rest.isalnum()


def _lock(file: int, owner: str = "") -> bool:
    """Take the lock; False when another holds it."""
    try:
        import fcntl
    except ImportError:
        return not owner or not _runs(int(owner.partition("-")[0]))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
