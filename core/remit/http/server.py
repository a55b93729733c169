"""The server of `remit serve`: uvicorn, which ends runs before it waits for their streams."""

from __future__ import annotations

import socket

import uvicorn

from remit.http.app import App

_GRACE = 5
"""Seconds that connections have to end in."""


class Server(uvicorn.Server):
    """uvicorn for one app."""

    def __init__(self, app: App, config: uvicorn.Config) -> None:
        """Take the app that `config` serves."""
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the runs, so that nobody's stream holds the end up; then as uvicorn does."""
        self._app.stop()
        await super().shutdown(sockets)


def new_server(app: App) -> Server:
    """Return a server for `app`, to be run with sockets that listen already.

    It logs nothing but errors, believes no header of a proxy, and does not say what it is.
    """
    return Server(
        app,
        uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
        ),
    )
