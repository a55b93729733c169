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
        copies = ((number, _copy(number)) for number in (0, 1, 2))
        self._kept = [(number, copy, _marked(copy)) for number, copy in copies if copy is not None]
        self._out = _text(1)
        self._err = _text(2)
        self._install()

    def flush(self) -> None:
        """Hand on what was printed, before the answer is sent."""
        ours = sys.stdout is self._out and sys.stderr is self._err
        for stream in (self._out, self._err) if ours else (sys.stdout, sys.stderr, self._out, self._err):
            try:
                stream.flush()
            except BaseException:
                continue

    def restore(self) -> None:
        """Put back what is no longer there; the host need not wait for it."""
        if not self._intact():
            for number, copy, marks in self._kept:
                if _flags(number) != marks and _flags(copy) == marks:
                    with contextlib.suppress(OSError):
                        os.dup2(copy, number)
        if sys.stdin is None or sys.stdin.closed:
            sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))

    def _intact(self) -> bool:
        try:
            for number, _, marks in self._kept:
                if fcntl.fcntl(number, fcntl.F_GETFL) != marks:
                    return False
        except OSError:
            return False
        return True

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


def _marked(number: int) -> int:
    """Set a status flag that means nothing to a pipe or the null device, and tells them from what a pack opens.

    Comparing the flags costs a quarter of comparing what `fstat` says, three times after each call.
    """
    with contextlib.suppress(OSError):
        fcntl.fcntl(number, fcntl.F_SETFL, _flags(number) | os.O_APPEND)
    return _flags(number)


def _flags(number: int) -> int:
    try:
        return fcntl.fcntl(number, fcntl.F_GETFL)
    except OSError:
        return -1
