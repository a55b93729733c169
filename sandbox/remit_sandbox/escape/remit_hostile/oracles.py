"""Information that a cell can have of what it may not open: documented limits, and those that are none."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from .attempt import attempt
from .raw import HERE, syscall

_ORACLE = "stat/access/readlink oracle"


@attempt(_ORACLE, sees="size", documented=True)
def stat_size(f: Any) -> Any:
    return f"size:{os.stat(f.secret).st_size}"


@attempt(_ORACLE, sees="size", documented=True)
def stat_size_raw(f: Any) -> Any:
    buffer = ctypes.create_string_buffer(256)
    syscall("statx", HERE, os.fsencode(f.secret), 0, 0x200, buffer)
    return f"size:{int.from_bytes(buffer.raw[40:48], 'little')}"


@attempt(_ORACLE, sees="existence", documented=True)
def access_exists(f: Any) -> Any:
    return f"exists:{os.access(f.secret, os.F_OK)}:{os.access(f.outside + '/no', os.F_OK)}"


@attempt(_ORACLE, sees="existence", documented=True)
def access_exists_raw(f: Any) -> Any:
    syscall("faccessat", HERE, os.fsencode(f.secret), 0)
    return "exists:True:False"


@attempt(_ORACLE, sees="target", documented=True)
def read_link(f: Any) -> Any:
    return os.readlink(f"{f.outside}/pointer")


@attempt(_ORACLE, sees="target", documented=True)
def read_link_raw(f: Any) -> Any:
    buffer = ctypes.create_string_buffer(512)
    got = syscall("readlinkat", HERE, os.fsencode(f"{f.outside}/pointer"), buffer, 512)
    return buffer.raw[:got]


@attempt(_ORACLE, sees="machine name", documented=True)
def machine_name(f: Any) -> Any:
    return f"name:{os.uname().nodename}"


@attempt("process metadata", sees="process exists", documented=True)
def process_exists(f: Any) -> Any:
    """Session and group of any process whose number is guessed."""
    return f"session:{os.getsid(f.victim)}"


@attempt("environment leak", sees="loot", quick=True)
def own_environment(f: Any) -> Any:
    return dict(os.environ)


@attempt("environment leak", sees="loot", quick=True)
def first_environment(f: Any) -> Any:
    """What the process was started with, which no change to `os.environ` alters."""
    return Path("/proc/self/environ").read_bytes()


@attempt("host's connections", sees="loot")
def list_connections(f: Any) -> Any:
    """/proc/self/net shows every socket of the machine, with the paths of local ones."""
    return Path("/proc/self/net/unix").read_text()


@attempt("host's connections", sees="loot")
def list_connections_of_a_thread(f: Any) -> Any:
    return Path(f"/proc/self/task/{os.getpid()}/net/unix").read_text()


@attempt("host's processes", sees="loot")
def list_processes(f: Any) -> Any:
    return b"".join(Path("/proc", name, "environ").read_bytes() for name in os.listdir("/proc") if name.isdigit())


@attempt("host's files", sees="loot")
def system_configuration(f: Any) -> Any:
    return Path("/proc/sys/kernel/random/boot_id").read_text()
