"""What a person switched off at once: one small file beside `state.db`, looked at before every call.

A look costs one `stat`; the file is read again only when it is another one. Whatever cannot be read counts as
*everything is off*: this file is written in an emergency.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from remit.errors import StateError
from remit.state_folder import private_folder, write_private

EVERYTHING = "*"
"""Name of the switch over every skill."""

_FILE = "switches.json"
_LARGEST = 1024 * 1024
_LOCK = "switches.lock"
_LONGEST_WAIT = 1.0


@dataclass(frozen=True, kw_only=True)
class Off:
    """One thing that is switched off.

    Attributes:
        name: `*`, a pack, or `pack.skill`.
        reason: in the person's words; empty when none was given.
        who: the person's name on this machine.
        when: seconds since 1970.
    """

    name: str
    reason: str = ""
    who: str = ""
    when: float = 0.0

    def says(self) -> str:
        """Return why a call is refused, one sentence without a final point."""
        what = "every skill is" if self.name == EVERYTHING else f"{self.name} is"
        return f"{what} switched off here" + (f": {self.reason}" if self.reason else "")

    def undo(self) -> str:
        """Return the command that takes this switch away."""
        return "remit kill --restore" if self.name == EVERYTHING else f"remit kill {self.name} --restore"


UNREADABLE = Off(name=EVERYTHING, reason="the list of what is switched off cannot be read, so nothing runs")
"""What holds while the file cannot be read."""


class Switches:
    """The switches of one deployment; threads and processes may share the file."""

    def __init__(self, folder: Path) -> None:
        """Name the state folder of the deployment; nothing is read or made yet."""
        self._path = folder / _FILE
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._off: Mapping[str, Off] = {}

    def off(self, pack: str, skill: str) -> Off | None:
        """Return what switches this skill off, None when nothing does. Never raises."""
        found = self._current()
        if not found:
            return None
        return found.get(EVERYTHING) or found.get(pack) or found.get(f"{pack}.{skill}")

    def all(self) -> tuple[Off, ...]:
        """Return everything that is switched off, sorted by name."""
        return tuple(off for _, off in sorted(self._current().items()))

    def switch_off(self, off: Off) -> None:
        """Add a switch; one of the same name is replaced.

        Raises:
            StateError: it cannot be written.
        """
        with _alone(self._path.parent):
            others = {} if off.name == EVERYTHING and self._is_unreadable() else self._readable()
            self._write({**others, off.name: off})

    def restore(self, name: str) -> bool:
        """Take a switch away; False when there was none. `*` takes all of them away, unreadable ones, too.

        Raises:
            StateError: it cannot be written, or the others cannot be read.
        """
        with _alone(self._path.parent):
            if name == EVERYTHING:
                was = bool(self._current())
                self._write({})
                return was
            left = dict(self._readable())
            found = left.pop(name, None)
            if found is not None:
                self._write(left)
            return found is not None

    def _readable(self) -> Mapping[str, Off]:
        found = self._current()
        if self._is_unreadable():
            raise StateError(f"{self._path} cannot be read", remedy="remit kill --restore switches everything on again")
        return found

    def _is_unreadable(self) -> bool:
        return self._current().get(EVERYTHING) is UNREADABLE

    def _current(self) -> Mapping[str, Off]:
        try:
            facts = os.stat(self._path)
        except FileNotFoundError:
            return {}
        except OSError:
            return {EVERYTHING: UNREADABLE}
        stamp = (facts.st_mtime_ns, facts.st_ino, facts.st_size, facts.st_ctime_ns)
        with self._lock:
            if stamp != self._seen:
                self._off = _read(self._path)
                self._seen = None if self._off.get(EVERYTHING) is UNREADABLE else stamp
            return self._off

    def _write(self, off: Mapping[str, Off]) -> None:
        listed = [asdict(one) for _, one in sorted(off.items())]
        try:
            private_folder(self._path.parent)
            write_private(self._path, json.dumps({"switches": 1, "off": listed}).encode())
        except OSError as error:
            raise StateError(f"{self._path} cannot be written ({error.strerror})") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from writing meanwhile: two who read the same list would each lose the other's switch.

    Whoever holds the lock for too long is not waited for: what stops things must be quick.
    """
    try:
        import fcntl

        file = os.open(private_folder(folder) / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (ImportError, OSError):
        yield
        return
    try:
        end = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < end:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.01)
        yield
    finally:
        os.close(file)


def _read(path: Path) -> Mapping[str, Off]:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_LARGEST))
        if data["switches"] != 1:
            return {EVERYTHING: UNREADABLE}
        found = [Off(**one) for one in data["off"]]
        if not all(isinstance(one.name, str) and isinstance(one.reason, str) for one in found):
            return {EVERYTHING: UNREADABLE}
        return {one.name: one for one in found}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {EVERYTHING: UNREADABLE}


def off_now(name: str, *, reason: str, who: str) -> Off:
    """Return a switch with the time of now."""
    return Off(name=name, reason=reason, who=who, when=time.time())
