"""New processes, daemons, sessions."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import Any

from .attempt import attempt
from .raw import library, machine_code, syscall

_RAW = "posix_spawn/vfork/clone raw"


def _stay() -> None:
    """What a child does: nothing, for long."""
    while True:
        time.sleep(60)


@attempt("fork", sees="process", quick=True, granted="process")
def fork(f: Any) -> Any:
    if os.fork() == 0:
        _stay()


@attempt(_RAW, sees="process", quick=True, granted="process")
def fork_raw(f: Any) -> Any:
    if syscall("clone", signal.SIGCHLD, 0, 0, 0, 0) == 0:
        _stay()


@attempt(_RAW, sees="process", granted="process")
def fork_library(f: Any) -> Any:
    if library.fork() == 0:
        _stay()


@attempt(_RAW, sees="process")
def clone_parent_raw(f: Any) -> Any:
    """CLONE_PARENT: a child of the supervisor instead of ours."""
    if syscall("clone", 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        _stay()


@attempt("clone3", sees="process", quick=True)
def clone3_raw(f: Any) -> Any:
    arguments = (ctypes.c_uint64 * 11)()
    arguments[4] = signal.SIGCHLD
    if syscall("clone3", arguments, 88) == 0:
        _stay()


@attempt("clone3", sees="namespace child")
def clone3_namespace_raw(f: Any) -> Any:
    arguments = (ctypes.c_uint64 * 11)()
    arguments[0], arguments[4] = 0x10000000, signal.SIGCHLD
    if syscall("clone3", arguments, 88) == 0:
        _stay()


@attempt("clone/unshare user ns", sees="namespace", quick=True)
def unshare_user_raw(f: Any) -> Any:
    syscall("unshare", 0x10000000)


@attempt("clone/unshare user ns", sees="namespace")
def unshare_library(f: Any) -> Any:
    if library.unshare(0x10000000 | 0x00020000) < 0:
        raise OSError(ctypes.get_errno(), "refused")


@attempt("clone/unshare user ns", sees="namespace", quick=True)
def unshare_mounts_raw(f: Any) -> Any:
    syscall("unshare", 0x00020000)


@attempt("clone/unshare user ns", sees="namespace")
def unshare_network_raw(f: Any) -> Any:
    syscall("unshare", 0x40000000)


@attempt("clone/unshare user ns", sees="namespace child", quick=True)
def clone_user_raw(f: Any) -> Any:
    if syscall("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        _stay()


@attempt("clone/unshare user ns", sees="namespace")
def join_namespace_raw(f: Any) -> Any:
    syscall("setns", syscall("pidfd_open", f.victim, 0), 0x04000000)


@attempt("fork bomb", sees="many processes", granted="process")
def fork_bomb(f: Any) -> Any:
    """Stops at a number that no cell may have."""
    for _ in range(60):
        if os.fork() == 0:
            _stay()


@attempt("fork bomb", sees="many processes", granted="process")
def fork_bomb_raw(f: Any) -> Any:
    for _ in range(60):
        if syscall("clone", signal.SIGCHLD, 0, 0, 0, 0) == 0:
            _stay()


@attempt("thread bomb", sees="many threads")
def thread_bomb(f: Any) -> Any:
    """Threads use up the machine's process ids as processes do."""
    import threading

    threading.stack_size(32768)
    for _ in range(f.threads):
        threading.Thread(target=_stay, daemon=True).start()
    time.sleep(f.patience)


@attempt("setsid/double-fork daemon", sees="left behind", granted="process")
def daemon(f: Any) -> Any:
    """Outlive the cell: another session, another parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _stay()
        os._exit(0)
    time.sleep(0.1)


@attempt("setsid/double-fork daemon", sees="left behind", granted="process")
def daemon_in_the_group(f: Any) -> Any:
    if os.fork() == 0:
        if os.fork() == 0:
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            _stay()
        os._exit(0)
    time.sleep(0.1)


@attempt("zombie after kill", sees="left behind", granted="process")
def stopped_child(f: Any) -> Any:
    pid = os.fork()
    if pid == 0:
        _stay()
    os.kill(pid, signal.SIGSTOP)


@attempt("int 0x80", sees="process", quick=True)
def fork_by_interrupt(f: Any) -> Any:
    """fork in the 32-bit convention, call 2."""
    if machine_code(b"\x53\xb8\x02\0\0\0\xcd\x80\x48\x98\x5b\xc3") == 0:
        _stay()


@attempt("x32", sees="process", quick=True)
def fork_by_x32_raw(f: Any) -> Any:
    if syscall(0x40000000 | 57) == 0:
        _stay()
