"""Standard streams of a cell: text in UTF-8, flushed before each answer, put back when lost."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import sys
from typing import Any

_HIGH = 200


class Streams:
    """The descriptors 0, 1 and 2 of this process, remembered so that they can be put back.

    A pack may close or replace them; what the next one prints must not land in a file that
    happened to get the number.
    """

    def __init__(self) -> None:
        self._kept = {number: _copy(number) for number in (0, 1, 2)}
        self._out = _text(1)
        self._err = _text(2)
        self._install()

    def settle(self) -> None:
        """Flush what was printed, and put back what is no longer there."""
        for stream in (sys.stdout, sys.stderr, self._out, self._err):
            with contextlib.suppress(BaseException):
                stream.flush()
        for number, copy in self._kept.items():
            if copy is not None and not _same(number, copy):
                with contextlib.suppress(OSError):
                    os.dup2(copy, number)
        if sys.stdin is None or sys.stdin.closed:
            sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))

    def _install(self) -> None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
        sys.stdout = sys.__stdout__ = self._out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._err  # type: ignore[misc]


def _text(number: int) -> io.TextIOWrapper[Any]:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=number == 2)


def _copy(number: int) -> int | None:
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:
        return None


def _same(number: int, copy: int) -> bool:
    try:
        return os.path.samestat(os.fstat(number), os.fstat(copy))
    except OSError:
        return False
