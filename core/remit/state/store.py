"""`State`: everything that a deployment remembers, in one file."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from remit.state.answering import Answering
from remit.state.blobs import Blobs
from remit.state.cache import Cache
from remit.state.database import Database
from remit.state.doubts import Doubts
from remit.state.file_labels import FileLabels
from remit.state.leases import Leases
from remit.state.owner import Owner
from remit.state.people import People
from remit.state.records import Listener
from remit.state.sessions import Sessions
from remit.state.signoffs import Signoffs
from remit.state.standing import Standings
from remit.state.summaries import Summaries
from remit.state.withdrawing import Withdrawing


class State(
    Doubts,
    Sessions,
    Leases,
    Blobs,
    Cache,
    Signoffs,
    Answering,
    Withdrawing,
    Standings,
    Summaries,
    FileLabels,
    People,
):
    """`state.db` in one folder: records, lost calls, sessions, whole results, cache, sign-offs.

    Nothing is opened or made before the first use. Threads and processes may share it; each change
    is one transaction. A context manager that closes at the end.

    Attributes:
        folder: the folder.
        who: for whom everything is done, where nothing else is said.
        listener: hears of every record once it is written.
        owner: this process, for the calls that it starts.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder (mode 0700; made at first use) that holds `state.db`."""
        self.folder = folder
        self.listener: Listener | None = None
        self.who = ""
        self.database = Database(folder)
        self.owner = Owner(folder)
        self.wrote = False

    def close(self) -> None:
        """Let the listener finish, and close the file; the next use opens it again. Idempotent."""
        if self.listener is not None:
            self.listener.flush()
        if self.wrote:
            self.keep_head()
        self.database.close()
        self.owner.release()

    def __enter__(self) -> State:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
