"""Landlock rulesets, ABI 1 to 7. Source: Linux `Documentation/userspace-api/landlock.rst`."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from remit_sandbox.confine import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_FIFO = 1 << 10
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that a rule about a file, not a folder, may hold."""

_ALL_FS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_TCP = 3
_ALL_SCOPES = 3
HIGHEST_ABI = 7
"""The newest ABI whose rights are used; a newer kernel is treated as this one."""


def abi() -> int:
    """The kernel's Landlock ABI, at most `HIGHEST_ABI`; 0 where there is none."""
    return min(_ask()[0], HIGHEST_ABI)


def missing() -> str:
    """Why Landlock cannot be used here, in words; empty when it can."""
    version, number = _ask()
    if version > 0:
        return ""
    if not kernel.LINUX:
        return "Landlock needs Linux"
    reasons = {
        errno.ENOSYS: "this kernel has no Landlock (it needs Linux 5.13 or newer)",
        errno.EOPNOTSUPP: "Landlock is switched off (boot with lsm=landlock,... to have it)",
        errno.EPERM: "a system call filter around this program, such as a container's, forbids Landlock",
    }
    return f"{reasons.get(number, 'Landlock does not answer')} (errno {number})"


def _ask() -> tuple[int, int]:
    try:
        return kernel.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION), 0
    except OSError as error:
        return 0, error.errno or 0


def handled(level: int) -> int:
    """Every file right that ABI `level` can hold."""
    return _ALL_FS.get(level, (1 << 16) - 1)


class Ruleset:
    """Rights that a process keeps; everything else that the ABI knows is denied.

    Args:
        level: the ABI to use, at least 1 and at most the kernel's.

    Raises:
        OSError: when the kernel refuses.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        attributes = struct.pack("=QQQ", handled(level), _ALL_TCP, _ALL_SCOPES)
        size = 8 if level < 4 else 16 if level < 6 else 24
        self._fd = kernel.syscall(_CREATE, attributes[:size], ctypes.c_size_t(size), 0)

    def allow(self, descriptor: int, rights: int, *, folder: bool) -> None:
        """Keep `rights` on the file, or on the folder and all below it, behind a descriptor.

        Raises:
            OSError: when the kernel refuses.
        """
        mask = handled(self.level) & (rights if folder else rights & OF_A_FILE)
        if mask:
            rule = struct.pack("=Qi", mask, descriptor)
            kernel.syscall(_ADD, self._fd, _PATH_BENEATH, rule, 0)

    def restrict(self) -> None:
        """Bind this process, and whatever it starts, for good. Needs no_new_privs.

        Raises:
            OSError: when the kernel refuses.
        """
        kernel.syscall(_RESTRICT, self._fd, 0)
        os.close(self._fd)


def allow_all(ruleset: Ruleset, opened: Iterable[tuple[int, int, bool]]) -> None:
    """`Ruleset.allow` for each descriptor, rights and whether it is a folder.

    Raises:
        OSError: when the kernel refuses.
    """
    for descriptor, rights, folder in opened:
        ruleset.allow(descriptor, rights, folder=folder)


_WEAKER = {
    2: "files cannot be moved or linked from one folder to another",
    3: "truncate() by name is refused everywhere, and so is truncating a file that is opened for reading",
    4: "TCP is held by the system call filter alone",
    5: "commands to devices are held by the system call filter alone",
    6: "a cell may signal nobody but itself, not even programs that it started",
}


def weaker(level: int) -> tuple[str, ...]:
    """What is different with an ABI older than the newest: stricter, or held by one layer instead of two."""
    return tuple(
        f"Landlock ABI {level}, before {since}: {what}" for since, what in _WEAKER.items() if 0 < level < since
    )
