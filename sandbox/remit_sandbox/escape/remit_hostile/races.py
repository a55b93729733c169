"""Races between a check and its use: another thread changes the path meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .attempt import attempt
from .raw import HERE, syscall


def _against(change: Callable[[], None], try_once: Callable[[], Any], times: int) -> Any:
    """Try until it succeeds, at most `times`, while another thread changes things without end."""
    over = threading.Event()

    def keep_changing() -> None:
        while not over.is_set():
            with suppress(OSError):
                change()

    thread = threading.Thread(target=keep_changing)
    thread.start()
    try:
        for _ in range(times):
            with suppress(OSError):
                if found := try_once():
                    return found
    finally:
        over.set()
        thread.join()
    raise OSError("never")


@attempt("race", sees="files")
def swap_symlink(f: Any) -> Any:
    """A file of ours becomes a link to the canary and back."""
    Path(f.work, "mine").write_text("x")
    os.symlink(f.canary, f"{f.work}/evil")

    def swap() -> None:
        syscall("renameat2", HERE, os.fsencode(f"{f.work}/mine"), HERE, os.fsencode(f"{f.work}/evil"), 2)

    def write() -> bool:
        descriptor = os.open(f"{f.work}/mine", os.O_WRONLY)
        os.write(descriptor, b"owned")
        found = os.fstat(descriptor).st_ino == os.stat(f.canary).st_ino
        os.close(descriptor)
        return found

    return _against(swap, write, f.repeats)


@attempt("race", sees="loot")
def swap_folder(f: Any) -> Any:
    """A folder in the middle of a path becomes a link to the one outside and back."""
    os.mkdir(f"{f.work}/way")
    Path(f.work, "way", "secret").write_text("")
    os.symlink(f.outside, f"{f.work}/detour")

    def swap() -> None:
        syscall("renameat2", HERE, os.fsencode(f"{f.work}/way"), HERE, os.fsencode(f"{f.work}/detour"), 2)

    return _against(swap, lambda: Path(f.work, "way", "secret").read_text(), f.repeats)


@attempt("race", sees="loot")
def many_threads(f: Any) -> Any:
    """Threads of a library started while the pack was imported are confined as well."""
    found: list[str] = []

    def read() -> None:
        for _ in range(50):
            with suppress(OSError):
                found.append(Path(f.secret).read_text())
                return

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "".join(found)
