"""`State`: everything that a deployment remembers, in one file."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from remit.state.blobs import Blobs
from remit.state.cache import Cache
from remit.state.database import Database
from remit.state.records import Records
from remit.state.sessions import Sessions
from remit.state.signoffs import Signoffs


class State(Records, Sessions, Blobs, Cache, Signoffs):
    """`state.db` in one folder: records, sessions, whole results, cache, sign-offs.

    Nothing is opened or made before the first use. Threads and processes may share it; each change
    is one transaction. A context manager that closes at the end.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder (mode 0700; made at first use) that holds `state.db`."""
        self.folder = folder
        self.database = Database(folder)

    def close(self) -> None:
        """Close the file; the next use opens it again. Idempotent."""
        self.database.close()

    def __enter__(self) -> State:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
