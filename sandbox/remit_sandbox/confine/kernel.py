"""The one door to Linux: raw system calls through the C library already loaded. Imports anywhere."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache

LINUX = sys.platform == "linux"
MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Call a function of the C library.

    Raises:
        OSError: when it answers -1, with its errno, or where there is no such function.
    """
    if not LINUX:
        raise OSError(38, f"{name} needs Linux")
    function = getattr(_library(), name)
    result = int(function(*arguments))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """Make a raw system call; integers are passed as C longs.

    Raises:
        OSError: when the kernel refuses, with its errno.
    """
    longs = (ctypes.c_long(item) if isinstance(item, int) else item for item in arguments)
    return call("syscall", ctypes.c_long(number), *longs)


def prctl(option: int, second: int = 0, third: int = 0) -> int:
    """`prctl(2)`.

    Raises:
        OSError: when the kernel refuses.
    """
    return call(
        "prctl",
        ctypes.c_int(option),
        ctypes.c_ulong(second),
        ctypes.c_ulong(third),
        ctypes.c_ulong(0),
        ctypes.c_ulong(0),
    )
