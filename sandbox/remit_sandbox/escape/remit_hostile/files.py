"""Reading, changing, making and removing what is not granted."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
from pathlib import Path
from typing import Any

from .attempt import attempt, hold
from .raw import HERE, raw_open, raw_read, syscall

_PATH_ONLY = 0o10000000


@attempt("absolute read", sees="loot", quick=True)
def read(f: Any) -> Any:
    return Path(f.secret).read_text()


@attempt("absolute read", sees="loot", quick=True)
def read_raw(f: Any) -> Any:
    return raw_read(raw_open(f.secret))


@attempt("absolute read", sees="loot")
def read_copy(f: Any) -> Any:
    shutil.copy(f.secret, "copy")
    return Path("copy").read_text()


@attempt("absolute read", sees="loot")
def read_mapped(f: Any) -> Any:
    with open(f.secret, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        return mapped[:]


@attempt("absolute read", sees="loot")
def read_with_sendfile(f: Any) -> Any:
    source, target = os.open(f.secret, os.O_RDONLY), os.open("sent", os.O_RDWR | os.O_CREAT)
    os.sendfile(target, source, 0, 4096)
    return os.pread(target, 4096, 0)


@attempt("absolute read", sees="loot")
def read_after_path_only(f: Any) -> Any:
    """O_PATH asks for no right; opening it again through /proc does."""
    return Path(f"/proc/self/fd/{os.open(f.secret, _PATH_ONLY)}").read_text()


@attempt("absolute read", sees="loot")
def read_openat2_raw(f: Any) -> Any:
    how = (ctypes.c_uint64 * 3)(0, 0, 0)
    return raw_read(syscall("openat2", HERE, os.fsencode(f.secret), how, ctypes.sizeof(how)))


@attempt("absolute read", sees="loot")
def read_by_handle_raw(f: Any) -> Any:
    handle = ctypes.create_string_buffer(136)
    handle.raw = (128).to_bytes(4, "little") + bytes(132)
    mount = ctypes.c_int()
    syscall("name_to_handle_at", HERE, os.fsencode(f.secret), handle, ctypes.byref(mount), 0)
    return raw_read(syscall("open_by_handle_at", os.open(".", os.O_RDONLY), handle, os.O_RDONLY))


@attempt("..", sees="loot", quick=True)
def climb(f: Any) -> Any:
    return Path(os.path.join(f.docs, "..", "outside", "secret")).read_text()


@attempt("..", sees="loot")
def climb_after_chdir(f: Any) -> Any:
    os.chdir(f.outside)
    return Path("secret").read_text()


@attempt("..", sees="loot")
def climb_raw(f: Any) -> Any:
    return raw_read(raw_open(f"{f.work}/../docs/../outside/secret"))


@attempt("openat with dirfd", sees="loot", quick=True)
def from_descriptor(f: Any) -> Any:
    return os.read(os.open("../outside/secret", os.O_RDONLY, dir_fd=os.open(f.docs, os.O_RDONLY)), 4096)


@attempt("openat with dirfd", sees="loot")
def from_path_descriptor_raw(f: Any) -> Any:
    folder = raw_open(f.outside, _PATH_ONLY)
    return raw_read(syscall("openat", folder, b"secret", 0, 0))


@attempt("listing", sees="loot")
def list_folder(f: Any) -> Any:
    return os.listdir(f.outside)


@attempt("listing", sees="loot")
def list_folder_raw(f: Any) -> Any:
    buffer = ctypes.create_string_buffer(8192)
    got = syscall("getdents64", raw_open(f.outside, os.O_DIRECTORY), buffer, 8192)
    return buffer.raw[:got]


@attempt("writing outside", sees="files", quick=True)
def append(f: Any) -> Any:
    with open(f.canary, "a") as file:
        file.write("!")
    return None


@attempt("writing outside", sees="files")
def write_raw(f: Any) -> Any:
    syscall("write", raw_open(f.canary, os.O_WRONLY), b"owned", 5)


@attempt("writing outside", sees="files", quick=True)
def make(f: Any) -> Any:
    Path(f.outside, "made").write_text("x")


@attempt("writing outside", sees="files")
def make_raw(f: Any) -> Any:
    raw_open(f"{f.outside}/made", os.O_CREAT | os.O_WRONLY, 0o644)


@attempt("writing outside", sees="files")
def make_folder(f: Any) -> Any:
    os.mkdir(f"{f.outside}/made")


@attempt("writing outside", sees="files")
def make_fifo(f: Any) -> Any:
    os.mkfifo(f"{f.outside}/made")


@attempt("writing outside", sees="files")
def make_symlink(f: Any) -> Any:
    os.symlink("/", f"{f.outside}/made")


@attempt("writing outside", sees="files")
def write_read_only(f: Any) -> Any:
    Path(f.note).write_text("owned")


@attempt("writing outside", sees="files")
def make_in_read_only(f: Any) -> Any:
    Path(f.docs, "made").write_text("x")


@attempt("writing outside", sees="files")
def map_shared(f: Any) -> Any:
    with open(f.note, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:4] = b"mine"


@attempt("truncate(2) of read-only", sees="files", quick=True)
def truncate(f: Any) -> Any:
    os.truncate(f.note, 0)


@attempt("truncate(2) of read-only", sees="files", quick=True)
def truncate_raw(f: Any) -> Any:
    syscall("truncate", os.fsencode(f.note), 0)


@attempt("truncate(2) of read-only", sees="files", quick=True)
def truncate_outside(f: Any) -> Any:
    os.truncate(f.canary, 0)


@attempt("truncate(2) of read-only", sees="files")
def truncate_through_proc(f: Any) -> Any:
    os.truncate(f"/proc/self/fd/{os.open(f.note, os.O_RDONLY)}", 0)


@attempt("O_TRUNC|O_RDONLY", sees="files", quick=True)
def truncate_reading(f: Any) -> Any:
    os.open(f.note, os.O_RDONLY | os.O_TRUNC)


@attempt("O_TRUNC|O_RDONLY", sees="files", quick=True)
def truncate_reading_raw(f: Any) -> Any:
    raw_open(f.note, os.O_TRUNC)


@attempt("O_TRUNC|O_RDONLY", sees="files", quick=True)
def truncate_strange_raw(f: Any) -> Any:
    """Access mode 3, which no program uses."""
    raw_open(f.note, 3 | os.O_TRUNC)


@attempt("O_TRUNC|O_RDONLY", sees="files", quick=True)
def truncate_openat2_raw(f: Any) -> Any:
    how = (ctypes.c_uint64 * 3)(os.O_TRUNC, 0, 0)
    syscall("openat2", HERE, os.fsencode(f.note), how, ctypes.sizeof(how))


@attempt("unlink in read-only root", sees="files", quick=True)
def unlink(f: Any) -> Any:
    os.unlink(f.note)


@attempt("unlink in read-only root", sees="files")
def unlink_raw(f: Any) -> Any:
    syscall("unlinkat", HERE, os.fsencode(f.note), 0)


@attempt("unlink in read-only root", sees="files")
def remove_folder(f: Any) -> Any:
    os.rmdir(f"{f.outside}/empty")


@attempt("other skills' folders", sees="loot", quick=True)
def read_sibling(f: Any) -> Any:
    return Path(f.sibling_tmp, "mine").read_text()


@attempt("other skills' folders", sees="loot")
def read_sibling_raw(f: Any) -> Any:
    return raw_read(raw_open(f"{os.getcwd()}/../{os.path.basename(f.sibling_tmp)}/mine"))


@attempt("other skills' folders", sees="sibling", quick=True)
def write_sibling(f: Any) -> Any:
    Path(f.sibling_tmp, "planted").write_text("x")


@attempt("leaked fds", sees="loot", quick=True)
def read_leaked(f: Any) -> Any:
    found = b""
    for number in range(5, 1024):
        try:
            found += os.pread(number, 4096, 0)
        except OSError:
            continue
    return found


@attempt("leaked fds", sees="loot")
def read_leaked_raw(f: Any) -> Any:
    found = b""
    for number in range(5, 1024):
        buffer = ctypes.create_string_buffer(4096)
        try:
            got = syscall("pread64", number, buffer, 4096, 0)
            found += buffer.raw[:got]
        except OSError:
            continue
    return found


@attempt("leaked fds", sees="loot")
def reopen_leaked(f: Any) -> Any:
    """Through /proc/self/fd, which opens the file anew."""
    found = ""
    for number in os.listdir("/proc/self/fd"):
        if int(number) > 4:
            try:
                with open(f"/proc/self/fd/{number}", errors="replace") as file:
                    hold(file)
                    os.set_blocking(file.fileno(), False)
                    found += file.read(4096) or ""
            except OSError:
                continue
    return found
