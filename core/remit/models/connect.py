"""The HTTP client of one endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from remit.errors import ModelError
from remit.models.urls import proxy_for, shown_url

if TYPE_CHECKING:
    from httpx2 import AsyncClient


def new_client(
    url: str, headers: Mapping[str, str], *, read: float, connect: float, said: Callable[[str], str]
) -> AsyncClient:
    """Return a client for the endpoint at `url`; it follows no redirect, so that the key goes nowhere else.

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
        return httpx2.AsyncClient(
            headers=dict(headers),
            verify=context,
            proxy=proxy,
            trust_env=False,  # it would refuse to start over a NO_PROXY entry that it cannot read
            follow_redirects=False,
            timeout=httpx2.Timeout(read, connect=connect),
        )
    except (httpx2.InvalidURL, ValueError, ImportError) as error:
        raise ModelError(
            said(f"cannot go through the proxy {shown_url(proxy or '')}: {type(error).__name__}"),
            remedy="correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name this host in NO_PROXY",
        ) from error
