"""The cell's end of the frame protocol: blocking, private, one answer to each request.

Frames are those of `remit_sandbox.frames`. This end trusts the host, and is written for a process whose
other code is hostile or careless.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Mapping
from typing import Any

from remit_sandbox.frames import TO_CELL, FrameReader, encode

_HIGH = 200
"""Descriptor number that the channel moves to, so that a stray `os.close(3)` does not hit it."""


class Channel:
    """Frames over one descriptor, which the channel owns from now on.

    Writes are safe from any thread. Progress is dropped once the request it belongs to is
    answered, so that a thread that a handler left behind cannot break the order of frames. A
    forked child of the cell cannot write: it ends instead.
    """

    __slots__ = ("_active", "_fd", "_lock", "_owner", "_reader")

    def __init__(self, descriptor: int) -> None:
        self._fd = _hide(descriptor)
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._reader = FrameReader(TO_CELL)
        self._active: int | None = None

    def read(self) -> dict[str, Any] | None:
        """Return the next request, or None when the host has gone.

        Raises:
            ProtocolError: the host sent what is no frame.
        """
        message = self._reader.feed(b"") if self._reader.pending else None
        while message is None:
            try:
                chunk = os.read(self._fd, self._reader.wanted())
            except OSError:
                return None
            if not chunk:
                return None
            message = self._reader.feed(chunk)
        return message

    def begin(self, request: int) -> None:
        """Let progress of the request with this id pass until it is answered."""
        self._active = request

    def progress(self, request: int, text: str) -> None:
        """Send one line of progress, unless `request` has been answered."""
        with self._lock:
            if self._active == request:
                self._write({"op": "progress", "id": request, "text": text})

    def answer(self, message: Mapping[str, Any]) -> None:
        """Send the one answer to the request that is being served."""
        with self._lock:
            self._active = None
            self._write(message)

    def _write(self, message: Mapping[str, Any]) -> None:
        if os.getpid() != self._owner:
            os._exit(0)
        header, body = encode(message)
        try:
            sent = os.writev(self._fd, (header, body))
            rest = memoryview(header + body)[sent:] if sent < len(header) + len(body) else b""
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            os._exit(0)


def _hide(descriptor: int) -> int:
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except (OSError, ValueError):
        os.set_inheritable(descriptor, False)
        return descriptor
    with contextlib.suppress(OSError):
        os.close(descriptor)
    return high
