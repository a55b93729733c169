"""Lets the sandboxes of one process use one supervisor after another's end: starting one takes a third of a second.

What is lent is a real supervisor with real cells. A sandbox that is closed ends its cells, whose folders are removed;
the supervisor then serves the next sandbox as it would serve its own next session. Tests of how supervisors start, end
and die have their own (`tests/conftest.py`).
"""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from remit_sandbox.errors import SupervisorError
from remit_sandbox.frames import Message
from remit_sandbox.supervisor import client as real
from remit_sandbox.supervisor import orders

_shelf: list[tuple[tuple[Any, ...], real.Client]] = []
_owner = os.getpid()
_lock = threading.Lock()
_Client = real.Client


class LentClient:
    """What a sandbox sees of a supervisor, until it stops it."""

    def __init__(self, *, highest_abi: int) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._pids: set[int] = set()
        self._key = _key(highest_abi)
        self._client = _take(self._key) or _Client(highest_abi=highest_abi)
        self.base, self.missing, self._process = self._client.base, self._client.missing, self._client._process

    @property
    def broken(self) -> bool:
        """Whether it was stopped, or its supervisor is gone."""
        return self._stopped or self._client.broken

    def order(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> Message:
        """As `Client.order`."""
        with self._lock:
            if self._stopped:
                raise SupervisorError("the supervisor is gone")
            answer = self._client.order(message, descriptors)
            if message["op"] == "spawn":
                self._pids.add(answer["pid"])
            elif message["op"] == "end":
                self._pids.discard(message["pid"])
            return answer

    def stop(self) -> None:
        """End every cell of this sandbox; the supervisor serves the next one."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        with suppress(SupervisorError):
            for pid in self._pids:
                self._client.order(orders.end(pid))
        if self._client.broken:
            self._client.stop()
        else:
            _put(self._key, self._client)

    def abandon(self, pids: Sequence[int]) -> None:
        """As `Client.abandon`."""
        self._stopped = True
        self._client.abandon(pids)

    def forget(self) -> None:
        """As `Client.forget`."""
        self._stopped = True
        self._client.forget()


@contextmanager
def lending() -> Iterator[None]:
    """Sandboxes that are used meanwhile are lent their supervisors."""
    with mock.patch.object(real, "Client", LentClient):
        yield


def _key(highest_abi: int) -> tuple[Any, ...]:
    """All that a supervisor gets from its host when it starts."""
    settings = (highest_abi, os.path.realpath(tempfile.gettempdir()), real.python_program(), *real.site_folders())
    return (settings, real._environment())


def _take(key: tuple[Any, ...]) -> real.Client | None:
    with _lock:
        _let_go_in_a_fork()
        for place, (made, client) in enumerate(_shelf):
            if made == key:
                del _shelf[place]
                return None if client.broken else client
    return None


def _put(key: tuple[Any, ...], client: real.Client) -> None:
    with _lock:
        _shelf.append((key, client))


def _let_go_in_a_fork() -> None:
    """What is on the shelf belongs to the parent."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        for _, client in _shelf:
            client.forget()
        _shelf.clear()


@atexit.register
def _end_all() -> None:
    if _owner == os.getpid():
        for _, client in _shelf:
            client.stop()
        _shelf.clear()
