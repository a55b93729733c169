"""The connections to one endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from remit.errors import ModelError
from remit.models.urls import proxy_for, shown_url

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, AsyncHTTPTransport, Response

MOST_CONNECTIONS = 100
"""Connections to one endpoint that are open at once, and kept open: so many turns go on at the same time."""


class Line:
    """Posts to one endpoint over connections that are kept.

    It is the transport of httpx2 alone: without its client nothing follows redirects, so that the key goes nowhere
    else, no cookie of one session comes back in another, and no request pays for looking.

    Args:
        transport: makes the connections.
        headers: of every request.
        read: seconds without a byte.
        connect: seconds until a connection must stand.
    """

    def __init__(
        self, transport: AsyncHTTPTransport, headers: Mapping[str, str], *, read: float, connect: float
    ) -> None:
        import httpx2

        self._transport = transport
        self._headers = httpx2.Headers({"accept": "*/*", "accept-encoding": "gzip, deflate", **headers})
        self._extensions = {"timeout": httpx2.Timeout(read, connect=connect).as_dict()}
        self._url = lru_cache(maxsize=8)(httpx2.URL)

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncIterator[Response]:
        """Send `body` and give the answer, of which nothing but the head has been read.

        Raises:
            httpx2.RequestError: as its transport does.
        """
        from httpx2 import Request

        request = Request("POST", self._url(url), headers=self._headers, content=body, extensions=self._extensions)
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            yield response
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


def chunks_of(response: Response) -> AsyncIterator[bytes]:
    """Return the bytes of an answer as they come, decompressed; one that is not is handed on as it is."""
    if "content-encoding" in response.headers:
        return response.aiter_bytes()
    return cast("AsyncByteStream", response.stream).__aiter__()


def new_line(url: str, headers: Mapping[str, str], *, read: float, connect: float, said: Callable[[str], str]) -> Line:
    """Return what posts to the endpoint at `url`.

    Args:
        url: of the endpoint.
        headers: of every request.
        read: seconds without a byte.
        connect: seconds until a connection must stand.
        said: makes an error's message from what is wrong.

    Raises:
        ModelError: the proxy that the environment names cannot be used.
    """
    import ssl
    from urllib.request import getproxies

    import httpx2

    proxy = proxy_for(url, getproxies())
    secure = url.startswith("https:") or (proxy or "").startswith("https:")
    # Reading the CA files takes longer than a whole turn with a local model; http needs none.
    context = httpx2.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        transport = httpx2.AsyncHTTPTransport(
            verify=context,
            proxy=proxy,
            trust_env=False,
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS),
        )
    except (httpx2.InvalidURL, ValueError, ImportError) as error:
        raise ModelError(
            said(f"cannot go through the proxy {shown_url(proxy or '')}: {type(error).__name__}"),
            remedy="correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name this host in NO_PROXY",
        ) from error
    return Line(transport, headers, read=read, connect=connect)
