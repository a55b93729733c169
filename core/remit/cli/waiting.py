"""A moving sign on a terminal, so that nobody takes a long wait for a hang."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from remit.cli import screen

FRAMES = "|/-\\"
PATIENCE = 1.0
"""Seconds of silence after which a terminal is shown that something goes on."""


class Waiting:
    """A moving sign on standard error while nothing else is written; nothing at all where `moving` is false."""

    def __init__(self, *, moving: bool) -> None:
        self._moving = moving
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, what: str) -> None:
        """Begin to wait for `what`."""
        self.stop()
        if not self._moving:
            return
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._turn, args=(what, self._over), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Wait no longer; the line is clear again."""
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    @staticmethod
    def _turn(what: str, over: threading.Event) -> None:
        began, shown = time.monotonic(), False
        while not over.wait(0.15):
            passed = time.monotonic() - began
            if passed >= PATIENCE:
                shown = True
                frame = FRAMES[int(passed * 6) % len(FRAMES)]
                sys.stderr.write(f"\r{frame} {what} {passed:.0f} s ")
                sys.stderr.flush()
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def waiting(what: str) -> Iterator[Waiting]:
    """Show on a terminal that `what` goes on, as long as the block runs; `stop()` ends it earlier."""
    sign = Waiting(moving=screen.is_terminal(sys.stderr))
    sign.start(what)
    try:
        yield sign
    finally:
        sign.stop()
