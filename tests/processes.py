"""Looks at processes through /proc: who descends from whom, and who is still there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

PROC = Path("/proc")


def descendants(pid: int) -> set[tuple[int, int]]:
    """Return every process below `pid` as (pid, start time); the start time tells a pid used again apart."""
    parents = {one: _stat(one) for one in _all()}
    found: set[tuple[int, int]] = set()
    below = {pid}
    while below:
        below = {one for one, stat in parents.items() if stat is not None and stat[0] in below}
        found |= {(one, stat[1]) for one in below if (stat := parents[one]) is not None}
    return found


def still_there(processes: Iterable[tuple[int, int]], *, patience: float = 10.0) -> set[tuple[int, int]]:
    """Wait until the processes are gone; return those that are not after `patience` seconds."""
    left = set(processes)
    end = time.monotonic() + patience
    while left and time.monotonic() < end:
        left = {(pid, start) for pid, start in left if (stat := _stat(pid)) is not None and stat[1] == start}
        time.sleep(0.02)
    return left


def wait_until(condition: Callable[[], object], what: str, *, patience: float = 40.0) -> None:
    """Wait until `condition` holds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def _all() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> tuple[int, int] | None:
    """Return (parent, start time), None for a process that is gone or only waits to be reaped."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return None
    return None if fields[0] in "ZX" else (int(fields[1]), int(fields[19]))
