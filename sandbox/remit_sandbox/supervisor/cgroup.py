"""Control groups of cells, where the system has delegated a part of the tree. Source: Linux `cgroup-v2.rst`.

A group has what nothing else can give: a limit on memory that counts pages, not addresses; a limit on processes
that counts those of the cell, not of the user; and one write that kills whatever is in it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from remit_sandbox.supervisor.polled import MOST_THREADS

VARIABLE = "REMIT_CGROUP"
"""Names an empty, delegated group under which cells get theirs; needed where this program sits in it itself."""

_CONTROLLERS = ("memory", "pids")


class Groups:
    """The place for the groups of one supervisor's cells.

    Args:
        place: a group of its own, in which no process is.
        controllers: those of `memory` and `pids` that limit what is below it.
    """

    def __init__(self, place: Path, controllers: Iterable[str]) -> None:
        self._place = place
        self.controllers = frozenset(controllers)

    def make(self, limits: Mapping[str, Any], *, children: bool) -> Group:
        """A group for one cell, with its limit on processes; that on memory comes when it is ready.

        Raises:
            OSError: when the kernel refuses.
        """
        group = Group(self._place / f"cell-{secrets.token_hex(6)}", self.controllers)
        group.path.mkdir()
        if "pids" in self.controllers:
            group.write("pids.max", MOST_THREADS + (int(limits["processes"]) if children else 0))
        if "memory" in self.controllers:
            group.write("memory.oom.group", 1)
        return group

    def remove(self) -> None:
        """Remove the place, once no cell is left."""
        with suppress(OSError):
            for left in self._place.glob("cell-*"):
                left.rmdir()
            self._place.rmdir()


class Group:
    """The group of one cell."""

    def __init__(self, path: Path, controllers: frozenset[str]) -> None:
        self.path = path
        self._controllers = controllers

    def write(self, file: str, value: object) -> None:
        """Write a control file.

        Raises:
            OSError: when the kernel refuses.
        """
        (self.path / file).write_text(str(value), encoding="ascii")

    def settle(self, memory: int) -> None:
        """Once the cell is ready: it may hold `memory` bytes more than now."""
        if "memory" in self._controllers:
            with suppress(OSError, ValueError):
                now = int((self.path / "memory.current").read_text(encoding="ascii"))
                self.write("memory.max", now + memory)

    def excess(self) -> str:
        """Which of its limits has ended the cell, in words; empty when none has."""
        return "it held more memory than limits.memory gives it" if self._happened("memory.events", "oom_kill") else ""

    def kill(self) -> None:
        """Kill every process in it, however it may call itself by now."""
        with suppress(OSError):
            self.write("cgroup.kill", 1)

    def remove(self) -> None:
        """Remove it; nothing happens while a killed process is still on its way out."""
        with suppress(OSError):
            self.path.rmdir()

    def _happened(self, file: str, event: str) -> bool:
        with suppress(OSError, ValueError):
            for line in (self.path / file).read_text(encoding="ascii").splitlines():
                name, count = line.split()
                if name == event and int(count):
                    return True
        return False


def join(path: str) -> None:
    """Move this process into a group; a cell does so before it is confined.

    Raises:
        OSError: when the kernel refuses.
    """
    descriptor = os.open(f"{path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)


def delegated(named: str | None = None) -> Groups | None:
    """A place for groups where this process may make some that limit, None where it may not.

    Tried are the group that `named` names, that of this process, and the one above it, which systemd leaves
    empty for a service with `Delegate=` and `DelegateSubgroup=`. Nothing is moved.
    """
    for parent in [Path(named)] if named else _near():
        if place := _place_in(parent):
            return Groups(place, _enabled(place))
    return None


def _near() -> Iterator[Path]:
    own = _own()
    if own is not None:
        yield own
        if (own.parent / "cgroup.procs").exists():
            yield own.parent


def _own() -> Path | None:
    """The folder of this process's group in the unified hierarchy."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    group = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    point = next((line.split()[4] for line in mounts if " - cgroup2 " in line), None)
    return Path(point, group) if group is not None and point is not None else None


def _place_in(parent: Path) -> Path | None:
    """A new group under `parent` in which memory or processes can be limited."""
    place = parent / f"remit-{secrets.token_hex(6)}"
    try:
        _enable(parent)
        place.mkdir(mode=0o700)
        _enable(place)
    except OSError:
        return None
    if _enabled(place):
        return place
    place.rmdir()
    return None


def _enable(group: Path) -> None:
    """Let groups below limit what they can; a group with processes of its own refuses."""
    for controller in set((group / "cgroup.controllers").read_text(encoding="ascii").split()) & {*_CONTROLLERS}:
        if controller not in _enabled(group):
            (group / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")


def _enabled(group: Path) -> set[str]:
    """The controllers that limit what is below a group."""
    return set((group / "cgroup.subtree_control").read_text(encoding="ascii").split()) & {*_CONTROLLERS}
