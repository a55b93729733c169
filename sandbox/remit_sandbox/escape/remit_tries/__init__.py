"""A pack that does, on request, what `remit_sandbox.rehearsal` looks at from outside."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time


def spin() -> None:
    """Work for ever, whatever signal comes."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def variables() -> list[str]:
    """Name every variable."""
    return sorted(os.environ)


def connect(port: int) -> str:
    """Connect to a port of this machine, by name."""
    with socket.create_connection(("localhost", port), 5):
        return "connected"


def fill(size: int, seconds: float) -> str:
    """Write a file of `size` bytes and wait."""
    with open("much", "wb") as file:
        file.write(b"x" * size)
    time.sleep(seconds)
    return "written"


def start(program: str) -> int:
    """Run a program."""
    return subprocess.run([program], check=False).returncode


def token(ctx) -> str:  # type: ignore[no-untyped-def]
    """Return the one secret."""
    return str(ctx.secrets["token"])
