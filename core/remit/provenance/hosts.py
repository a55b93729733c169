"""URLs and hosts in the form in which two are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from remit_sandbox.broker.hosts import BadHost, normalise_host

_WEB = {"https": 443, "http": 80, "wss": 443, "ws": 80}
"""Schemes that a host alone names, with their usual port."""

_SITE_ENDINGS = frozenset(
    (
        *("com", "org", "net", "edu", "gov", "mil", "int", "biz", "io", "co", "dev", "eu", "tv"),
        *("example", "test", "invalid", "localhost", "local", "internal", "lan", "home", "corp", "intranet"),
        *("at", "au", "be", "bg", "br", "ca", "ch", "cn", "cz", "de", "dk", "ee", "es", "fi", "fr", "gr", "hk", "hr"),
        *("hu", "ie", "it", "jp", "kr", "lt", "lu", "lv", "mx", "nl", "no", "nz", "ro", "se", "sg"),
        *("si", "sk", "th", "tr", "ua", "uk", "vn", "za"),
    )
)
"""Endings that make a host of a bare name: of well-known sites, of countries, and those that nobody can register.

What is missing asks a person once; what is too much names a stranger's host. So no ending is here that programs give
their files or fields, such as `.md`, `.in`, `.pt` or `.id`, though anybody may own `readme.md`: such programs have no
end, and nearly every two letters are a domain (IANA root zone, 2026). `.com` and `.org` stay, as people mean sites.
"""

_SCHEME = re.compile(r"\A[a-zA-Z][a-zA-Z0-9+.-]*://")
_RUN_ON = re.compile(r"\.(?=[^\W\d_])")

_ENCODED = re.compile("%(?:2e|2f|5c|25)", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where a URL leads.

    Attributes:
        host: in its one form, without a leading `www.`.
        port: as written, None for the usual one.
        path: segments of the path, decoded; empty for the host itself.
        query: what follows `?`.
        fragment: what follows `#`; no server sees it, but a page may.
        scheme: empty where none is written and for the web's own, which a host alone names.
    """

    host: str
    port: int | None
    path: tuple[str, ...]
    query: str
    scheme: str = ""
    fragment: str = ""

    @property
    def leads_on(self) -> bool:
        """Tell whether it is more than a host: a file or a version can look like a host, but not like this."""
        return bool(self.path or self.query or self.fragment or self.port or self.scheme)

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
        fragment=parts.fragment,
    )


def host_meant(text: str) -> str:
    """Return the link or host that somebody means who writes `text`, empty where it may well be something else.

    A scheme or `www.` makes it a host, and so does a port or path for an address in figures, which alone could be a
    version. Without them only an ending that sites have and files have not makes it one, and a capital after a dot
    begins a sentence: `see acme.example.Then go` has `acme.example`, `the page.It is` has none.
    """
    rest = _SCHEME.sub("", text)
    scheme, name = text[: len(text) - len(rest)], re.split(r"[:/?#]", rest, maxsplit=1)[0]
    first = 0 if _all_capitals(name) else next(_run_on(name), 0)
    if first and not (scheme and name != rest):
        name = rest = name[:first]
    if scheme or name.lower().startswith(("www.", "[")):
        return scheme + rest
    ending = name.rpartition(".")[2]
    if ending.isdigit():
        return rest if rest != name else ""
    is_site = ending != name and (ending.lower() in _SITE_ENDINGS or not ending.isascii())
    return rest if is_site else ""


def _run_on(name: str) -> Iterator[int]:
    """Yield the dots that end a sentence: there is no space after them, but a capital; the one of `www.` is none."""
    dots = (match.start() for match in _RUN_ON.finditer(name))
    return (dot for dot in dots if name[dot - 1].islower() and name[dot + 1].isupper() and name[:dot].lower() != "www")


def _all_capitals(name: str) -> bool:
    """Tell whether somebody writes a host so, as in `www.Acme.Example`; a fourth part may be the next sentence."""
    first, *parts = name.split(".")
    return first.lower() == "www" and len(parts) == 2 and all(part[:1].isupper() for part in parts)


def _may_climb(segment: str) -> bool:
    """Tell whether some server takes a decoded segment for `..`: with a parameter, or decoded once more."""
    return segment.partition(";")[0] == ".." or _ENCODED.search(segment) is not None
