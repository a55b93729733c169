"""Installing a seccomp filter. Source: seccomp(2)."""

from __future__ import annotations

import ctypes

from remit_sandbox.confine import kernel
from remit_sandbox.confine.filters import filter_program
from remit_sandbox.confine.numbers import NUMBERS

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER = 1
_GET_ACTION_AVAIL = 2
_ALL_THREADS = 1
_RET_ERRNO = 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def missing() -> str:
    """Why seccomp cannot be used here, in words; empty when it can."""
    if not kernel.LINUX:
        return "seccomp needs Linux"
    if kernel.MACHINE not in NUMBERS:
        return f"no seccomp filter is known for {kernel.MACHINE}"
    try:
        action = ctypes.c_uint32(_RET_ERRNO)
        kernel.syscall(_SECCOMP[kernel.MACHINE], _GET_ACTION_AVAIL, 0, ctypes.byref(action))
    except OSError as error:
        return f"the kernel offers no seccomp filters (errno {error.errno})"
    return ""


def install(program: bytes) -> None:
    """Put a filter on every thread of this process, for good. Needs no_new_privs.

    Raises:
        OSError: when the kernel refuses, or a thread cannot be reached.
    """
    steps = ctypes.create_string_buffer(program, len(program))
    struct_ = _Program(len(program) // 8, ctypes.addressof(steps))
    number = _SECCOMP[kernel.MACHINE]
    stray = kernel.syscall(number, _SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(struct_))
    if stray:
        raise OSError(0, f"thread {stray} could not be put under the filter")


def restrict(*, children: bool, abi: int, pid: int) -> None:
    """Put the filter of a cell on this process; see `filter_program`.

    Raises:
        OSError: when the kernel refuses.
    """
    install(filter_program(kernel.MACHINE, children=children, abi=abi, pid=pid))


def prepare(abi: int) -> None:
    """Make the filters ahead, so that no cell has to."""
    for children in (False, True):
        filter_program(kernel.MACHINE, children=children, abi=abi, pid=0)
