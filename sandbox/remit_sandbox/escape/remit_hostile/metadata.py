"""Modes, owners, times, attributes of what is not granted; planted privileges."""

from __future__ import annotations

import ctypes
import fcntl
import os
import stat
from pathlib import Path
from typing import Any

from .attempt import attempt
from .raw import HERE, library, raw_open, syscall

_OUTSIDE = "chmod/chown/utime/xattr outside"
_SET_ID = "plant setuid"


@attempt(_OUTSIDE, sees="files", quick=True)
def chmod(f: Any) -> Any:
    os.chmod(f.canary, 0o777)


@attempt(_OUTSIDE, sees="files")
def chmod_raw(f: Any) -> Any:
    syscall("fchmodat", HERE, os.fsencode(f.canary), 0o777)


@attempt(_OUTSIDE, sees="files")
def chmod_newer_raw(f: Any) -> Any:
    syscall("fchmodat2", HERE, os.fsencode(f.canary), 0o777, 0)


@attempt(_OUTSIDE, sees="files")
def chmod_descriptor(f: Any) -> Any:
    os.fchmod(os.open(f.note, os.O_RDONLY), 0o777)


@attempt(_OUTSIDE, sees="files")
def chown(f: Any) -> Any:
    os.chown(f.canary, 65534, 65534)


@attempt(_OUTSIDE, sees="files")
def chown_raw(f: Any) -> Any:
    syscall("fchownat", HERE, os.fsencode(f.canary), 65534, 65534, 0)


@attempt(_OUTSIDE, sees="files")
def utime(f: Any) -> Any:
    os.utime(f.canary, (1, 1))


@attempt(_OUTSIDE, sees="files")
def utime_raw(f: Any) -> Any:
    times = (ctypes.c_long * 4)(1, 0, 1, 0)
    syscall("utimensat", HERE, os.fsencode(f.canary), times, 0)


@attempt(_OUTSIDE, sees="files")
def set_attribute(f: Any) -> Any:
    os.setxattr(f.canary, "user.owned", b"x")


@attempt(_OUTSIDE, sees="files")
def set_attribute_raw(f: Any) -> Any:
    syscall("setxattr", os.fsencode(f.canary), b"user.owned", b"x", 1, 0)


@attempt(_OUTSIDE, sees="files")
def set_attribute_newer_raw(f: Any) -> Any:
    value = ctypes.create_string_buffer(b"x")
    arguments = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 1)
    syscall("setxattrat", HERE, os.fsencode(f.canary), 0, b"user.owned", arguments, 16)


@attempt(_OUTSIDE, sees="loot")
def get_attribute(f: Any) -> Any:
    return os.getxattr(f.canary, "user.secret")


@attempt(_OUTSIDE, sees="files")
def set_flags(f: Any) -> Any:
    """FS_IOC_SETFLAGS: no access time."""
    fcntl.ioctl(os.open(f.note, os.O_RDONLY), 0x40086602, (0x80).to_bytes(8, "little"))


@attempt(_SET_ID, sees="privileged file", quick=True)
def set_id_by_chmod(f: Any) -> Any:
    Path(f.work, "planted").write_text("#!/bin/sh\n")
    os.chmod(f"{f.work}/planted", 0o4755)


@attempt(_SET_ID, sees="privileged file", quick=True)
def set_id_by_open(f: Any) -> Any:
    os.umask(0)
    os.open(f"{f.work}/planted", os.O_CREAT | os.O_WRONLY, 0o4755)


@attempt(_SET_ID, sees="privileged file")
def set_id_by_open_raw(f: Any) -> Any:
    raw_open(f"{f.work}/planted", os.O_CREAT | os.O_WRONLY, 0o2755)


@attempt(_SET_ID, sees="privileged file")
def set_id_by_creat(f: Any) -> Any:
    library.creat(os.fsencode(f"{f.work}/planted"), 0o4755)


@attempt(_SET_ID, sees="privileged file")
def set_id_by_mknod(f: Any) -> Any:
    os.mknod(f"{f.work}/planted", stat.S_IFREG | 0o4755)


@attempt(_SET_ID, sees="privileged file")
def set_id_by_openat2_raw(f: Any) -> Any:
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    syscall("openat2", HERE, os.fsencode(f"{f.work}/planted"), how, 24)


@attempt(_SET_ID, sees="privileged file")
def set_id_by_unnamed_file(f: Any) -> Any:
    descriptor = os.open(f.work, os.O_TMPFILE | os.O_RDWR, 0o4755)
    syscall("linkat", HERE, b"/proc/self/fd/%d" % descriptor, HERE, os.fsencode(f"{f.work}/planted"), 0x400)


@attempt(_SET_ID, sees="privileged file")
def capability_by_attribute(f: Any) -> Any:
    """A file that would give CAP_SYS_ADMIN to whoever runs it."""
    Path(f.work, "planted").write_text("x")
    value = bytes.fromhex("0100000200002000000000000000000000000000")
    os.setxattr(f"{f.work}/planted", "security.capability", value)
