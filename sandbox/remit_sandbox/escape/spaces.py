"""Namespaces in which a control can harm nothing."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

from remit_sandbox.confine import kernel
from remit_sandbox.confine.numbers import NUMBERS
from remit_sandbox.escape.setting import METADATA

_USER, _MOUNT, _NAMES, _MESSAGES, _PROCESSES, _NETWORK = (
    0x10000000,
    0x00020000,
    0x04000000,
    0x08000000,
    0x20000000,
    0x40000000,
)
_NAMES_OF_THIS_MACHINE = "localhost localhost. granted.test@localhost"
_PRIVATE, _BIND = 1 << 18 | 1 << 14, 4096


def enter_spaces(*, network: bool) -> None:
    """Leave the machine's own namespaces; the next child is the init of new ones.

    Raises:
        OSError: when this user may not, not even inside a user namespace.
    """
    wanted = _MOUNT | _NAMES | _MESSAGES | _PROCESSES | (_NETWORK if network else 0)
    try:
        _unshare(wanted)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        _unshare(_USER | wanted)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _unshare(flags: int) -> None:
    kernel.syscall(NUMBERS[kernel.MACHINE]["unshare"], flags)


def mount_proc() -> None:
    """In the init: mounts of our own, with a /proc and a /dev/shm that belong to them.

    Raises:
        OSError: when the kernel refuses.
    """
    mount("none", "/", "", _PRIVATE)
    mount("proc", "/proc", "proc", 0)
    mount("tmpfs", "/dev/shm", "tmpfs", 0)


def mount(source: str, target: str, kind: str, flags: int) -> None:
    """`mount(2)`.

    Raises:
        OSError: when the kernel refuses.
    """
    names = (ctypes.c_char_p(os.fsencode(text)) for text in (source, target, kind))
    kernel.call("mount", *names, ctypes.c_ulong(flags), None)


def set_up_network(folder: Path) -> None:
    """A loopback of our own that answers for a metadata service and for names."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        up = struct.pack("16sh14x", b"lo", 0x41)
        fcntl.ioctl(control, 0x8914, up)
        with suppress(OSError):
            address = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(METADATA))
            fcntl.ioctl(control, 0x8916, struct.pack("16s16s8x", b"lo:1", address))
            fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo:1", 0x41))
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 {_NAMES_OF_THIS_MACHINE}\n::1 localhost6\n")
    with suppress(OSError):
        mount(str(hosts), "/etc/hosts", "", _BIND)
    with suppress(OSError):
        mount(str(resolver), os.path.realpath("/etc/resolv.conf"), "", _BIND)
