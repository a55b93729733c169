"""Links and renames: the same file under another name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .attempt import attempt
from .raw import HERE, raw_open, raw_read, syscall

_PATH_ONLY = 0o10000000


@attempt("pre-placed symlink", sees="loot", quick=True)
def placed_symlink(f: Any) -> Any:
    return Path(f.work, "link").read_text()


@attempt("pre-placed symlink", sees="loot")
def placed_symlink_raw(f: Any) -> Any:
    return raw_read(raw_open(f"{f.work}/link"))


@attempt("pre-placed symlink", sees="files", quick=True)
def placed_symlink_write(f: Any) -> Any:
    Path(f.work, "to_canary").write_text("owned")


@attempt("pre-placed symlink", sees="files")
def placed_folder_symlink(f: Any) -> Any:
    Path(f.work, "folder", "made").write_text("x")


@attempt("self-made symlink", sees="loot", quick=True)
def own_symlink(f: Any) -> Any:
    os.symlink(f.secret, "own")
    return Path("own").read_text()


@attempt("self-made symlink", sees="loot")
def own_symlink_raw(f: Any) -> Any:
    syscall("symlinkat", os.fsencode(f.outside), HERE, b"own_raw")
    return raw_read(raw_open("own_raw/secret"))


@attempt("self-made symlink", sees="files")
def own_symlink_write(f: Any) -> Any:
    os.symlink(f.outside, f"{f.work}/own_write")
    os.mkdir(f"{f.work}/own_write/made")


@attempt("hard link in", sees="files", quick=True)
def hard_link(f: Any) -> Any:
    os.link(f.canary, f"{f.work}/hard")
    Path(f.work, "hard").write_text("owned")


@attempt("hard link in", sees="files")
def hard_link_raw(f: Any) -> Any:
    syscall("linkat", HERE, os.fsencode(f.canary), HERE, os.fsencode(f"{f.work}/hard"), 0)


@attempt("hard link in", sees="files", quick=True)
def hard_link_read_only(f: Any) -> Any:
    """From a folder that may be read into one that may be written: the link would make it writable."""
    os.link(f.note, f"{f.work}/hard")
    Path(f.work, "hard").write_text("owned")


@attempt("hard link in", sees="files")
def hard_link_descriptor_raw(f: Any) -> Any:
    source = os.open(f.note, os.O_RDONLY)
    syscall("linkat", HERE, b"/proc/self/fd/%d" % source, HERE, os.fsencode(f"{f.work}/hard"), 0x400)


@attempt("rename out", sees="files", quick=True)
def rename_out(f: Any) -> Any:
    Path("mine").write_text("x")
    os.rename("mine", f"{f.outside}/moved")


@attempt("rename out", sees="files")
def rename_over(f: Any) -> Any:
    Path("mine").write_text("owned")
    os.replace("mine", f.canary)


@attempt("rename out", sees="files")
def rename_over_read_only_raw(f: Any) -> Any:
    Path("mine").write_text("owned")
    syscall("renameat2", HERE, b"mine", HERE, os.fsencode(f.note), 0)


@attempt("rename in", sees="files", quick=True)
def rename_in(f: Any) -> Any:
    os.rename(f.canary, f"{f.work}/moved")


@attempt("rename in", sees="files")
def rename_in_read_only(f: Any) -> Any:
    os.rename(f.note, f"{f.work}/moved")
    Path(f.work, "moved").write_text("owned")


@attempt("rename in", sees="files")
def exchange_raw(f: Any) -> Any:
    Path("mine").write_text("owned")
    syscall("renameat2", HERE, b"mine", HERE, os.fsencode(f.canary), 2)


@attempt("rename in", sees="files")
def rename_folder_in(f: Any) -> Any:
    os.rename(f"{f.outside}/empty", f"{f.work}/moved")


@attempt("/proc/self/root", sees="loot", quick=True)
def proc_root(f: Any) -> Any:
    return Path(f"/proc/self/root{f.secret}").read_text()


@attempt("/proc/self/root", sees="loot")
def proc_root_raw(f: Any) -> Any:
    return raw_read(raw_open(f"/proc/thread-self/root{f.secret}"))


@attempt("/proc/self/root", sees="loot")
def proc_cwd(f: Any) -> Any:
    os.chdir(f.outside)
    return Path("/proc/self/cwd/secret").read_text()


@attempt("/proc/self/root", sees="loot")
def proc_descriptor_folder(f: Any) -> Any:
    return Path(f"/proc/self/fd/{os.open(f.docs, os.O_RDONLY)}/../outside/secret").read_text()


@attempt("/proc/self/fd/N of a closed/inherited fd", sees="loot", quick=True)
def proc_kept_descriptor(f: Any) -> Any:
    """Every descriptor that is open, and one of /proc/self, may lead on."""
    folder = os.open("/proc/self", _PATH_ONLY | os.O_DIRECTORY)
    for number in (folder, *map(int, os.listdir("/proc/self/fd"))):
        for way in (f"root{f.secret}", f"cwd{'/..' * 40}{f.secret}", f"task/{os.getpid()}/root{f.secret}"):
            try:
                return os.read(os.open(way, os.O_RDONLY, dir_fd=number), 4096)
            except OSError:
                continue
    raise PermissionError("no descriptor leads there")
