"""Judging a request, resolving its name once, and connecting to exactly what came of it."""

from __future__ import annotations

import errno
import socket
import time
from dataclasses import dataclass
from typing import Any

from remit_sandbox.broker.addresses import Kind, kind_of
from remit_sandbox.broker.hosts import BadHost, is_address, normalise_host
from remit_sandbox.broker.matching import NetRights, written

MAX_ADDRESSES = 8
"""How many addresses of a name are tried."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a cell may connect.

    Attributes:
        host: normalised name or address.
        port: TCP port.
        reach: kinds of address that are allowed.
    """

    host: str
    port: int
    reach: frozenset[Kind]


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Why there is no connection.

    Attributes:
        host: normalised, or escaped where it is no valid host.
        port: TCP port.
        errno: for the cell; negative for the EAI_ codes of name resolution.
        reason: one line of ASCII for the cell and the log.
        allowed: True when the grants allowed it and the network failed.
        missing: the grant that would have allowed it, as a manifest writes it; empty when none would.
    """

    host: str
    port: int
    errno: int
    reason: str
    allowed: bool = False
    missing: str = ""


@dataclass(frozen=True, kw_only=True)
class Connected:
    """A connection to pass on, and where it leads: address and port."""

    sock: socket.socket
    peer: tuple[str, int]

    def close(self) -> None:
        """Closes the host's descriptor; the cell's own, once passed on, stays open."""
        self.sock.close()


def judge(pack: str, host: str, port: int, rights: NetRights) -> Target | Refused:
    """Matches a request against the grants, by name, before anything is resolved."""
    try:
        name = normalise_host(host)
        if not 1 <= port <= 65535:
            raise BadHost(f"{port} is no TCP port")
    except BadHost as error:
        shown = ascii(host[:80])[1:-1]
        return _refuse(pack, shown, port, f"{error}")
    if not rights.allows(name, port):
        missing = f'net = ["{written(name, port)}"]'
        return _refuse(pack, name, port, f"no grant covers it (missing: {missing})", missing)
    return Target(host=name, port=port, reach=_reach(name, port, rights))


def _reach(host: str, port: int, rights: NetRights) -> frozenset[Kind]:
    grant = rights.private_by(host, port)
    if grant is None:
        return frozenset({"public"})
    exact = is_address(host) and grant.host == host
    return frozenset({"public", "private", "sensitive"} if exact else {"public", "private"})


def _refuse(pack: str, host: str, port: int, why: str, missing: str = "") -> Refused:
    reason = f"pack {pack} may not connect to {written(host, port)}: {why}"
    return Refused(host=host, port=port, errno=errno.EACCES, reason=reason, missing=missing)


def dial(pack: str, target: Target, deadline: float) -> Connected | Refused:
    """Resolves once and connects; blocks until `deadline` (monotonic seconds), the resolver longer.

    The socket is blocking and connected to an address that was judged, never to a name. Where a
    name has several addresses, only those that the rights reach are tried.
    """
    try:
        found = _resolve(target)
    except (OSError, UnicodeError) as error:
        code = -abs(error.errno or 0) if isinstance(error, socket.gaierror) else errno.EHOSTUNREACH
        return _failed(target, code, f"the name cannot be resolved ({error.__class__.__name__})")
    fitting = [entry for entry in found if kind_of(entry[4][0]) in target.reach]
    if not fitting:
        missing = f'"{written(target.host, target.port)}" granted as private'
        return _refuse(pack, target.host, target.port, f"{_why_not(target, found)} (missing: {missing})", missing)
    return _connect_any(target, fitting[:MAX_ADDRESSES], deadline)


def _resolve(target: Target) -> list[Any]:
    flags = socket.AI_NUMERICHOST if is_address(target.host) else 0
    return socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, flags=flags)


def _why_not(target: Target, found: list[Any]) -> str:
    what = "it is no public address"
    if not is_address(target.host):
        what = f"it leads to {found[0][4][0] if found else 'nothing'}, which is no public address"
    return what


def _failed(target: Target, code: int, why: str) -> Refused:
    reason = f"no connection to {written(target.host, target.port)}: {why}"
    return Refused(host=target.host, port=target.port, errno=code, reason=reason, allowed=True)


def _connect_any(target: Target, entries: list[Any], deadline: float) -> Connected | Refused:
    error: OSError = TimeoutError(errno.ETIMEDOUT, "timed out")
    for index, (family, kind, proto, _, address) in enumerate(entries):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            sock = _connect(family, kind, proto, address, left / (len(entries) - index))
            return Connected(sock=sock, peer=address[:2])
        except OSError as failure:
            error = failure
    code = errno.ETIMEDOUT if isinstance(error, TimeoutError) else error.errno or errno.EHOSTUNREACH
    return _failed(target, code, (error.strerror or "timed out").lower())


def _connect(family: int, kind: int, proto: int, address: Any, timeout: float) -> socket.socket:
    sock = socket.socket(family, kind, proto)
    try:
        sock.settimeout(timeout)
        sock.connect(address)
        if sock.getsockname() == sock.getpeername():  # TCP can connect a free local port to itself
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return sock
