"""System calls past Python and past the C library's wrappers."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
from typing import Any

from remit_sandbox.confine.numbers import NUMBERS

MACHINE = platform.machine()
HERE = -100
"""AT_FDCWD."""

_GENERIC = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "clone3": 435,
    "openat2": 437,
    "landlock_create_ruleset": 444,
    "memfd_secret": 447,
    "statmount": 457,
    "setxattrat": 463,
    "file_setattr": 469,
}
_OWN = {
    "x86_64": {"memfd_create": 319, "io_setup": 206, "uselib": 134, "remap_file_pages": 216},
    "aarch64": {"memfd_create": 279, "io_setup": 0, "remap_file_pages": 234},
}
library = ctypes.CDLL(None, use_errno=True)
library.syscall.restype = ctypes.c_long


def number(name: str) -> int:
    """The number of a call on this machine.

    Raises:
        KeyError: when it has none here.
    """
    return {**NUMBERS.get(MACHINE, {}), **_GENERIC, **_OWN.get(MACHINE, {})}[name]


def syscall(call: str | int, *arguments: Any) -> int:
    """Make a call; integers are passed as longs.

    Raises:
        OSError: when it is refused.
    """
    wanted = number(call) if isinstance(call, str) else call
    longs = (ctypes.c_long(item) if isinstance(item, int) else item for item in arguments)
    return checked(int(library.syscall(ctypes.c_long(wanted), *longs)), str(call))


def checked(result: int, what: str) -> int:
    """Raise `OSError` for -1 and the errno that goes with it."""
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def raw_open(path: str, flags: int = 0, mode: int = 0) -> int:
    """`openat` as a raw call."""
    return syscall("openat", HERE, os.fsencode(path), flags, mode)


def raw_read(descriptor: int, size: int = 65536) -> bytes:
    """`read` as a raw call."""
    buffer = ctypes.create_string_buffer(size)
    got = syscall("read", descriptor, buffer, size)
    return buffer.raw[:got]


def machine_code(code: bytes, data: bytes = b"") -> int:
    """Run bytes as a function without arguments, in memory of our own; its result, or OSError for a negative one.

    The address of `data` is written over the first eight bytes 0xDA in the code.
    """
    page = mmap.mmap(-1, 65536, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # Low memory is not needed: what 32-bit calls point to lies on the stack or nowhere.
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    address = (start + 4096).to_bytes(8, "little")
    page[: len(code)] = code.replace(b"\xda" * 8, address)
    page[4096 : 4096 + len(data)] = data
    result = int(ctypes.CFUNCTYPE(ctypes.c_long)(start)())
    if -4096 < result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def tiny_program(path: str) -> bytes:
    """A static ELF program that makes the file `path` and ends: it needs neither loader nor library."""
    if MACHINE != "x86_64":
        raise OSError(0, "the program is written for x86-64")
    code = (
        b"\xb8\x02\x00\x00\x00"  # mov eax, 2 (open)
        b"\x48\x8d\x3d\x1c\x00\x00\x00"  # lea rdi, [rip + 28]
        b"\xbe\x41\x00\x00\x00"  # mov esi, O_CREAT | O_WRONLY
        b"\xba\xa4\x01\x00\x00"  # mov edx, 0o644
        b"\x0f\x05"  # syscall
        b"\xb8\x3c\x00\x00\x00"  # mov eax, 60 (exit)
        b"\x31\xff"  # xor edi, edi
        b"\x0f\x05"  # syscall
        b"\x90\x90\x90\x90\x90\x90\x90"
    )
    body = code + os.fsencode(path) + b"\0"
    base, head = 0x400000, 64 + 56
    size = head + len(body)
    import struct

    elf = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + head, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096)
    return elf + body
