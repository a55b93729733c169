"""The host's end of the connection to a cell: one request at a time, blocking or in asyncio, over one protocol."""

from __future__ import annotations

import math
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

from remit_sandbox.frames import Exchange, FrameReader, Message

Progress = Callable[[str], None]

_BUFFER = 1024 * 1024
_JOINED = 64 * 1024
_READS_IN_A_ROW = 8
_NUMBER = 6
_NUMBERS = 64 * _NUMBER


def pair(patience: float | None = None) -> tuple[socket.socket, socket.socket]:
    """The two ends between a host and a cell.

    Args:
        patience: seconds that a cell waits for its next request, after which it ends by itself: the host may
            be a program that never asks again, and no thread of it keeps watch.
    """
    ours, theirs = socket.socketpair()
    if patience is not None:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", *_seconds(patience)))
    for end in (ours, theirs):
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
    return ours, theirs


class Connection:
    """Sends requests and waits for their answers. What comes in is hostile.

    Args:
        connected: the host's end; the connection owns it from now on.
        limit: longest frame that is taken, in bytes.
    """

    __slots__ = ("_numbers", "_poll", "_reader", "_socket")

    def __init__(self, connected: socket.socket, limit: int) -> None:
        self._socket = connected
        self._socket.setblocking(False)
        self._reader = FrameReader(limit)
        self._numbers = b""
        self._poll = select.poll()
        self._poll.register(connected, select.POLLIN)

    @property
    def quiet(self) -> bool:
        """Whether the peer still lives and has said nothing unasked, at the cost of one system call."""
        return not self._reader.pending and not self._poll.poll(0)

    def begin(self, request: Mapping[str, Any]) -> Exchange:
        """A request to `drive`, with a number that the cell cannot know before it is asked.

        Raises:
            ProtocolError: when the request cannot be sent, or bytes came before it.
        """
        numbers = self._numbers or os.urandom(_NUMBERS)
        self._numbers = numbers[_NUMBER:]
        return Exchange(self._reader, request, int.from_bytes(numbers[:_NUMBER], "big") | 1)

    def drive(self, exchange: Exchange, deadline: float, on_progress: Progress | None) -> Message:
        """Send a request and wait for its answer, blocking.

        Raises:
            TimeoutError: no answer before the deadline, on the monotonic clock.
            EOFError, OSError: the peer is gone.
            ProtocolError: it broke the protocol.
        """
        self._send(exchange.outgoing, deadline)
        while True:
            answer = exchange.feed(self._receive(exchange.wanted(), deadline))
            if exchange.progress:
                _tell(exchange, on_progress)
            if answer is not None:
                return answer

    async def adrive(self, exchange: Exchange, on_progress: Progress | None) -> Message:
        """The same in asyncio, without a deadline.

        Raises:
            EOFError, OSError, ProtocolError: as `drive`.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        for part in _parts(exchange.outgoing):
            await loop.sock_sendall(self._socket, part)
        reads = 0
        while True:
            data = await loop.sock_recv(self._socket, exchange.wanted())
            if not data:
                raise EOFError
            answer = exchange.feed(data)
            if exchange.progress:
                _tell(exchange, on_progress)
            if answer is not None:
                return answer
            reads += 1
            if reads % _READS_IN_A_ROW == 0:
                await asyncio.sleep(0)  # reading what is there already never yields: a flood would hold the loop

    def first(self, deadline: float) -> Message:
        """The one message that comes unasked: from the supervisor's own code, before the pack's.

        Raises:
            TimeoutError, EOFError, OSError, ProtocolError: as `drive`.
        """
        while True:
            if (message := self._reader.feed(self._receive(4096, deadline))) is not None:
                return message

    def close(self) -> None:
        """Let go of it. May be called again."""
        self._socket.close()

    def shut(self) -> None:
        """Have whoever waits on it return; `close` comes later."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _send(self, outgoing: tuple[bytes, bytes], deadline: float) -> None:
        for part in _parts(outgoing):
            try:
                sent = self._socket.send(part)
            except BlockingIOError:
                sent = 0
            left = memoryview(part)[sent:] if sent < len(part) else b""
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except BlockingIOError:
                    self._await_room(deadline)

    def _await_room(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        if not poll.poll(_milliseconds(deadline)):
            raise TimeoutError

    def _receive(self, size: int, deadline: float) -> bytes:
        milliseconds = _milliseconds(deadline)
        # With a flood there is always something to read: it must not outlast the deadline.
        if not self._poll.poll(milliseconds) or not milliseconds:
            raise TimeoutError
        data = self._socket.recv(size)
        if not data:
            raise EOFError
        return data


def _parts(outgoing: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    header, body = outgoing
    return (header + body,) if len(body) < _JOINED else outgoing


def _seconds(length: float) -> tuple[int, int]:
    """Whole seconds and microseconds, as the kernel wants them; never zero, which would mean for ever."""
    return int(length), int(length % 1 * 1_000_000) or 1


def _milliseconds(deadline: float) -> int:
    left = math.ceil((deadline - time.monotonic()) * 1000)
    return left if left > 0 else 0


def _tell(exchange: Exchange, on_progress: Progress | None) -> None:
    texts, exchange.progress = exchange.progress, []
    if on_progress is not None:
        for text in texts:
            on_progress(text)
