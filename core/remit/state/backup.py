"""A copy of `state.db` while others write to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import StateError, UsageError

if TYPE_CHECKING:
    import sqlite3

_PAGES = 512


def backup(folder: Path, target: Path) -> int:
    """Copy the `state.db` of a state folder to a new file of mode 0600, as it was at one moment; return its bytes.

    Writers are not held up. The log in the copy verifies like the one that it was made from.

    Raises:
        UsageError: there is a file at `target` already.
        StateError: there is nothing to copy, or it cannot be copied.
    """
    import sqlite3

    source = folder / "state.db"
    if not source.exists():
        raise StateError(f"there is no {source} to copy")
    if target.exists():
        raise UsageError(f"{target} is there already", remedy="name a new file")
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        connection = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        try:
            copy(connection, draft)
        finally:
            connection.close()
        os.link(draft, target)
    except FileExistsError:
        raise UsageError(f"{target} is there already", remedy="name a new file") from None
    except (sqlite3.Error, OSError) as error:
        raise StateError(f"{source} could not be copied to {target}: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return target.stat().st_size


def copy(connection: sqlite3.Connection, target: Path) -> None:
    """Copy an open database to a new file that only this person can read, and see it on the disk.

    Raises:
        OSError, sqlite3.Error: it cannot be copied.
    """
    import sqlite3

    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    copied = sqlite3.connect(target)
    try:
        connection.backup(copied, pages=_PAGES)
        copied.execute("PRAGMA journal_mode = DELETE")
    finally:
        copied.close()
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
