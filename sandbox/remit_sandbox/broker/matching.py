"""Grants for the network, and which of them covers a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit_sandbox.broker.hosts import BadHost, is_address, normalise_host


@dataclass(frozen=True, kw_only=True)
class NetGrant:
    """One grant: `host:port`, `*.host:port` (every name below host, not host itself), `*:port` or `*:*`.

    Attributes:
        host: normalised; with a leading `.` for every name below it, empty for any host.
        port: TCP port, 0 for any.
    """

    host: str
    port: int

    def covers(self, host: str, port: int) -> bool:
        """Whether a normalised host and port fall under this grant."""
        if self.port not in (0, port):
            return False
        if self.host.startswith("."):
            return host.endswith(self.host) and not is_address(host)
        return self.host in ("", host)


@dataclass(frozen=True, kw_only=True)
class NetRights:
    """What one cell may reach.

    Attributes:
        allow: the grants.
        private: those of them that reach non-public addresses as well.
    """

    allow: tuple[NetGrant, ...]
    private: tuple[NetGrant, ...]

    @classmethod
    def read(cls, allow: Sequence[str], private: Sequence[str]) -> NetRights:
        """Reads grants as written; raises ValueError that names the one that cannot be read."""
        return cls(allow=tuple(map(read_grant, allow)), private=tuple(map(read_grant, private)))

    def allows(self, host: str, port: int) -> bool:
        """Whether a grant covers the normalised host and port."""
        return any(grant.covers(host, port) for grant in self.allow)

    def private_by(self, host: str, port: int) -> NetGrant | None:
        """The grant that lets the host be a non-public address, the one for exactly it first."""
        found = [grant for grant in self.private if grant.covers(host, port)]
        return min(found, key=lambda grant: grant.host != host, default=None)


def read_grant(text: str) -> NetGrant:
    """Reads `host:port`, `*.host:port`, `*:port`, `[ipv6]:port` or `*:*`; raises ValueError with the reason.

    Only `*:*`, everything, has no port: for watching code of one's own. No manifest and no grant can say it.
    """
    if text == "*:*":
        return NetGrant(host="", port=0)
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= 65535):
        raise ValueError(f"network grant {text!a} must end in a port, such as example.org:443")
    if host == "*":
        return NetGrant(host="", port=int(port))
    below = host.startswith("*.")
    try:
        name = normalise_host(host[2:] if below else host)
    except BadHost as error:
        raise ValueError(f"network grant {text!a}: {error}") from error
    if below and is_address(name):
        raise ValueError(f"network grant {text!a}: `*.` stands before a name, not before an address")
    return NetGrant(host=f".{name}" if below else name, port=int(port))


def written(host: str, port: int) -> str:
    """A normalised host and port as a grant writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
