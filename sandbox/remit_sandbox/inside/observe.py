"""Watches what the Python code of a pack opens, runs and asks for, so that a permission table can be proposed.

Python's own audit events, seen at Python level: what native code and started programs do goes unseen. It
holds nobody to anything; it runs only in cells that were asked to (`CellSpec.observe`).
Source: https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

from remit_sandbox.inside.context import Secrets

MOST = 5_000
"""Different things that are remembered."""

_LENGTH = 4_096
_WRITES = os.O_WRONLY | os.O_RDWR
_MAKES = {"os.mkdir": 1, "os.rmdir": 1, "os.remove": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2}
_PASSED_THROUGH = ("/os.py", "/_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")


class Observer:
    """What was seen, as pairs of what was done and to what.

    `read`: a file. `list`: a folder. `change`: a file that was there. `make`: something was made, removed or
    renamed at this path. `run`: a program, by its path. `fork`, `shm`: asked for at all. `env`, `secret`: a name.
    `relative`: a path that was given without its folder, and so means the working directory.

    Args:
        folder: the pack's own package folder; only its code's look at variables counts.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip("/") + "/"
        self._seen: dict[tuple[str, str], None] = {}

    def install(self) -> None:
        """Watch from now on; there is no way back."""
        sys.addaudithook(self._heard)
        self._watch(os._Environ, "env")
        self._watch(Secrets, "secret")

    def report(self) -> bytes:
        """Everything seen so far, as JSON."""
        shared = ("multiprocessing.synchronize", "multiprocessing.shared_memory")
        if any(name in sys.modules for name in shared):
            self._note("shm", "")
        return json.dumps(list(self._seen)).encode("utf-8", "backslashreplace")

    def _note(self, kind: str, what: str) -> None:
        if len(self._seen) < MOST:
            self._seen[kind, what[:_LENGTH]] = None

    def _watch(self, mapping: Any, kind: str) -> None:
        original: Callable[[Any, Any], Any] = mapping.__getitem__
        observer = self

        def __getitem__(self: Any, name: Any) -> Any:
            if isinstance(name, str) and observer._is_asked_by_the_pack():
                observer._note(kind, name)
            return original(self, name)

        mapping.__getitem__ = __getitem__

    def _is_asked_by_the_pack(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.endswith(_PASSED_THROUGH) and frame.f_back:
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self._folder)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        try:
            self._judge(event, arguments)
        except Exception:
            return

    def _judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(arguments[0], arguments[2])
        elif event in _MAKES:
            for path in arguments[: _MAKES[event]]:
                self._at("make", path)
        elif event == "os.truncate":
            self._at("change", arguments[0])
        elif event in ("os.listdir", "os.scandir"):
            self._at("list", "." if arguments[0] is None else arguments[0])
        elif event == "sqlite3.connect":
            self._base(arguments[0])
        elif event == "ctypes.dlopen" and isinstance(arguments[0], str) and "/" in arguments[0]:
            self._at("read", arguments[0])
        elif event == "os.fork":
            self._note("fork", "")
        elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
            self._ran(arguments[0] or arguments[1][0])
        elif event == "os.system":
            self._ran("/bin/sh")

    def _opened(self, path: Any, flags: Any) -> None:
        if not isinstance(flags, int) or not flags & (_WRITES | os.O_CREAT | os.O_TRUNC):
            self._at("list" if not isinstance(path, int) and os.path.isdir(path) else "read", path)
        elif isinstance(path, int) or os.path.exists(path):
            self._at("change", path)
            if flags & os.O_RDWR:
                self._at("read", path)
        else:
            self._at("make", path)

    def _base(self, name: Any) -> None:
        """SQLite makes a journal beside a database."""
        text = os.fsdecode(name)
        path, _, options = text.removeprefix("file:").partition("?") if text.startswith("file:") else (text, "", "")
        if path and path != ":memory:":
            self._at("read" if "mode=ro" in options else "make", path)

    def _ran(self, program: Any) -> None:
        name = os.fsdecode(program)
        found = name if "/" in name else shutil.which(name) or name
        self._note("run", os.path.realpath(found) if "/" in found else found)

    def _at(self, kind: str, path: Any) -> None:
        if not isinstance(path, int):
            text = os.fsdecode(path)
            self._note(kind, os.path.abspath(text))
            if not os.path.isabs(text):
                self._note("relative", os.path.abspath(text))
