"""Sockets before they are connected: one end of a socketpair, until a real descriptor is laid over it.

`dup2` over the same number keeps every object that knows the number valid: `SSLSocket`, `makefile`,
event loops. A socket that is being connected without blocking is an end whose buffer is full, so
that a selector reports it as writable when the answer is there, and not before. The descriptor is
laid over when the client asks how the connection went (`SO_ERROR`) or uses the socket: done earlier,
a selector that watches the number would lose it.
"""

from __future__ import annotations

import _socket
import errno
import os
import socket
import threading
from typing import Any

from remit_sandbox.inside.network_client import Answer, BrokerClient


class Attempt:
    """One request to connect, from `connect` until the client learns how it went."""

    def __init__(self, hold: _socket.socket | None) -> None:
        self.answer: Answer | None = None
        self.abandoned = False
        self._hold = hold
        self._lock = threading.Lock()
        self._done = threading.Event()

    def finish(self, answer: Answer) -> None:
        """Takes the answer; makes the placeholder writable. Called by the reader's thread."""
        with self._lock:
            if self.abandoned:
                _close_answer(answer)
                return
            self.answer = answer
            self._done.set()
            if self._hold is not None:
                _drain(self._hold)

    def wait(self, timeout: float | None) -> bool:
        """Waits up to `timeout` seconds for the answer."""
        return self._done.wait(timeout)

    def abandon(self) -> None:
        """Gives up: an answer that comes or came is closed."""
        with self._lock:
            self.abandoned = True
            if self.answer is not None:
                _close_answer(self.answer)
            self.release()

    def release(self) -> None:
        """Closes the far end of a placeholder that was made to wait."""
        if self._hold is not None:
            self._hold.close()


class Unconnected:
    """A TCP socket that has no connection yet: what was set on it, and the attempt under way."""

    def __init__(self, family: int, descriptor: int) -> None:
        self.family = family
        self.options: dict[tuple[int, int], tuple[Any, ...]] = {}
        self.attempt: Attempt | None = None
        self._descriptor = descriptor
        self._inode = os.fstat(descriptor).st_ino

    def is_at(self, descriptor: int) -> bool:
        """Whether the number still means this placeholder, not a file opened later."""
        try:
            return os.fstat(descriptor).st_ino == self._inode
        except OSError:
            return False

    def start(self, client: BrokerClient, host: str, port: int, timeout: float | None) -> Attempt:
        """Asks for a connection; with timeout 0.0 the placeholder turns into one that is not writable."""
        hold = self._make_unwritable() if timeout == 0.0 else None
        self.attempt = Attempt(hold)
        client.connect(host, port, timeout or None, self.attempt.finish)
        return self.attempt

    def settle(self, sock: _socket.socket) -> OSError | None:
        """Lays the connection over the placeholder, or returns what went wrong."""
        attempt, self.attempt = self.attempt, None
        if attempt is None or attempt.answer is None:
            return OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        attempt.release()
        if attempt.answer.descriptor is None:
            return attempt.answer.error()
        os.dup2(attempt.answer.descriptor, sock.fileno(), inheritable=False)
        os.close(attempt.answer.descriptor)
        _socket.socket.settimeout(sock, sock.gettimeout())
        self._apply_options(sock)
        return None

    def _apply_options(self, sock: _socket.socket) -> None:
        for (level, name), value in self.options.items():
            try:
                _socket.socket.setsockopt(sock, level, name, *value)
            except OSError:  # set for a socket of another family or kind
                continue

    def _make_unwritable(self) -> _socket.socket:
        near, hold = _socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        hold.setblocking(False)
        near.setblocking(False)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        try:
            while True:
                near.send(b"\0" * 65536)
        except BlockingIOError:
            os.dup2(near.fileno(), self._descriptor, inheritable=False)
        near.close()
        self._inode = os.fstat(self._descriptor).st_ino
        return hold


class Table:
    """Every unconnected TCP socket of the cell, by descriptor: an `SSLSocket` takes one over by number."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._entries: dict[int, Unconnected] = {}

    def make(self, family: int) -> int:
        """A new placeholder; returns its descriptor, which the caller owns."""
        near, far = _socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        far.close()
        descriptor = near.detach()
        with self.lock:
            self._entries[descriptor] = Unconnected(family, descriptor)
        return descriptor

    def find(self, descriptor: int) -> Unconnected | None:
        """The unconnected socket with that number, None for every other descriptor."""
        entry = self._entries.get(descriptor)
        if entry is None or entry.is_at(descriptor):
            return entry
        self.forget(descriptor)
        return None

    def forget(self, descriptor: int) -> None:
        """The number was closed or is connected now."""
        with self.lock:
            entry = self._entries.pop(descriptor, None)
        if entry is not None and entry.attempt is not None:
            entry.attempt.abandon()


def _drain(sock: _socket.socket) -> None:
    try:
        while sock.recv(65536):
            continue
    except OSError:  # empty, or closed by the client in the meantime
        return


def _close_answer(answer: Answer) -> None:
    if answer.descriptor is not None:
        os.close(answer.descriptor)
