"""Ending a cell and everything that it started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import resource

_ROUNDS = 200
_PAUSE = 0.001


def kill_group(leader: int) -> None:
    """Kill a cell, which leads its own session and group, and all in its group."""
    for send in (os.killpg, os.kill):
        try:
            send(leader, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def ended(leaders: Container[int]) -> Iterator[tuple[int, int, float]]:
    """Process id, status and seconds of CPU time of each child of this process that has ended, reaped.

    The group of a leader is killed while the leader is still a zombie, as its number may be another's
    afterwards.
    """
    if not hasattr(os, "waitid"):
        yield from _ended_without_looking(leaders)
        return
    while pid := _next_ended():
        if pid in leaders:
            kill_group(pid)
        yield _told(os.wait4(pid, 0))


def _told(found: tuple[int, int, resource.struct_rusage]) -> tuple[int, int, float]:
    return found[0], found[1], found[2].ru_utime + found[2].ru_stime


def _ended_without_looking(leaders: Container[int]) -> Iterator[tuple[int, int, float]]:
    """The same for macOS before Python 3.13, where the group can only be killed directly after."""
    try:
        while (found := os.wait4(-1, os.WNOHANG))[0]:
            if found[0] in leaders:
                kill_group(found[0])
            yield _told(found)
    except ChildProcessError:
        return


def _next_ended() -> int:
    """A child that has ended and is not reaped yet; 0 when there is none."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found else 0


def strays(parent: int, sessions: set[int]) -> Iterator[int]:
    """Children of `parent` that lie in none of the sessions: orphans of a cell that has ended."""
    for pid, its_parent, session in _processes():
        if its_parent == parent and pid not in sessions and session not in sessions:
            yield pid


def count(session: int) -> int:
    """How many processes a session has."""
    return sum(1 for _, _, its_session in _processes() if its_session == session)


def count_threads(session: int) -> int:
    """How many threads the processes of a session have; 0 where nobody can say."""
    return sum(map(threads, [pid for pid, _, its_session in _processes() if its_session == session]))


def threads(pid: int) -> int:
    """How many threads a process has, at the cost of one system call; 0 where nobody can say."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 0


def sweep(parent: int, sessions: set[int]) -> None:
    """Kill orphans until none is left; each round brings up the children of the last."""
    for _ in range(_ROUNDS):
        found = list(strays(parent, sessions))
        if not found:
            return
        for pid in found:
            _kill(pid)
        time.sleep(_PAUSE)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def tasks_of_user(user: int) -> int:
    """How many tasks, threads included, the kernel counts for a user."""
    total = 0
    for pid, _, _ in _processes():
        try:
            if os.stat(f"/proc/{pid}").st_uid == user:
                total += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue
    return total


def _processes() -> Iterator[tuple[int, int, int]]:
    """Process id, parent and session of every process; nothing where there is no /proc."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_bytes()
            except OSError:
                continue
            fields = text[text.rindex(b")") + 2 :].split()
            if fields[0] != b"Z":
                yield int(name), int(fields[1]), int(fields[3])
