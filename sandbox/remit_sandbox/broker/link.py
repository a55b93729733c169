"""The broker's end of one cell's socket: what was read, what waits to be sent, and how fast."""

from __future__ import annotations

import array
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from remit_sandbox.broker.events import NetworkEvent
from remit_sandbox.broker.matching import NetRights
from remit_sandbox.broker.wire import FrameBuffer, Request, pack_frame, read_request
from remit_sandbox.errors import ProtocolError

MAX_PENDING = 16
"""Requests of one cell that are served at a time; more of them wait in the cell's socket."""

REQUESTS_PER_SECOND = 200.0
"""How fast one cell is served in the long run; `BURST` may come at once, the rest waits."""

BURST = 400.0

REFUSAL_COST = 5.0
"""How many requests a refused one counts as: each is an entry of the host's log."""

_SEND_BUFFER = 16 * 1024  # small: descriptors on their way count against the host


class Link:
    """One cell on the broker. Used by the broker's thread only, but for its construction.

    A cell that asks too much or does not read its answers is not read from until it is in
    bounds again, so that it can hold up nobody but itself.

    Attributes:
        pack: name of the pack.
        rights: what the cell may reach.
        pending: requests taken and not yet both answered and over.
        mask: what the broker's selector watches for, kept by the broker.
    """

    def __init__(
        self,
        sock: socket.socket,
        pack: str,
        rights: NetRights,
        on_event: Callable[[NetworkEvent], None] | None,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self.sock = sock
        self.pack = pack
        self.rights = rights
        self.pending = 0
        self.mask = 0
        self.closed = False
        self._on_event = on_event
        self._incoming = FrameBuffer()
        self._outgoing: deque[tuple[bytes, socket.socket | None]] = deque()
        self._tokens = BURST
        self._filled_at = time.monotonic()

    @property
    def sending(self) -> bool:
        """Whether something waits until the cell reads."""
        return bool(self._outgoing)

    def ready_in(self) -> float | None:
        """Seconds until another request may be taken; 0 for now, None while it is full."""
        if self.pending >= MAX_PENDING or self._outgoing:
            return None
        now = time.monotonic()
        self._tokens = min(BURST, self._tokens + (now - self._filled_at) * REQUESTS_PER_SECOND)
        self._filled_at = now
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / REQUESTS_PER_SECOND

    def read(self) -> None:
        """Takes in what the cell sent; raises ProtocolError or OSError at its end."""
        try:
            data = self.sock.recv(4096)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionError("the cell has closed its broker socket")
        self._incoming.feed(data)

    def requests(self) -> Iterator[Request]:
        """The requests that may be served now; raises ProtocolError when the cell breaks the protocol."""
        frames = self._incoming.frames()
        while self.ready_in() == 0.0:
            frame = next(frames, None)
            if frame is None:
                return
            request = read_request(frame)
            self._tokens -= 1.0
            self.pending += 1
            yield request

    def charge_refusal(self) -> None:
        """Counts a request that the grants refused for more than one."""
        self._tokens -= REFUSAL_COST - 1.0

    def answer(self, body: Mapping[str, Any], connection: socket.socket | None = None) -> None:
        """Sends an answer, with the descriptor of `connection` and then closes that; raises OSError."""
        self._outgoing.append((pack_frame(body), connection))
        self.flush()

    def flush(self) -> None:
        """Sends what waits, as far as the cell reads; raises OSError when the cell has gone."""
        while self._outgoing:
            data, connection = self._outgoing[0]
            try:
                sent = self._send(data, connection)
            except BlockingIOError:
                return
            if connection is not None:
                connection.close()
            self._outgoing.popleft()
            if sent < len(data):
                self._outgoing.appendleft((data[sent:], None))

    def _send(self, data: bytes, connection: socket.socket | None) -> int:
        if connection is None:
            return self.sock.send(data)
        rights = array.array("i", [connection.fileno()])
        return self.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])

    def report(self, host: str, port: int, allowed: bool, reason: str, missing: str = "") -> None:
        """Tells the host. What its callback raises is the callback's affair, not the other cells'."""
        if self._on_event is None:
            return
        event = NetworkEvent(pack=self.pack, host=host, port=port, allowed=allowed, reason=reason, missing=missing)
        try:
            self._on_event(event)
        except Exception:
            return

    def report_breach(self, error: ProtocolError) -> None:
        """Tells the host that the cell broke the protocol; it loses its network by that."""
        self.report("", 0, False, f"pack {self.pack} broke the network protocol and lost the network: {error}")

    def close(self) -> None:
        """Closes the socket and every connection that was not passed on; idempotent."""
        self.closed = True
        self.sock.close()
        for _, connection in self._outgoing:
            if connection is not None:
                connection.close()
        self._outgoing.clear()
