"""What the supervisor knows of one cell: its process, its folder, and what it printed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

_READ = 64 * 1024
_ROUNDS = 64


@dataclass
class Stream:
    """The reading end of a pipe, drained for ever, of which the first `limit` bytes are kept."""

    descriptor: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    cut: bool = False
    open: bool = True

    def drain(self) -> None:
        """Read what is there, at most a few megabytes so that other cells get their turn."""
        for _ in range(_ROUNDS):
            if not self.open:
                return
            try:
                data = os.read(self.descriptor, _READ)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            room = self.limit - len(self.kept)
            self.kept += data[:room]
            self.cut = self.cut or len(data) > room

    def take(self) -> bytes:
        """What was kept since it was last asked; counting begins anew."""
        taken, self.kept = bytes(self.kept), bytearray()
        return taken

    def close(self) -> None:
        """Stop reading."""
        if self.open:
            self.open = False
            os.close(self.descriptor)


@dataclass
class Child:
    """One cell.

    Attributes:
        pid: its process, which leads a session of its own.
        tmp: its temporary folder.
        disk: most bytes in that folder.
        processes: most processes where it may have any; None where a filter allows none.
        status: how it ended, as `waitpid` says; None while it lives.
        reason: why the supervisor ended it, empty when it did not.
    """

    pid: int
    tmp: str
    stdout: Stream
    stderr: Stream
    disk: int
    memory: int
    processes: int | None
    status: int | None = None
    reason: str = ""

    def output(self) -> dict[str, object]:
        """What it printed since it was last asked, and how it ended."""
        self.stdout.drain()
        self.stderr.drain()
        cut = self.stdout.cut or self.stderr.cut
        self.stdout.cut = self.stderr.cut = False
        return {"stdout": self.stdout.take(), "stderr": self.stderr.take(), "cut": cut}

    def close(self) -> None:
        """Stop reading what it prints."""
        self.stdout.close()
        self.stderr.close()
