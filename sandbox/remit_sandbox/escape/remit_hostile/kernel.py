"""What only an administrator's program asks of the kernel, and where its faults were found."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
from typing import Any

from .attempt import attempt, hold
from .raw import HERE, library, syscall

_MOUNT = "mount, new mount API, chroot, pivot_root"
_RARE = "bpf, perf, userfaultfd, keyctl, personality"


@attempt(_MOUNT, sees="mount", quick=True)
def mount_raw(f: Any) -> Any:
    syscall("mount", b"tmpfs", os.fsencode(f.work), b"tmpfs", 0, 0)


@attempt(_MOUNT, sees="mount")
def mount_library(f: Any) -> Any:
    if library.mount(os.fsencode(f.outside), os.fsencode(f.work), None, 4096, None) < 0:
        raise OSError(ctypes.get_errno(), "refused")


@attempt(_MOUNT, sees="descriptor", quick=True)
def open_file_system_raw(f: Any) -> Any:
    hold(syscall("fsopen", b"tmpfs", 0))


@attempt(_MOUNT, sees="mount")
def move_mount_raw(f: Any) -> Any:
    tree = syscall("open_tree", HERE, os.fsencode(f.outside), 1)
    syscall("move_mount", tree, b"", HERE, os.fsencode(f.work), 4)


@attempt(_MOUNT, sees="descriptor /")
def open_tree_raw(f: Any) -> Any:
    hold(syscall("open_tree", HERE, b"/", 1))


@attempt(_MOUNT, sees="mount")
def unmount_raw(f: Any) -> Any:
    syscall("umount2", b"/dev/shm", 2)


@attempt(_MOUNT, sees="root", quick=True)
def chroot(f: Any) -> Any:
    os.chroot(f.work)


@attempt(_MOUNT, sees="root")
def chroot_raw(f: Any) -> Any:
    syscall("chroot", os.fsencode(f.docs))


@attempt(_MOUNT, sees="mount")
def remount_raw(f: Any) -> Any:
    syscall("mount", 0, b"/dev/shm", 0, 32 | 1, 0)


@attempt(_RARE, sees="descriptor bpf", quick=True)
def bpf_raw(f: Any) -> Any:
    attributes = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
    hold(syscall("bpf", 0, attributes, 128))


@attempt(_RARE, sees="descriptor [perf_event]")
def perf_raw(f: Any) -> Any:
    attributes = (ctypes.c_uint32 * 32)(1, 128, 0)
    hold(syscall("perf_event_open", attributes, 0, -1, -1, 0))


@attempt(_RARE, sees="descriptor [userfaultfd]", quick=True)
def userfaultfd_raw(f: Any) -> Any:
    hold(syscall("userfaultfd", 0))


@attempt(_RARE, sees="personality", quick=True)
def personality_raw(f: Any) -> Any:
    """No address randomisation, and readable means executable."""
    syscall("personality", 0x0440000)


@attempt(_RARE, sees="personality")
def personality_library(f: Any) -> Any:
    library.personality(0x0440000)


@attempt(_RARE, sees="descriptor")
def landlock_ruleset_raw(f: Any) -> Any:
    attributes = (ctypes.c_uint64 * 3)(1, 0, 0)
    hold(syscall("landlock_create_ruleset", attributes, 8, 0))


@attempt(_RARE, sees="descriptor seccomp")
def seccomp_listener_raw(f: Any) -> Any:
    """A filter of one's own, with a listener that may answer for its calls."""
    program = (ctypes.c_uint64 * 1)(0x7FFF000000000006)
    pointer = (ctypes.c_uint64 * 2)(1, ctypes.addressof(program))
    hold(syscall("seccomp", 1, 8, pointer))


@attempt("privileges", sees="privileges", quick=True)
def become_another(f: Any) -> Any:
    os.setresuid(65534, 65534, 65534)


@attempt("privileges", sees="privileges")
def become_another_raw(f: Any) -> Any:
    syscall("setresgid", 65534, 65534, 65534)


@attempt("privileges", sees="privileges")
def join_groups(f: Any) -> Any:
    os.setgroups([0, 6, 42])


@attempt("privileges", sees="hostname", quick=True)
def rename_machine(f: Any) -> Any:
    socket.sethostname("owned")


@attempt("privileges", sees="hostname")
def rename_machine_raw(f: Any) -> Any:
    syscall("sethostname", b"owned", 5)


@attempt("privileges", sees="priority")
def faster(f: Any) -> Any:
    os.nice(-5)


@attempt("privileges", sees="priority")
def real_time(f: Any) -> Any:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@attempt("privileges", sees="priority")
def real_time_raw(f: Any) -> Any:
    syscall("sched_setscheduler", 0, 1, (ctypes.c_int * 1)(1))


@attempt("prlimit host/raise limits", sees="limits", quick=True)
def raise_limit(f: Any) -> Any:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))


@attempt("prlimit host/raise limits", sees="limits")
def raise_limit_raw(f: Any) -> Any:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    syscall("prlimit64", 0, resource.RLIMIT_NOFILE, (ctypes.c_uint64 * 2)(hard + 1, hard + 1), 0)


@attempt("unknown newer syscalls", sees="files")
def set_file_attributes_raw(f: Any) -> Any:
    """file_setattr of Linux 6.17: flags of a file through its path."""
    attributes = (ctypes.c_uint32 * 6)(0x80)
    syscall("file_setattr", HERE, os.fsencode(f.canary), attributes, 24, 0)
