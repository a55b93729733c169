"""Starting programs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .attempt import attempt, hold
from .raw import library, syscall, tiny_program

_RAN = "program ran"


def _shell(f: Any) -> list[str]:
    return ["/bin/sh", "-c", f": > {f.work}/ran"]


def _pointers(*texts: str) -> Any:
    return (ctypes.c_char_p * (len(texts) + 1))(*(os.fsencode(text) for text in texts), None)


@attempt("execve", sees=_RAN, quick=True)
def execute(f: Any) -> Any:
    os.execv("/bin/sh", _shell(f))


@attempt("execve", sees=_RAN, quick=True)
def execute_raw(f: Any) -> Any:
    syscall("execve", b"/bin/sh", _pointers(*_shell(f)), _pointers())


@attempt("execve", sees=_RAN)
def execute_interpreter(f: Any) -> Any:
    """This Python is readable: may it be run?"""
    code = f"open({f.work + '/ran'!r}, 'w')"
    os.execv(os.path.realpath(sys.executable), ["python", "-I", "-S", "-c", code])


@attempt("execve", sees=_RAN)
def execute_own_file(f: Any) -> Any:
    os.chmod(_written(f), 0o755)
    os.execv("tiny", ["tiny"])


@attempt("execve", sees=_RAN)
def execute_script(f: Any) -> Any:
    Path("script").write_text(f"#!/bin/sh\n: > {f.work}/ran\n")
    os.chmod("script", 0o755)
    os.execv("script", ["script"])


@attempt("execve", sees=_RAN)
def execute_in_a_granted_folder(f: Any) -> Any:
    os.execv(f"{f.work}/program", ["program"])


@attempt("execve", sees=_RAN)
def execute_at_raw(f: Any) -> Any:
    descriptor = os.open(f"{f.work}/program", os.O_RDONLY)
    syscall("execveat", descriptor, b"", _pointers("program"), _pointers(), 0x1000)


@attempt("execve", sees=_RAN)
def execute_descriptor(f: Any) -> Any:
    os.execve(os.open(f"{f.work}/program", os.O_RDONLY), ["program"], {})


def _written(f: Any) -> str:
    descriptor = os.open("tiny", os.O_CREAT | os.O_WRONLY, 0o755)
    os.write(descriptor, tiny_program(f"{f.work}/ran"))
    os.close(descriptor)
    return "tiny"


@attempt("memfd exec", sees=_RAN, quick=True)
def memory_file(f: Any) -> Any:
    descriptor = os.memfd_create("x", 0)
    os.write(descriptor, tiny_program(f"{f.work}/ran"))
    os.execv(f"/proc/self/fd/{descriptor}", ["x"])


@attempt("memfd exec", sees=_RAN, quick=True)
def memory_file_raw(f: Any) -> Any:
    descriptor = syscall("memfd_create", b"x", 0)
    os.write(descriptor, tiny_program(f"{f.work}/ran"))
    syscall("execveat", descriptor, b"", _pointers("x"), _pointers(), 0x1000)


@attempt("memfd exec", sees="descriptor /secretmem")
def secret_memory_raw(f: Any) -> Any:
    hold(syscall("memfd_secret", 0))


@attempt("memfd exec", sees=_RAN)
def unnamed_file(f: Any) -> Any:
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o755)
    os.write(descriptor, tiny_program(f"{f.work}/ran"))
    reading = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
    os.close(descriptor)
    os.execv(f"/proc/self/fd/{reading}", ["x"])


@attempt("ld.so trick", sees=_RAN, quick=True)
def loader(f: Any) -> Any:
    found = [path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path)]
    os.execv(found[0], [found[0], os.path.realpath("/bin/sh"), *_shell(f)[1:]])


@attempt("ld.so trick", sees=_RAN)
def loader_raw(f: Any) -> Any:
    code = f"open({f.work + '/ran'!r}, 'w')"
    arguments = ("/lib64/ld-linux-x86-64.so.2", os.path.realpath(sys.executable), "-I", "-S", "-c", code)
    syscall("execve", os.fsencode(arguments[0]), _pointers(*arguments), _pointers())


@attempt("posix_spawn/vfork/clone raw", sees=_RAN, quick=True)
def spawn(f: Any) -> Any:
    os.waitpid(os.posix_spawn("/bin/sh", _shell(f), {}), 0)


@attempt("posix_spawn/vfork/clone raw", sees=_RAN)
def spawn_library(f: Any) -> Any:
    pid = ctypes.c_int()
    failed = library.posix_spawn(ctypes.byref(pid), b"/bin/sh", None, None, _pointers(*_shell(f)), _pointers())
    if failed:
        raise OSError(failed, os.strerror(failed))
    os.waitpid(pid.value, 0)


@attempt("posix_spawn/vfork/clone raw", sees=_RAN, quick=True)
def subprocess_run(f: Any) -> Any:
    subprocess.run(_shell(f), check=True)


@attempt("posix_spawn/vfork/clone raw", sees=_RAN)
def system(f: Any) -> Any:
    library.system(os.fsencode(f": > {f.work}/ran"))
