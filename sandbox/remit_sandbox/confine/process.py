"""What a cell does to its own process before anything of a pack runs in it."""

from __future__ import annotations

import math
import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from remit_sandbox.confine import kernel

if sys.platform != "win32":
    import resource

_PDEATHSIG, _CAPBSET_DROP, _SUBREAPER, _NO_NEW_PRIVS, _DUMPABLE, _AMBIENT = 1, 24, 36, 38, 4, 47
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x20080522
_KILL = 9
MiB = 1024 * 1024

IMPORT_ROOM = 1024 * MiB
"""Address space, in bytes, that a pack's import may take beside the granted memory."""

SLACK = 128 * MiB
"""Address space, in bytes, for thread stacks and the allocator beside the granted memory."""


def die_with(parent: int) -> None:
    """Be killed when the thread that forked this process ends; at once when it already did.

    Raises:
        OSError: when the kernel refuses.
    """
    if kernel.LINUX:
        kernel.prctl(_PDEATHSIG, _KILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parents die. Linux only; elsewhere nothing happens."""
    if kernel.LINUX:
        kernel.prctl(_SUBREAPER, 1)


def hide_memory(hidden: bool) -> None:
    """Whether processes of the same user may look into this one. Linux only."""
    if kernel.LINUX:
        kernel.prctl(_DUMPABLE, 0 if hidden else 1)


def drop_capabilities() -> None:
    """Give up every capability, for good.

    Raises:
        OSError: when the kernel refuses to clear the sets.
    """
    if not kernel.LINUX:
        return
    _try_prctl(_AMBIENT, _AMBIENT_CLEAR_ALL)
    for capability in range(64):
        if not _try_prctl(_CAPBSET_DROP, capability):
            break
    kernel.call("capset", struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24))


def _try_prctl(option: int, value: int) -> bool:
    """Clearing the bounding set needs a capability; without one there is nothing to clear."""
    try:
        kernel.prctl(option, value)
    except OSError:
        return False
    return True


def be_first_to_be_killed() -> None:
    """When the machine runs out of memory, a cell goes before the program that needs it."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(descriptor, b"500")
    except OSError:
        pass
    finally:
        os.close(descriptor)


def forbid_new_privileges() -> None:
    """Set-user-id programs and file capabilities give nothing from here on.

    Raises:
        OSError: when the kernel refuses.
    """
    if kernel.LINUX:
        kernel.prctl(_NO_NEW_PRIVS, 1)


def address_space() -> int:
    """Bytes mapped by this process; 0 where the system does not say."""
    return address_space_of("self")


def address_space_of(pid: int | str) -> int:
    """Bytes mapped by a process; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes().split()[0]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def set_limits(limits: Mapping[str, float | None], *, tasks: int | None = None) -> None:
    """Resource limits of the whole life of the cell; a limit above the hard one is clamped to it.

    Args:
        limits: `memory`, `open_files`, `file_size` in bytes or counts, `cpu` in seconds or None.
        tasks: most processes of this user (the kernel counts per user, root excepted), None for any.
    """
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, int(limits["open_files"] or 0))
    _lower(resource.RLIMIT_FSIZE, int(limits["file_size"] or 0))
    if limits["cpu"] is not None:
        seconds = max(1, math.ceil(limits["cpu"]))
        _lower(resource.RLIMIT_CPU, seconds, hard=seconds + 1)  # SIGXCPU says why; SIGKILL is for who ignores it
    if tasks is not None:
        _lower(resource.RLIMIT_NPROC, tasks)
    if kernel.LINUX:
        _lower(resource.RLIMIT_AS, address_space() + int(limits["memory"] or 0) + IMPORT_ROOM)
        _lower(resource.RLIMIT_MSGQUEUE, 0)


def _lower(which: int, value: int, *, hard: int | None = None) -> None:
    hard = value if hard is None else hard
    most = resource.getrlimit(which)[1]
    if most != resource.RLIM_INFINITY:
        value, hard = min(value, most), min(hard, most)
    resource.setrlimit(which, (value, hard))


def settle_memory(pid: int, memory: int) -> None:
    """Once a cell is ready: `memory` bytes above what it maps now, never more than it had.

    Raises:
        OSError: when the cell is gone.
    """
    if not kernel.LINUX:
        return
    most = resource.prlimit(pid, resource.RLIMIT_AS)[1]
    wanted = address_space_of(pid) + memory + SLACK
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.prlimit(pid, resource.RLIMIT_AS, (wanted, wanted))
