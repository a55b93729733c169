"""One process at a time installs or removes packs, and with it the pip that it started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from remit.state_folder import private_folder, state_root

_held: list[int] = []


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process of this person installs or removes packs.

    A pip that outlives the process that started it still has the turn, since it holds the same open file. Where the
    system has no such locks (Windows) nothing is waited for.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (private_folder(state_root()) / "installing.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.append(file.fileno())
        try:
            yield
        finally:
            _held.remove(file.fileno())


def descriptors() -> tuple[int, ...]:
    """Return what a program that is started meanwhile must inherit to hold the turn; nothing without a turn."""
    return tuple(_held) if os.name == "posix" else ()
