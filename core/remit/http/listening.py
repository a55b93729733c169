"""The socket that `remit serve` listens at."""

from __future__ import annotations

import socket

from remit.errors import UsageError
from remit.http.rate import is_loopback

_BACKLOG = 128
"""Connections that may wait to be taken."""


def listen(host: str, port: int, *, others: bool) -> socket.socket:
    """Return a socket that listens.

    Its protocol is named (`IPPROTO_TCP`): else asyncio leaves Nagle's algorithm on, and each answer takes 40 ms more.

    Args:
        host: name or address.
        port: 0 for a free one.
        others: other machines may reach it.

    Raises:
        UsageError: it cannot be had, or other machines could reach it and may not.
    """
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port {port}: a port is a number up to 65535", remedy="--port 8080")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise UsageError(f"--host {host[:100]}: {error.strerror or error}", remedy="--host 127.0.0.1") from None
    family, kind, _, _, address = found[0]
    if not others and not is_loopback(str(address[0])):
        raise UsageError(
            f"{host} can be reached by other machines, and there are no tokens",
            remedy="remit serve token add NAME, or leave --host out",
        )
    listening = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise UsageError(f"port {port} of {host} cannot be had: {error.strerror or error}", remedy="--port 0") from None
    return listening


def url(host: str, listening: socket.socket) -> str:
    """Return where a person finds it."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"
