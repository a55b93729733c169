"""Device files: opening those that exist, making new ones, typing into terminals."""

from __future__ import annotations

import fcntl
import os
import stat
from typing import Any

from .attempt import attempt, hold
from .raw import HERE, raw_open, syscall

_OPEN = "/dev/mem, /dev/kvm, block mknod"


def _opens(name: str, path: str, flags: int = os.O_RDONLY) -> None:
    def act(f: Any) -> Any:
        hold(os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK))

    act.__name__ = name
    attempt(_OPEN, sees="descriptor")(act)


_opens("open_memory", "/dev/mem")
_opens("open_kvm", "/dev/kvm", os.O_RDWR)
_opens("open_kernel_log", "/dev/kmsg")
_opens("open_disk", "/dev/vda")
_opens("open_loop_control", "/dev/loop-control", os.O_RDWR)
_opens("open_fuse", "/dev/fuse", os.O_RDWR)
_opens("open_userfaultfd", "/dev/userfaultfd", os.O_RDWR)
_opens("open_vsock", "/dev/vsock", os.O_RDWR)
_opens("open_tun", "/dev/net/tun", os.O_RDWR)
_opens("open_console", "/dev/console", os.O_WRONLY)
_opens("open_pty_master", "/dev/ptmx", os.O_RDWR)


@attempt(_OPEN, sees="privileged file", quick=True)
def make_block_device(f: Any) -> Any:
    os.mknod(f"{f.work}/disk", stat.S_IFBLK | 0o600, os.makedev(7, 0))


@attempt(_OPEN, sees="privileged file")
def make_character_device_raw(f: Any) -> Any:
    syscall("mknodat", HERE, os.fsencode(f"{f.work}/mem"), stat.S_IFCHR | 0o600, os.makedev(1, 1))


@attempt("TIOCSTI/TIOCLINUX", sees="terminal", quick=True)
def type_into_terminal(f: Any) -> Any:
    terminal = os.open(f.terminal, os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(terminal, 0x5412, b"x")


@attempt("TIOCSTI/TIOCLINUX", sees="terminal")
def type_into_terminal_raw(f: Any) -> Any:
    syscall("ioctl", raw_open(f.terminal, os.O_RDWR | os.O_NOCTTY), 0x5412, b"x")


@attempt("TIOCSTI/TIOCLINUX", sees="terminal")
def write_on_terminal(f: Any) -> Any:
    os.write(os.open(f.terminal, os.O_WRONLY | os.O_NOCTTY), b"owned")


@attempt("TIOCSTI/TIOCLINUX", sees="terminal")
def command_own_terminal_raw(f: Any) -> Any:
    """Through the standard descriptors and /dev/tty, with the bits that a filter might not compare."""
    for number in (0, 1, 2):
        try:
            syscall("ioctl", number, 0x5412 | 1 << 32, b"x")
        except OSError:
            continue
    syscall("ioctl", raw_open("/dev/tty", os.O_RDWR), 0x5412, b"x")
