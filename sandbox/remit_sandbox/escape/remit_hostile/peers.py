"""Other processes: their memory, descriptors, signals, limits."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from pathlib import Path
from typing import Any

from .attempt import attempt
from .raw import raw_open, raw_read, syscall

_PROC = "/proc/<host>/environ, cmdline, maps, fd"


@attempt(_PROC, sees="loot", quick=True)
def host_environment(f: Any) -> Any:
    return Path(f"/proc/{f.host}/environ").read_bytes()


@attempt(_PROC, sees="loot")
def host_environment_raw(f: Any) -> Any:
    return raw_read(raw_open(f"/proc/{f.host}/environ"))


@attempt(_PROC, sees="loot")
def parent_environment(f: Any) -> Any:
    return Path(f"/proc/{f.parent}/environ").read_bytes() + Path(f"/proc/{f.host}/environ").read_bytes()


@attempt(_PROC, sees="loot")
def host_descriptor(f: Any) -> Any:
    return Path(f"/proc/{f.victim}/fd/{f.victim_descriptor}").read_text()


@attempt(_PROC, sees="loot")
def host_root(f: Any) -> Any:
    return Path(f"/proc/{f.victim}/root{f.secret}").read_text()


@attempt(_PROC, sees="loot")
def host_command_line(f: Any) -> Any:
    return Path(f"/proc/{f.host}/cmdline").read_bytes() + Path(f"/proc/{f.host}/environ").read_bytes()


@attempt(_PROC, sees="tampered")
def host_out_of_memory_score(f: Any) -> Any:
    Path(f"/proc/{f.victim}/oom_score_adj").write_text("1000")


@attempt("/proc/<host>/mem write", sees="loot", quick=True)
def host_memory(f: Any) -> Any:
    with open(f"/proc/{f.host}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), 64, f.host_address)


@attempt("/proc/<host>/mem write", sees="memory", quick=True)
def victim_memory_write(f: Any) -> Any:
    with open(f"/proc/{f.victim}/mem", "r+b", buffering=0) as memory:
        os.pwrite(memory.fileno(), b"owned", f.victim_address)


@attempt("/proc/<host>/mem write", sees="memory")
def victim_memory_write_raw(f: Any) -> Any:
    syscall("pwrite64", raw_open(f"/proc/{f.victim}/mem", os.O_RDWR), b"owned", 5, f.victim_address)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@attempt("process_vm_readv", sees="loot", quick=True)
def read_memory_raw(f: Any) -> Any:
    buffer = ctypes.create_string_buffer(64)
    ours, theirs = _Span(ctypes.addressof(buffer), 64), _Span(f.host_address, 64)
    syscall("process_vm_readv", f.host, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    return buffer.raw


@attempt("process_vm_readv", sees="memory")
def write_memory_raw(f: Any) -> Any:
    buffer = ctypes.create_string_buffer(b"owned")
    ours, theirs = _Span(ctypes.addressof(buffer), 5), _Span(f.victim_address, 5)
    syscall("process_vm_writev", f.victim, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)


def _trace(pid: int) -> None:
    """PTRACE_SEIZE, which does not stop the other."""
    syscall("ptrace", 0x4206, pid, 0, 0)


@attempt("ptrace host", sees="traced", quick=True)
def trace_victim(f: Any) -> Any:
    _trace(f.victim)


@attempt("ptrace host", sees="signal")
def attach_victim(f: Any) -> Any:
    syscall("ptrace", 16, f.victim, 0, 0)
    os.waitpid(f.victim, 0)


@attempt("ptrace host", sees="traced")
def trace_parent(f: Any) -> Any:
    _trace(f.parent)


@attempt("ptrace sibling cell", sees="traced", quick=True)
def trace_sibling(f: Any) -> Any:
    _trace(f.sibling)


@attempt("ptrace sibling cell", sees="loot")
def sibling_secret(f: Any) -> Any:
    """What another cell was given, from its memory."""
    found = b""
    with open(f"/proc/{f.sibling}/maps") as maps, open(f"/proc/{f.sibling}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            start, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("rw") and end - start < 1 << 26:
                try:
                    page = os.pread(memory.fileno(), end - start, start)
                except OSError:
                    continue
                at = page.find(b"sibling:")
                while at >= 0:
                    found += page[at : at + 64]
                    at = page.find(b"sibling:", at + 8)
    return found


@attempt("pidfd_getfd", sees="loot", quick=True)
def take_descriptor_raw(f: Any) -> Any:
    return os.pread(syscall("pidfd_getfd", syscall("pidfd_open", f.victim, 0), f.victim_descriptor, 0), 4096, 0)


@attempt("pidfd_getfd", sees="signal")
def signal_by_pidfd(f: Any) -> Any:
    signal.pidfd_send_signal(os.pidfd_open(f.victim), signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def kill_victim(f: Any) -> Any:
    os.kill(f.victim, signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal")
def kill_victim_raw(f: Any) -> Any:
    syscall("kill", f.victim, signal.SIGTERM)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def kill_all(f: Any) -> Any:
    os.kill(-1, signal.SIGTERM)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def kill_thread_raw(f: Any) -> Any:
    syscall("tkill", f.victim, signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def kill_thread_group_raw(f: Any) -> Any:
    syscall("tgkill", f.victim, f.victim, signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def queue_signal_raw(f: Any) -> Any:
    information = (ctypes.c_int * 32)(signal.SIGTERM, 0, -1)
    syscall("rt_sigqueueinfo", f.victim, signal.SIGTERM, information)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def kill_sibling(f: Any) -> Any:
    os.kill(f.sibling, signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal", quick=True)
def kill_parent(f: Any) -> Any:
    os.kill(f.parent, signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal")
def kill_group(f: Any) -> Any:
    os.killpg(os.getpgid(f.victim), signal.SIGKILL)


@attempt("signal host/parent/-1", sees="signal")
def signal_by_input(f: Any) -> Any:
    """Have the kernel send SIGIO to the victim when a pipe gets data."""
    import fcntl

    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, f.victim)
    fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(writer, b"x")


@attempt("signal host/parent/-1", sees="signal")
def signal_by_own_descriptor(f: Any) -> Any:
    """F_SETOWN_EX as a raw call, and a signal other than SIGIO."""
    reader, writer = os.pipe()
    owner = (ctypes.c_int * 2)(1, f.victim)
    syscall("fcntl", reader, 15, owner)
    syscall("fcntl", reader, 10, signal.SIGTERM)
    syscall("fcntl", reader, 4, os.O_ASYNC)
    os.write(writer, b"x")


@attempt("prlimit host/raise limits", sees="tampered", quick=True)
def limit_victim(f: Any) -> Any:
    resource.prlimit(f.victim, resource.RLIMIT_NOFILE, (16, 16))


@attempt("prlimit host/raise limits", sees="tampered")
def limit_victim_raw(f: Any) -> Any:
    syscall("prlimit64", f.victim, resource.RLIMIT_CPU, (ctypes.c_uint64 * 2)(1, 1), 0)


@attempt("prlimit host/raise limits", sees="tampered")
def bind_victim(f: Any) -> Any:
    os.sched_setaffinity(f.victim, {min(os.sched_getaffinity(0))})


@attempt("prlimit host/raise limits", sees="tampered")
def slow_victim(f: Any) -> Any:
    os.setpriority(os.PRIO_PROCESS, f.victim, 19)


@attempt("prlimit host/raise limits", sees="tampered")
def schedule_victim(f: Any) -> Any:
    os.sched_setscheduler(f.victim, os.SCHED_IDLE, os.sched_param(0))
