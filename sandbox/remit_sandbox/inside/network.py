"""Gives the code in a cell its ordinary `socket` module back, on top of the host's broker.

The kernel lets a cell make no socket. `install` changes `socket.socket` and the resolving functions
so that urllib, http.client, requests, httpx, asyncio and `ssl` connect by name through the broker,
without knowing. It is no wall: whoever goes round it meets the kernel's refusal.

Not served, with a clear error: UDP, listening, binding, Unix sockets by name, forked children.
Clients that make sockets in C (grpc, pycurl, uvloop) meet the kernel's refusal.
"""

from __future__ import annotations

import _socket
import errno
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from remit_sandbox.inside.network_client import BrokerClient
from remit_sandbox.inside.network_names import Names
from remit_sandbox.inside.network_resolver import Resolver
from remit_sandbox.inside.network_sockets import Attempt, Table, Unconnected

_GRACE = 5.0
"""Seconds that a client with a timeout waits for the broker beyond it."""

_CONNECTED: tuple[str, ...] = ("getpeername", "shutdown", "send", "sendall", "sendmsg")
_CONNECTED += ("recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "recvmsg_into")
"""Methods that need a connection."""

_TYPE_FLAGS = getattr(socket, "SOCK_NONBLOCK", 0) | getattr(socket, "SOCK_CLOEXEC", 0)

_base = _socket.socket


def install(broker_fd: int | None) -> None:
    """Changes `socket` for this process; call it once, before the pack is imported.

    Args:
        broker_fd: descriptor of the socket to the host's broker, owned from here on; None when
            the skill has no right to use the network: each attempt is then refused with that reason.
    """
    names, client = Names(), BrokerClient(broker_fd)
    _Sockets(Table(), names, client).install()
    resolver = Resolver(names, client.check)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        setattr(socket, name, getattr(resolver, name))


class _Sockets:
    """The methods that replace those of `socket.socket`."""

    def __init__(self, table: Table, names: Names, client: BrokerClient) -> None:
        self._table = table
        self._names = names
        self._client = client

    def install(self) -> None:
        replaced: dict[str, Callable[..., Any]] = {
            "__init__": self._init(),
            "_real_close": self._real_close(),
            "connect": lambda sock, address: self.connect(sock, address),
            "connect_ex": lambda sock, address: self.connect_ex(sock, address),
            "getsockopt": lambda sock, level, name, *size: self.getsockopt(sock, level, name, *size),
            "setsockopt": lambda sock, level, name, *value: self.setsockopt(sock, level, name, *value),
            "getsockname": lambda sock: self.getsockname(sock),
            "bind": lambda sock, address: _no_right("bind an address or listen"),
            "listen": lambda sock, backlog=0: _no_right("listen for connections"),
        }
        for name in _CONNECTED:
            replaced[name] = self._after_settling(name)
        for name, function in replaced.items():
            function.__name__ = name
            function.__qualname__ = f"socket.{name}"
            setattr(socket.socket, name, function)

    def _init(self) -> Callable[..., None]:
        original = socket.socket.__init__
        table = self._table

        def __init__(
            sock: socket.socket,
            family: int = -1,
            type: int = -1,  # noqa: A002 (the name callers pass it by)
            proto: int = -1,
            fileno: int | None = None,
        ) -> None:
            if fileno is not None:
                original(sock, family, type, proto, fileno)
                return
            family = socket.AF_INET if family == -1 else family
            kind = socket.SOCK_STREAM if type == -1 else type & ~_TYPE_FLAGS
            _check_kind(family, kind)
            descriptor = table.make(family)
            original(sock, family, kind, max(proto, 0), descriptor)

        return __init__

    def _real_close(self) -> Callable[[socket.socket], None]:
        original: Callable[[socket.socket], None] = socket.socket._real_close  # type: ignore[attr-defined]
        table = self._table

        def _real_close(sock: socket.socket) -> None:
            table.forget(sock.fileno())
            original(sock)

        return _real_close

    def _after_settling(self, name: str) -> Callable[..., Any]:
        """A method that needs a connection: lays one over first that has become ready."""
        original = getattr(_base, name)

        def method(sock: socket.socket, *arguments: Any) -> Any:
            self._require_connection(sock, name)
            return original(sock, *arguments)

        return method

    def _require_connection(self, sock: socket.socket, name: str) -> None:
        entry = self._table.find(sock.fileno())
        if entry is None:
            return
        if entry.attempt is not None and entry.attempt.answer is not None:
            self._settle(sock, entry)
        elif entry.attempt is None or name in ("getpeername", "shutdown"):
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    def connect(self, sock: socket.socket, address: Any) -> None:
        """As `socket.connect`; a refusal is a PermissionError that names host, port and missing grant."""
        entry = self._table.find(sock.fileno())
        if entry is None:
            _refuse_second(sock)
        host, port = _split(sock, address)
        sys.audit("socket.connect", sock, address)
        if entry.attempt is not None:
            self._connect_again(sock, entry)
            return
        timeout = sock.gettimeout()
        attempt = entry.start(self._client, self._names.name_of(host), port, timeout)
        if timeout == 0.0:
            raise BlockingIOError(errno.EINPROGRESS, os.strerror(errno.EINPROGRESS))
        self._wait(sock, entry, attempt, timeout)

    def _wait(self, sock: socket.socket, entry: Unconnected, attempt: Attempt, timeout: float | None) -> None:
        try:
            answered = attempt.wait(None if timeout is None else timeout + _GRACE)
        except BaseException:
            entry.attempt = None
            attempt.abandon()
            raise
        if not answered:
            entry.attempt = None
            attempt.abandon()
            raise TimeoutError("timed out")
        self._settle(sock, entry)

    def _connect_again(self, sock: socket.socket, entry: Unconnected) -> None:
        if entry.attempt is not None and entry.attempt.answer is None:
            raise BlockingIOError(errno.EALREADY, os.strerror(errno.EALREADY))
        self._settle(sock, entry)

    def _settle(self, sock: socket.socket, entry: Unconnected) -> None:
        descriptor = sock.fileno()
        with self._table.lock:
            if self._table.find(descriptor) is not entry:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            error = entry.settle(sock)
            if error is None:
                self._table.forget(descriptor)
        if error is not None:
            raise error

    def connect_ex(self, sock: socket.socket, address: Any) -> int:
        """As `socket.connect_ex`."""
        try:
            self.connect(sock, address)
        except socket.gaierror:
            raise
        except OSError as error:
            return error.errno or errno.EAGAIN
        return 0

    def getsockopt(self, sock: socket.socket, level: int, name: int, *size: int) -> int | bytes:
        """As `socket.getsockopt`; raises what went wrong for SO_ERROR, so that the reason is not lost."""
        entry = self._table.find(sock.fileno())
        if entry is not None and (level, name) == (socket.SOL_SOCKET, socket.SO_ERROR):
            if entry.attempt is not None and entry.attempt.answer is not None:
                self._settle(sock, entry)
            return 0
        if entry is not None and (level, name) in entry.options:
            value = entry.options[level, name][0]
            return value if isinstance(value, int) else bytes(value or b"")
        if entry is not None and level != socket.SOL_SOCKET:
            return b"" if size else 0
        return _base.getsockopt(sock, level, name, *size)

    def setsockopt(self, sock: socket.socket, level: int, name: int, *value: Any) -> None:
        """As `socket.setsockopt`; remembered until there is a connection to set it on."""
        entry = self._table.find(sock.fileno())
        if entry is None:
            _base.setsockopt(sock, level, name, *value)
        else:
            entry.options[level, name] = value

    def getsockname(self, sock: socket.socket) -> Any:
        """As `socket.getsockname`: the unspecified address before there is a connection."""
        entry = self._table.find(sock.fileno())
        if entry is None:
            return _base.getsockname(sock)
        return ("0.0.0.0", 0) if entry.family == socket.AF_INET else ("::", 0, 0, 0)


def _check_kind(family: int, kind: int) -> None:
    if family not in (socket.AF_INET, socket.AF_INET6):
        _no_right(f"open sockets of family {family}")
    if kind != socket.SOCK_STREAM:
        _no_right("use UDP or raw sockets")


def _no_right(what: str) -> NoReturn:
    reason = f"this skill has no right to {what}; it may open TCP connections to granted hosts only"
    raise PermissionError(errno.EACCES, reason)


def _refuse_second(sock: socket.socket) -> NoReturn:
    if sock.fileno() < 0:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        _no_right("connect Unix sockets")
    raise OSError(errno.EISCONN, os.strerror(errno.EISCONN))


def _split(sock: socket.socket, address: Any) -> tuple[str, int]:
    """Host and port of an address, with the errors of `socket.connect`."""
    if not isinstance(address, tuple) or len(address) < 2:
        raise TypeError(f"connect(): an address is a tuple (host, port), not {type(address).__name__}")
    host, port = address[0], address[1]
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii")
    if not isinstance(host, str) or not isinstance(port, int):
        raise TypeError("connect(): an address is a tuple of a host as text and a port as an integer")
    if not 0 <= port <= 65535:
        raise OverflowError("connect(): port must be 0-65535.")
    return host or "0.0.0.0", port
