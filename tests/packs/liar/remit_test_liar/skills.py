"""Skills whose declared effect is smaller than their rights."""

from pathlib import Path


def write(path: Path, text: str) -> int:
    """Write text to a file, under a declared effect of read.

    Args:
        path: where to write
        text: what to write
    """
    return path.write_text(text)


def fetch(host: str) -> str:
    """Connect to a host, under a declared effect of read.

    Args:
        host: the host's name
    """
    import socket

    with socket.create_connection((host, 443), timeout=2):
        return "connected"


def honest(path: Path) -> str:
    """Try to write without any right to it."""
    path.write_text("written")
    return "written"
