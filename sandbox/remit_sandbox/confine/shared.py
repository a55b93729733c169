"""A `/dev/shm` of one process alone: shared memory and named semaphores that nobody else sees.

Source: user_namespaces(7), mount_namespaces(7), shm_overview(7).
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from remit_sandbox.confine import kernel
from remit_sandbox.confine.numbers import NUMBERS

PLACE = "/dev/shm"
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_NO_SUID, _NO_DEVICES, _NO_EXEC, _PRIVATE_BELOW = 2, 4, 8, (1 << 18) | (1 << 14)
_FILES = 4096
_SWITCHES = {
    "kernel/apparmor_restrict_unprivileged_userns": "1",
    "kernel/unprivileged_userns_clone": "0",
    "user/max_user_namespaces": "0",
    "user/max_mnt_namespaces": "0",
}


def enter(size: int) -> None:
    """Leave the mounts of this machine for a copy in which `/dev/shm` is new, empty and private.

    Root gets a mount namespace; anybody else a user namespace around it, in which ids stay as they are.
    Clears the death signal of the process in some kernels: set it afterwards.

    Args:
        size: most bytes that may be stored there.

    Raises:
        OSError: this machine does not allow it, with the reason in words.
    """
    try:
        _leave_mounts()
        _mount("none", "/", None, _PRIVATE_BELOW, None)
        options = f"size={size},nr_inodes={_FILES},mode=0700"
        _mount("tmpfs", os.path.realpath(PLACE), "tmpfs", _NO_SUID | _NO_DEVICES | _NO_EXEC, options)
    except OSError as error:
        number = error.errno or errno.EPERM
        raise OSError(number, f"shared memory needs a mount namespace, which is refused here{_why()}") from error


def _leave_mounts() -> None:
    try:
        _unshare(_NEW_MOUNTS)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        _unshare(_NEW_USER | _NEW_MOUNTS)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_bytes(text.encode())


def _unshare(flags: int) -> None:
    numbers = NUMBERS.get(kernel.MACHINE)
    if numbers is None:
        raise OSError(errno.ENOSYS, f"no system calls are known for {kernel.MACHINE}")
    kernel.syscall(numbers["unshare"], flags)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    names = [ctypes.c_char_p(text) for text in texts]
    kernel.call("mount", *names[:3], ctypes.c_ulong(flags), names[3])


def _why() -> str:
    """Name the switch of the system that stands in the way, where one does."""
    for name, closed in _SWITCHES.items():
        try:
            if Path("/proc/sys", name).read_bytes().strip() == closed.encode():
                return f" (sysctl {name.replace('/', '.')} is {closed})"
        except OSError:
            continue
    return ""
