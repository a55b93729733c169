"""More memory than granted. What is mapped is not touched, so that the control harms nothing."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from typing import Any

from .attempt import attempt, hold
from .raw import library, raw_open, syscall

_MEMORY = "memory: bytearray, MAP_SHARED, memfd, thread stacks, tmpfs file"
_MUCH = 6 * 1024**3


@attempt(_MEMORY, sees="memory size", quick=True)
def map_private(f: Any) -> Any:
    hold(mmap.mmap(-1, _MUCH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))


@attempt(_MEMORY, sees="memory size", quick=True)
def map_shared_memory(f: Any) -> Any:
    hold(mmap.mmap(-1, _MUCH, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x4000))


@attempt(_MEMORY, sees="memory size")
def map_raw(f: Any) -> Any:
    syscall("mmap", 0, _MUCH, 3, 0x22 | 0x4000, -1, 0)


@attempt(_MEMORY, sees="memory size")
def allocate(f: Any) -> Any:
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    if not library.malloc(_MUCH):
        raise MemoryError


@attempt(_MEMORY, sees="memory size")
def thread_stacks(f: Any) -> Any:
    threading.stack_size(512 * 1024**2)
    for _ in range(12):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


@attempt(_MEMORY, sees="memory size")
def map_again(f: Any) -> Any:
    """One small file, mapped many times."""
    descriptor = raw_open("small", os.O_CREAT | os.O_RDWR, 0o600)
    os.ftruncate(descriptor, 64 * 1024**2)
    hold(*(mmap.mmap(descriptor, 0) for _ in range(96)))


@attempt(_MEMORY, sees="memory size")
def grow_raw(f: Any) -> Any:
    page = syscall("mmap", 0, 4096, 3, 0x22 | 0x4000, -1, 0)
    syscall("mremap", page, 4096, _MUCH, 1, 0)


@attempt(_MEMORY, sees="descriptor /memfd")
def memory_file_size(f: Any) -> Any:
    """Memory that belongs to no address space."""
    descriptor = os.memfd_create("x")
    os.ftruncate(descriptor, _MUCH)
    hold(descriptor)


@attempt("disk fill, inode fill", sees="large file")
def large_file(f: Any) -> Any:
    """Without a byte in it, so that the control fills no disk."""
    with open(f"{f.work}/large", "wb") as file:
        file.truncate(_MUCH)


@attempt("disk fill, inode fill", sees="large file")
def large_file_raw(f: Any) -> Any:
    syscall("ftruncate", raw_open(f"{f.work}/large", os.O_CREAT | os.O_WRONLY, 0o600), _MUCH)


@attempt("many descriptors", sees="many descriptors")
def many_descriptors(f: Any) -> Any:
    for _ in range(2000):
        hold(os.open("/dev/null", os.O_RDONLY))
