"""Memory and messages shared through the kernel, and spying on files."""

from __future__ import annotations

import ctypes
import fcntl
import os
from pathlib import Path
from typing import Any

from .attempt import attempt, hold
from .raw import library, syscall

_SHARED = "/dev/shm and SysV shm to another cell"


@attempt(_SHARED, sees="shared memory", quick=True)
def shared_memory_file(f: Any) -> Any:
    Path("/dev/shm/remit-escape").write_text("x")


@attempt(_SHARED, sees="shared memory")
def shared_memory_python(f: Any) -> Any:
    import _posixshmem  # type: ignore[import-not-found, unused-ignore]

    hold(_posixshmem.shm_open("/remit-escape", os.O_CREAT | os.O_RDWR, mode=0o600))


@attempt(_SHARED, sees="ipc", quick=True)
def system_v_memory_raw(f: Any) -> Any:
    syscall("shmget", 0x5EC0DE, 4096, 0o1600)


@attempt(_SHARED, sees="ipc")
def system_v_semaphore_raw(f: Any) -> Any:
    syscall("semget", 0x5EC0DE, 1, 0o1600)


@attempt(_SHARED, sees="ipc")
def system_v_queue_raw(f: Any) -> Any:
    syscall("msgget", 0x5EC0DE, 0o1600)


@attempt("POSIX mq", sees="descriptor", quick=True)
def message_queue_raw(f: Any) -> Any:
    hold(syscall("mq_open", b"remit-escape", os.O_CREAT | os.O_RDWR, 0o600, None))


@attempt("POSIX mq", sees="descriptor")
def message_queue(f: Any) -> Any:
    functions = ctypes.CDLL("librt.so.1", use_errno=True)
    found = functions.mq_open(b"/remit-escape", os.O_CREAT | os.O_RDWR, 0o600, None)
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    hold(found)


@attempt("inotify/fanotify spying", sees="descriptor inotify", quick=True)
def watch_files(f: Any) -> Any:
    descriptor = library.inotify_init1(0)
    if descriptor < 0 or library.inotify_add_watch(descriptor, os.fsencode(f.outside), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), "refused")


@attempt("inotify/fanotify spying", sees="descriptor inotify")
def watch_files_raw(f: Any) -> Any:
    syscall("inotify_add_watch", syscall("inotify_init1", 0), os.fsencode(f.outside), 0xFFF)


@attempt("inotify/fanotify spying", sees="descriptor [fanotify]")
def watch_mount_raw(f: Any) -> Any:
    syscall("fanotify_mark", syscall("fanotify_init", 0, 0), 1 | 0x10, 0x20, -100, os.fsencode(f.outside))


@attempt("inotify/fanotify spying", sees="lease")
def lease(f: Any) -> Any:
    """A lease stops the host from opening a file."""
    fcntl.fcntl(os.open(f"{f.work}/shared", os.O_RDONLY), 1024, fcntl.F_RDLCK)


@attempt("inotify/fanotify spying", sees="lease")
def lease_raw(f: Any) -> Any:
    syscall("fcntl", os.open(f"{f.work}/shared", os.O_RDONLY), 1024, fcntl.F_RDLCK)


@attempt("bpf, perf, userfaultfd, keyctl, personality", sees="key", quick=True)
def add_key_raw(f: Any) -> Any:
    syscall("add_key", b"user", f.key.encode(), b"x", 1, -4)


@attempt("bpf, perf, userfaultfd, keyctl, personality", sees="loot")
def read_key_raw(f: Any) -> Any:
    serial = syscall("keyctl", 10, -4, b"user", f.host_key.encode(), 0)
    buffer = ctypes.create_string_buffer(256)
    got = syscall("keyctl", 11, serial, buffer, 256)
    return buffer.raw[:got]
