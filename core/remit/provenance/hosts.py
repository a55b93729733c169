"""URLs and hosts in the form in which two are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from remit_sandbox.broker.hosts import BadHost, normalise_host

_WEB = {"https": 443, "http": 80, "wss": 443, "ws": 80}
"""Schemes that a host alone names, with their usual port."""

_ENCODED = re.compile("%(?:2e|2f|5c|25)", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where a URL leads.

    Attributes:
        host: in its one form, without a leading `www.`.
        port: as written, None for the usual one.
        path: segments of the path, decoded; empty for the host itself.
        query: what follows `?`.
        scheme: empty where none is written and for the web's own, which a host alone names.
    """

    host: str
    port: int | None
    path: tuple[str, ...]
    query: str
    scheme: str = ""

    def lies_within(self, named: Place) -> bool:
        """Tell whether this place is `named` or lies below it: a host names all of its pages."""
        same_host = (self.host, self.port, self.scheme) == (named.host, named.port, named.scheme)
        if not same_host or any(map(_may_climb, self.path)):
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
    path = tuple(segment for segment in re.split(r"[/\\]", unquote(parts.path)) if segment)
    return Place(
        host=name.removeprefix("www."),
        port=None if port == _WEB.get(parts.scheme) else port,
        path=path,
        query=parts.query,
        scheme="" if parts.scheme in _WEB else parts.scheme,
    )


def _may_climb(segment: str) -> bool:
    """Tell whether some server takes a decoded segment for `..`: with a parameter, or decoded once more."""
    return segment.partition(";")[0] == ".." or _ENCODED.search(segment) is not None
