"""One page over HTTP, within limits; its failures in words."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
import zlib
from dataclasses import dataclass
from email.message import Message
from typing import IO, Any
from urllib.parse import urlsplit

MOST_REDIRECTS = 5
"""Redirects of one page."""

_WANTED = "text/html, text/*;q=0.9, */*;q=0.1"
_PIECE = 64 * 1024
_AGENT = "remit-web (a tool of a language-model agent)"


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What came back.

    Attributes:
        url: where it came from, after redirects.
        media_type: lower case, without parameters; empty when the server does not say.
        charset: as the server says; empty when it does not.
        body: at most the bytes that were allowed.
        cut: there was more.
    """

    url: str
    media_type: str
    charset: str
    body: bytes
    cut: bool


def fetched(url: str, *, largest: int, seconds: float) -> Fetched:
    """Get a page.

    Args:
        url: http or https, without a user name.
        largest: bytes of the body that are kept.
        seconds: until it has to be there, redirects included.

    Raises:
        PermissionError: no grant covers the host, or one that it redirects to.
        ValueError: an address that is none for this, or too many redirects.
        ConnectionError: it cannot be reached, refuses, or takes too long.
    """
    _check(url)
    deadline = time.monotonic() + seconds
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Redirects(deadline))
    request = urllib.request.Request(url, headers={"User-Agent": _AGENT, "Accept": _WANTED})
    try:
        with opener.open(request, timeout=_left(deadline)) as response:
            return _answer(response, largest, deadline)
    except urllib.error.HTTPError as error:
        with error:
            raise ConnectionError(f"{error.url} answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, PermissionError):
            raise error.reason from None
        raise ConnectionError(f"{url} cannot be reached: {error.reason}") from None
    except TimeoutError:
        raise ConnectionError(f"{url} did not answer within {seconds:g} s") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a few redirects; the border of the cell sees to it that each leads to a granted host."""

    max_redirections = MOST_REDIRECTS
    max_repeats = 2

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Judge the next address like the first one; from https only https."""
        _check(newurl)
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise ValueError(f"{req.full_url} redirects to {newurl}, which is not encrypted")
        further = super().redirect_request(req, fp, code, msg, headers, newurl)
        if further is not None:
            further.timeout = req.timeout = _left(self._deadline)  # type: ignore[attr-defined]
        return further


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url[:200]!r} is no address of a web page")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address with a user name or password is not fetched")


def _answer(response: Any, largest: int, deadline: float) -> Fetched:
    headers: Message = response.headers
    body, cut = _body(response, largest, deadline)
    encoding = str(headers.get("Content-Encoding", "identity")).lower()
    if encoding in ("gzip", "x-gzip", "deflate"):
        body, more = _unpacked(body, largest)
        cut = cut or more
    elif encoding not in ("identity", ""):
        raise ConnectionError(f"{response.url} is packed as {encoding[:40]!r}, which was not asked for")
    said = "Content-Type" in headers
    return Fetched(
        url=response.url,
        media_type=headers.get_content_type() if said else "",
        charset=headers.get_content_charset("") if said else "",
        body=body,
        cut=cut,
    )


def _body(response: Any, largest: int, deadline: float) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    size = 0
    while size <= largest:
        _left(deadline)
        part = response.read1(_PIECE)
        if not part:
            return b"".join(parts), False
        parts.append(part)
        size += len(part)
    return b"".join(parts)[:largest], True


def _unpacked(body: bytes, largest: int) -> tuple[bytes, bool]:
    """Unpack at most `largest` bytes; a bomb ends there."""
    work = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = work.decompress(body, largest)
    except zlib.error:
        raise ConnectionError("the answer is packed and damaged") from None
    return plain, not work.eof


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
