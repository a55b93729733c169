"""The network of a test: what a grant allows leads to servers of the test, and nowhere else."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, Protocol

from remit.errors import UsageError
from remit_sandbox.broker.addresses import Kind
from remit_sandbox.broker.dial import Connected, Refused, Target, dial
from remit_sandbox.broker.jobs import Connect
from remit_sandbox.broker.matching import written


class Server(Protocol):
    """A server that tells its address, as those of `http.server` and `socketserver` do."""

    server_address: Any


Place = str | tuple[str, int] | Server
"""A server of the test: `"127.0.0.1:8000"` or its URL, `("127.0.0.1", 8000)`, or one that tells its address itself."""

_HERE: frozenset[Kind] = frozenset({"public", "private"})
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def only_to(places: Mapping[str, Place]) -> Connect:
    """Return how a broker connects in a test: by this table, or to this machine itself, or not at all.

    Args:
        places: `host:port` as the pack asks for it, to the server that stands in for it.

    Raises:
        UsageError: a place that is none.
    """
    table = {name.lower(): _address(place) for name, place in places.items()}

    def connect(pack: str, target: Target, deadline: float) -> Connected | Refused:
        asked = written(target.host, target.port)
        there = table.get(asked, (target.host, target.port) if target.host in _LOOPBACK else None)
        if there is None:
            reason = f"no connection to {asked}: no server of this test stands in for it (net={{{asked!r}: ...}})"
            return Refused(host=target.host, port=target.port, errno=errno.ECONNREFUSED, reason=reason, allowed=True)
        return dial(pack, Target(host=there[0], port=there[1], reach=_HERE), deadline)

    return connect


def _address(place: Place) -> tuple[str, int]:
    found = getattr(place, "server_address", place)
    if isinstance(found, str):
        host, _, port = found.rpartition("://")[2].rstrip("/").rpartition(":")
        found = (host.strip("[]"), int(port) if port.isdigit() else 0)
    if isinstance(found, tuple | list) and len(found) >= 2 and isinstance(found[1], int) and found[1] > 0:
        host = str(found[0])
        if host and not set(host) & set("/@ "):
            return host, found[1]
    raise UsageError(
        f"{place!r} is no server",
        remedy='write "127.0.0.1:8000" or "http://127.0.0.1:8000", without a path; or give a server of http.server',
    )
