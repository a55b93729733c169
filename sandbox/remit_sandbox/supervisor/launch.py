"""From a fork of the supervisor to a confined cell that serves."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from remit_sandbox.confine import process, shared
from remit_sandbox.confine.confine import (
    Means,
    Opened,
    Paths,
    confine,
    enforcement,
    open_grants,
    open_own_process,
)
from remit_sandbox.confine.kernel import LINUX
from remit_sandbox.confine.programs import check_all
from remit_sandbox.frames import Message, encode
from remit_sandbox.supervisor import cgroup

FRAMES, BROKER = 3, 4

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
)


def run_cell(
    order: Message,
    descriptors: Sequence[int],
    *,
    tmp: str,
    machine: Means,
    opened: Sequence[Opened],
    parent: int,
) -> NoReturn:
    """Become a cell. Runs in a fresh fork and never returns.

    Args:
        order: the host's request to start it.
        descriptors: standard output, standard error, frames and, where there is one, the broker.
        tmp: its temporary folder.
        machine: what the kernel offers.
        opened: descriptors of what every cell may read.
        parent: process id of the supervisor.
    """
    try:
        _prepare(order, descriptors, tmp=tmp, machine=machine, opened=opened, parent=parent)
        broker = BROKER if len(descriptors) > 3 else None
        _say({"op": "confined", "enforcement": enforcement(machine, linux=LINUX, broker=broker is not None)})
    except BaseException as error:
        _say({"op": "unconfined", "error": _in_words(error)})
        os._exit(1)
    try:
        from remit_sandbox.inside.serve import serve

        serve(FRAMES, broker, tmp)
    finally:
        os._exit(1)


def _prepare(
    order: Message,
    descriptors: Sequence[int],
    *,
    tmp: str,
    machine: Means,
    opened: Sequence[Opened],
    parent: int,
) -> None:
    process.hide_memory(False)
    if order["group"]:
        cgroup.join(order["group"])
    process.die_with(parent)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    _place(descriptors)
    if order["shm"] and LINUX:
        shared.enter(order["limits"]["disk"])
        process.die_with(parent)
    process.be_first_to_be_killed()
    children = order["isolation"] == "process"
    granted, own = _open(order, tmp, machine)
    kept = _move_up(own, order["limits"]["open_files"])
    _set_up_environment(tmp, order["env"])
    confine(
        machine,
        [*opened, *granted, *own],
        children=children,
        limits=order["limits"],
        tasks=order["tasks"],
    )
    _close_others(BROKER + (len(descriptors) > 3), kept)


def _open(order: Message, tmp: str, machine: Means) -> tuple[list[Opened], list[Opened]]:
    """Descriptors of what is granted, and of the process itself; without Landlock programs are still compared."""
    if not machine.landlock:
        check_all(order["digests"])
        return [], []
    paths = Paths(
        read=order["read"],
        write=order["write"],
        programs=order["exec"],
        digests=order["digests"],
        shm=order["shm"],
        site=order["site"],
        tmp=tmp,
    )
    return open_grants(paths), open_own_process()


def _move_up(opened: list[Opened], start: int) -> range:
    """Keep descriptors open above the numbers that the cell may use; say which numbers they have.

    Entries of /proc/self that nobody holds go out of the kernel's cache, and the rules with them.
    """
    try:
        for place, (descriptor, rights, folder) in enumerate(opened):
            opened[place] = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, start), rights, folder)
    except (OSError, ValueError):
        return range(start, start)
    return range(start, max((one[0] for one in opened), default=start - 1) + 1)


def _close_others(first: int, kept: range) -> None:
    os.closerange(first, kept.start)
    os.closerange(kept.stop, 1 << 20)


def _place(descriptors: Sequence[int]) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for number, descriptor in enumerate(descriptors[:2], start=1):
        os.dup2(descriptor, number)
    for number, descriptor in enumerate(descriptors[2:], start=FRAMES):
        os.dup2(descriptor, number, inheritable=False)


def _set_up_environment(tmp: str, env: Mapping[str, str]) -> None:
    homes = dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME", "SQLITE_TMPDIR", "MPLCONFIGDIR"), tmp)
    threads = dict.fromkeys(_THREADS, str(len(os.sched_getaffinity(0)) if LINUX else os.cpu_count() or 1))
    os.environ.update(homes | threads | dict(env))
    time.tzset()
    tempfile.tempdir = None
    _have_sqlite_use(tmp)
    os.chdir(tmp)
    sys.dont_write_bytecode = True


def _have_sqlite_use(tmp: str) -> None:
    """Its temporary files; it has read SQLITE_TMPDIR before the cell was forked, and never will again."""
    if library := _sqlite():
        place = library.sqlite3_mprintf(b"%s", os.fsencode(tmp))
        ctypes.c_void_p.in_dll(library, "sqlite3_temp_directory").value = place


@cache
def _sqlite() -> ctypes.CDLL | None:
    """SQLite's library where it has been imported and can be reached."""
    module = sys.modules.get("_sqlite3")
    try:
        library = ctypes.CDLL(getattr(module, "__file__", None) or "")
        ctypes.c_void_p.in_dll(library, "sqlite3_temp_directory")
        library.sqlite3_mprintf.restype = ctypes.c_void_p
    except (OSError, ValueError, AttributeError):
        return None
    return library


def prepare() -> None:
    """Look up ahead what every cell needs."""
    _sqlite()


def _say(message: Mapping[str, Any]) -> None:
    with socket.socket(fileno=os.dup(FRAMES)) as frames:
        frames.setblocking(True)
        frames.sendall(b"".join(encode({**message, "id": 0})))


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"the granted path {error.filename}: {error.strerror}"
    if isinstance(error, OSError):
        return f"the cell could not be confined: {error.strerror or error} (errno {error.errno})"
    return f"the cell could not be confined: {type(error).__name__}: {error}"
