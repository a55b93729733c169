"""The cell's end of the broker socket: requests from any thread, answers by one reader."""

from __future__ import annotations

import _socket
import array
import errno
import itertools
import os
import queue
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from remit_sandbox.broker.wire import MAX_FRAME, pack_frame, unpack_body
from remit_sandbox.errors import ProtocolError
from remit_sandbox.inside.refusals import note

_LENGTH = struct.Struct(">I")
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_NO_RIGHT = "it has no right to use the network"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What became of a request: a connected descriptor, or an error number and its reason."""

    descriptor: int | None = None
    errno: int = 0
    reason: str = ""

    def error(self) -> OSError:
        """The exception that a client sees."""
        if self.errno < 0:
            return socket.gaierror(self.errno, self.reason)
        return OSError(self.errno, self.reason)


class BrokerClient:
    """Asks the host's broker for connections. Thread-safe; its reader starts with the first request.

    A forked child of the cell has no network: two readers on one socket would take each
    other's answers.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._sock: _socket.socket | None = None
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
            self._sock = _socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor)
            self._sock.settimeout(None)
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Callable[[Answer], None]] = {}
        self._reader: threading.Thread | None = None

    def connect(self, host: str, port: int, timeout: float | None, done: Callable[[Answer], None]) -> None:
        """Asks for a connection; `done` gets the answer, from the reader's thread or at once."""
        self._request({"op": "connect", "host": host, "port": port, "timeout": timeout}, done)

    def check(self, host: str, port: int) -> None:
        """Asks whether a grant covers host and port.

        Raises:
            PermissionError: none does; the message names host, port and the missing grant.
            OSError: the broker has gone.
        """
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._request({"op": "check", "host": host, "port": port}, answers.put)
        answer = answers.get()
        if answer.errno:
            raise answer.error()

    def _request(self, body: dict[str, Any], done: Callable[[Answer], None]) -> None:
        if self._sock is None or os.getpid() != self._owner:
            done(self._refusal(body["host"], body["port"]))
            return
        number = next(self._numbers)
        try:
            frame = pack_frame(body | {"id": number})
        except ValueError:  # lone surrogates
            frame = b""
        if not frame or len(frame) > MAX_FRAME:
            done(Answer(errno=errno.EACCES, reason=f"{body['host'][:80]!a} is no valid host name"))
            return
        with self._lock:
            self._waiting[number] = done
            self._ensure_reader()
        self._send(frame)

    def _refusal(self, host: str, port: int) -> Answer:
        why = _NO_RIGHT if self._sock is None else "a forked process has no network"
        if self._sock is None:
            missing = f'net = ["{host}:{port}"]'
            note("net", f"{host}:{port}", missing)
            why += f" (missing: {missing})"
        return Answer(errno=errno.EACCES, reason=f"this skill may not connect to {host}:{port}: {why}")

    def _send(self, frame: bytes) -> None:
        try:
            with self._sending:  # not the reader's lock: the broker may wait for answers to be read
                if self._sock is not None:
                    self._sock.sendall(frame)
        except OSError:
            self._fail_all()

    def _ensure_reader(self) -> None:
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, name="remit-network", daemon=True)
            self._reader.start()

    def _read(self) -> None:
        try:
            while True:
                self._dispatch(*self._receive())
        except (OSError, ProtocolError):
            self._fail_all()

    def _receive(self) -> tuple[Mapping[str, Any], list[int]]:
        descriptors: list[int] = []
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size, descriptors))
        return unpack_body(self._take(length, descriptors)), descriptors

    def _take(self, size: int, descriptors: list[int]) -> bytes:
        data = b""
        while self._sock is not None and len(data) < size:
            space = _socket.CMSG_SPACE(array.array("i").itemsize)
            part, ancillary, _, _ = self._sock.recvmsg(size - len(data), space, _CLOSE_ON_EXEC)
            if not part:
                raise ConnectionError("the broker has closed the socket")
            data += part
            for _, _, payload in ancillary:
                descriptors.extend(array.array("i", payload[: len(payload) // 4 * 4]))
        return data

    def _dispatch(self, frame: Mapping[str, Any], descriptors: list[int]) -> None:
        with self._lock:
            done = self._waiting.pop(frame.get("id", 0), None)
        answer = _read_answer(frame, descriptors)
        if done is not None:
            done(answer)
        elif answer.descriptor is not None:
            os.close(answer.descriptor)

    def _fail_all(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for done in waiting.values():
            done(Answer(errno=errno.ENETDOWN, reason="the network of this skill has ended"))


def _read_answer(frame: Mapping[str, Any], descriptors: list[int]) -> Answer:
    if frame.get("op") == "covered":
        return Answer()
    if frame.get("op") != "connected":
        return Answer(errno=frame.get("errno", errno.EIO), reason=frame.get("reason", "refused"))
    if not descriptors:
        return Answer(errno=errno.EMFILE, reason="too many open files in this skill")
    return Answer(descriptor=descriptors[0])
