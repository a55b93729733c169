"""SIGTERM of a command that runs a model: it ends as by Ctrl-C, with the session saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from remit.cli import screen

EXIT_CODE = 128 + signal.SIGTERM
"""What a shell shows of a program that SIGTERM ended."""

_CAME: list[int] = []


def terminated() -> bool:
    """Tell whether it was SIGTERM that interrupted the block, and not Ctrl-C: then nothing goes on after it."""
    return bool(_CAME)


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does; the program then exits with `EXIT_CODE`.

    Where a program that calls this has an answer to SIGTERM of its own, or in another thread than the main one, nothing
    is changed.
    """
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not own:
        yield
        return
    _CAME.clear()

    def interrupt(number: int, frame: FrameType | None) -> None:
        _CAME.append(number)
        if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL, None):
            raise KeyboardInterrupt  # a program in the background may have been started without SIGINT
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if terminated():
            _end()
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end() -> NoReturn:
    screen.warn("ended by SIGTERM")
    raise SystemExit(EXIT_CODE)
