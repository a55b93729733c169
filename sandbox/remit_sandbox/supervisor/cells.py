"""What the supervisor knows of one cell: its process, its folder, and what it printed."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit_sandbox.supervisor import tree

if TYPE_CHECKING:
    from remit_sandbox.supervisor.cgroup import Group

_READ = 64 * 1024
_ROUNDS = 64
_SAMPLED = 0.6  # the kernel compares its limit with ticks, which run ahead of what was really used on a busy machine


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
        roots: the folders that it may write.
        disk: most bytes in its temporary folder, and most by which its write roots may grow.
        cpu: seconds of CPU time that the kernel gives it; None for any.
        processes: most processes where it may have any; None where a filter allows none.
        group: its control group; None where there are none.
        status: how it ended, as `waitpid` says; None while it lives.
        reason: why the supervisor ended it, empty when it did not.
        unwanted: whether the host has let go of it, so that nothing of it is kept once it has ended.
        before: what its write roots held before it worked, and how that was found out.
        grown: by how many bytes they had grown when last looked at.
        worked: seconds of CPU time it had taken when last looked at.
    """

    pid: int
    tmp: str
    roots: Sequence[str]
    stdout: Stream
    stderr: Stream
    disk: int
    memory: int
    cpu: float | None
    processes: int | None
    group: Group | None = None
    status: int | None = None
    reason: str = ""
    unwanted: bool = False
    before: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    grown: int = 0
    worked: float = 0.0

    def ended(self, status: int, cpu: float) -> None:
        """It is gone, having taken `cpu` seconds; a limit that the kernel held is the reason, and has no other sign."""
        self.status = status
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if by not in (signal.SIGKILL, signal.SIGXCPU) or self.reason:
            return
        if self.cpu is not None and (by == signal.SIGXCPU or cpu > self.cpu * _SAMPLED):
            self.reason = f"it used up its {self.cpu:g} s of CPU time (limits.cpu)"
        elif self.group is not None:
            self.reason = self.group.excess()

    def kill(self) -> None:
        """Kill it and what it started, as far as that lies in its group."""
        if self.group is not None:
            self.group.kill()
        tree.kill_group(self.pid)

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
