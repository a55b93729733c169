"""Programs that run as in a cell: after `install`, in a process of their own, with a real broker."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from remit_sandbox.broker import Broker, NetworkEvent

SANDBOX = Path(__file__).parents[1] / "sandbox"

PREAMBLE = """
import asyncio, errno, os, select, socket, ssl, sys, threading, time
import http.client, urllib.request
sys.path.insert(0, {sandbox!r})
from remit_sandbox.inside.network import install
install({descriptor})
port = {port}

def error(action, *arguments, **named):
    try:
        action(*arguments, **named)
    except Exception as caught:
        return caught
    raise AssertionError("nothing was raised")

"""


class Programs:
    """Runs programs; call it with a port that `localhost` and `127.0.0.1` are granted on, and the text.

    Attributes:
        events: what the broker told of all programs.
    """

    def __init__(self) -> None:
        self.events: list[NetworkEvent] = []
        self._broker = Broker()

    def __call__(
        self, port: int, text: str, *, right: bool = True, grants: Sequence[str] = (), **environment: str
    ) -> str:
        near, far = socket.socketpair()
        allow = grants or [f"localhost:{port}", f"127.0.0.1:{port}"]
        self._broker.attach(near, pack="demo", allow=allow, private=allow, on_event=self.events.append)
        with far:
            descriptor = far.fileno() if right else None
            source = PREAMBLE.format(sandbox=str(SANDBOX), descriptor=descriptor, port=port)
            done = subprocess.run(
                [sys.executable, "-W", "error", "-c", source + textwrap.dedent(text)],
                pass_fds=[far.fileno()],
                capture_output=True,
                text=True,
                timeout=60,
                env=os.environ | environment,
            )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    def close(self) -> None:
        """End the broker."""
        self._broker.close()
