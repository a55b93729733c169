"""Hands records to audit sinks: those of required extensions at once, others in the background.

How far each sink has come is kept beside `state.db`. So one that was down, or slow, or missed what another command
wrote, goes on where it was; and it gets a record twice only when the program is killed between the two.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import StateError
from remit.extensions.values import Fault, Item
from remit.extensions.wording import described

if TYPE_CHECKING:
    from remit.state.records import Record
    from remit.state.store import State

FAULT_EVENT = "extension.failed"
"""The record of an extension that failed while it was used."""

PATIENCE = 5.0
"""Seconds that closing waits for a slow sink."""

MOST_AT_ONCE = 500
"""Records of one write."""

Report = Callable[[Fault], None]


class Outlet:
    """One audit sink, guarded: it is called once at a time, whoever has records for it, in this process or another.

    Attributes:
        item: the sink, and where it comes from.
        required: what it does not take must not go on.
    """

    def __init__(self, item: Item, *, required: bool) -> None:
        self.item = item
        self.required = required
        self._one_at_a_time = threading.Lock()
        self._failing = False

    def begin(self, state: State) -> None:
        """Let a new sink begin with the next record; one that is known goes on where it was."""
        last = next((record.seq for record in state.records(newest_first=True, limit=1)), 0)
        try:
            with self._one_at_a_time, _mark(self._file(state)) as mark:
                if mark.seq is None or mark.seq > last:  # a state.db that was moved away begins anew
                    mark.seq = last if mark.seq is None else 0
        except OSError:
            return  # the first delivery says so

    def deliver(self, state: State, report: Report) -> str:
        """Hand over what is new; return why that failed, empty when it did not. The first failure is reported."""
        with self._one_at_a_time:
            why = self._delivered(state)
            first, self._failing = bool(why) and not self._failing, bool(why)
        if first:
            doing = f"write to audit sink {self.item.name}"
            report(Fault(extension=self.item.extension, doing=doing, error=why))
        return why

    def close(self) -> None:
        """Close the sink, whatever it does."""
        try:
            self.item.value.close()
        except Exception:
            return

    def _delivered(self, state: State) -> str:
        try:
            with _mark(self._file(state)) as mark:
                while page := tuple(islice(state.records(after=mark.seq or 0, limit=MOST_AT_ONCE), MOST_AT_ONCE)):
                    self.item.value.write(page)
                    mark.seq = page[-1].seq
        except Exception as error:
            return described(error)
        return ""

    def _file(self, state: State) -> Path:
        return state.folder / "sinks" / f"{self.item.extension}.{self.item.name}"


class Delivery:
    """Hears of the records of one `State`, and lets the sinks have them.

    A sink of an extension that is not required never holds a call up and never stops one.
    """

    def __init__(self, outlets: Sequence[Outlet], state: State, report: Report) -> None:
        self._at_once = [outlet for outlet in outlets if outlet.required]
        self._later = [outlet for outlet in outlets if not outlet.required]
        self._state = state
        self._report = report
        self._owner = 0
        self._worker: _Worker | None = None
        self._here = threading.local()
        for outlet in outlets:
            outlet.begin(state)

    def written(self, records: Sequence[Record]) -> None:
        """Hand records on.

        Raises:
            StateError: the sink of a required extension did not take them.
        """
        if self._later:
            self._wake()
        for outlet in self._at_once:
            why = outlet.deliver(self._state, self._report)
            if why:
                raise StateError(
                    f"audit sink {outlet.item.name} of the required extension {outlet.item.origin} failed: {why}",
                    remedy="mend it, or take the extension out of `required` under [extensions] in remit.toml",
                )

    def flush(self) -> None:
        """Wait for slow sinks, as long as `PATIENCE` says; what they did not take comes the next time."""
        worker, self._worker = self._worker, None
        if worker is not None and self._owner == os.getpid():
            worker.finish(PATIENCE)

    def _wake(self) -> None:
        if self._worker is None or self._owner != os.getpid():
            if getattr(self._here, "delivers", False):
                return  # the record of a fault while this ends: it comes the next time
            self._owner = os.getpid()
            self._worker = _Worker(self._deliver)
        self._worker.wake()

    def _deliver(self) -> None:
        self._here.delivers = True
        for outlet in self._later:
            outlet.deliver(self._state, self._report)


class _Worker:
    """A thread that does one thing whenever it is woken, and once more before it ends."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._woken = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="remit-sinks", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def finish(self, seconds: float) -> None:
        self._over = True
        self._woken.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        over = False
        while not over:
            self._woken.wait()
            self._woken.clear()
            over = self._over  # looked at before the work: what came just before the end is worked on, too
            self._work()


class _Mark:
    """How far a sink has come: the number of the last record that it took; None before its first delivery."""

    seq: int | None = None


@contextmanager
def _mark(path: Path) -> Iterator[_Mark]:
    """Give the mark that is kept in `path`, and keep what it is afterwards. Other processes wait meanwhile."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor)
        written = os.read(descriptor, 32).strip()
        mark = _Mark()
        mark.seq = before = int(written) if written.isdigit() else None
        try:
            yield mark
        finally:
            if mark.seq != before:
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, b"%-20d" % (mark.seq or 0))
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:
        return  # without it, two processes may hand a record over twice
    fcntl.flock(descriptor, fcntl.LOCK_EX)
