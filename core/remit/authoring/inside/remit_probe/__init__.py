"""Runs in a cell instead of a pack: imports the pack, and writes down what that does and where.

It sees what Python's audit hooks see (PEP 578), so it is meant for authors who check their own pack; what code hides
from them is held by the cell all the same. The hook cannot be removed, so a cell with it is used once.
"""

from __future__ import annotations

import _thread
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

MOST = 200
"""Things that are written down at most."""

_WRITES = {
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "shutil.rmtree", "shutil.copyfile", "shutil.move",
}  # fmt: skip
_CONNECTS = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto"}
_STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"}
_STARTERS = ("start_new_thread", "_start_new_thread", "_start_joinable_thread")
_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """What was seen, in order: `[kind, what, where]`, each once; off until it is switched on."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.on = False
        self.seen: dict[tuple[str, str, str], None] = {}

    def note(self, kind: str, what: object) -> None:
        """Write one thing down, with the pack's own line that led to it."""
        if self.on and len(self.seen) < MOST:
            self.on = False
            self.seen[(kind, str(what)[:300], self._where())] = None
            self.on = True

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Judge one audit event."""
        if not self.on:
            return
        first = arguments[0] if arguments else ""
        if event == "open":
            self._opened(first, arguments[1], arguments[2])
        elif event in _WRITES:
            self.note("write", _path(first))
        elif event in _CONNECTS:
            self.note("net", arguments[0] if event == "socket.getaddrinfo" else arguments[-1])
        elif event in _STARTS:
            self.note("exec", _path(first))

    def _opened(self, path: Any, mode: Any, flags: Any) -> None:
        if isinstance(path, int) or _path(path) == os.devnull or "__pycache__" in _path(path):
            return
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _FLAGS):
            self.note("write", _path(path))

    def _where(self) -> str:
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename.startswith(f"{self.folder}/"):
                return f"{frame.f_code.co_filename.removeprefix(f'{self.folder}/')}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return ""

    @property
    def events(self) -> list[list[str]]:
        """What was seen, as plain lists."""
        return [list(one) for one in self.seen]


def watch_import(package: str, modules: list[str], folder: str) -> dict[str, Any]:
    """Import modules of a pack and return what that did.

    Args:
        package: the pack's package.
        modules: to import after it.
        folder: of the package, to name its own lines.
    """
    watch = Watch(folder)
    sys.addaudithook(watch.hear)
    _watch_threads(watch)
    error = ""
    began = time.perf_counter()
    watch.on = True
    try:
        for name in (package, *modules):
            importlib.import_module(name)
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"[:500]
    watch.on = False
    return {"seconds": time.perf_counter() - began, "error": error, "events": watch.events}


def _watch_threads(watch: Watch) -> None:
    """No audit event tells of a thread before Python 3.13, so that what starts one is wrapped."""
    for module in (_thread, threading):
        for name in _STARTERS:
            original = getattr(module, name, None)
            if original is not None:
                setattr(module, name, _noting(original, watch))


def _noting(original: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    def begin(function: Any, *rest: Any, **named: Any) -> Any:
        watch.note("thread", getattr(function, "__qualname__", "a function"))
        return original(function, *rest, **named)

    return begin


def _path(value: Any) -> str:
    try:
        return os.path.abspath(os.fsdecode(value))
    except (TypeError, ValueError):
        return str(value)[:300]
