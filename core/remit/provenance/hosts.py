"""URLs and hosts in the form in which two are compared."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from remit_sandbox.broker.hosts import BadHost, normalise_host


@dataclass(frozen=True)
class Place:
    """Where a URL leads.

    Attributes:
        host: in its one form, without a leading `www.`.
        port: as written, None for the usual one.
        path: segments of the path, decoded; empty for the host itself.
        query: what follows `?`.
    """

    host: str
    port: int | None
    path: tuple[str, ...]
    query: str

    def lies_within(self, named: Place) -> bool:
        """Tell whether this place is `named` or lies below it: a host names all of its pages."""
        same_host = self.host == named.host and self.port == named.port
        if not same_host or ".." in self.path:
            return False
        if named.query:
            return self.path == named.path and self.query == named.query
        return self.path[: len(named.path)] == named.path


def place_of(text: str) -> Place | None:
    """Return where a URL, or a host with or without a path, leads; None when that is not clear.

    User names in a URL, backslashes and white space make it unclear.
    """
    whole = text if "://" in text else f"//{text}"
    if "\\" in text or any(letter.isspace() or not letter.isprintable() for letter in text):
        return None
    try:
        parts = urlsplit(whole)
        port, host = parts.port, parts.hostname
    except ValueError:
        return None
    if not host or "@" in parts.netloc:
        return None
    try:
        name = normalise_host(host)
    except BadHost:
        return None
    usual = {"https": 443, "http": 80, "wss": 443, "ws": 80}.get(parts.scheme)
    path = tuple(unquote(segment) for segment in parts.path.split("/") if segment)
    return Place(host=name.removeprefix("www."), port=None if port == usual else port, path=path, query=parts.query)
