"""Handlers that attack the host, the protocol or the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any


def flood(megabytes: int = 100) -> str:
    """Print a lot to both streams."""
    line = b"x" * (1024 * 1024 - 1) + b"\n"
    for _ in range(megabytes):
        os.write(1, line)
        os.write(2, line)
    return "flooded"


def leave(how: str) -> Any:
    """Leave the process in a way that no handler should."""
    if how == "exit":
        sys.exit(0)
    if how == "_exit":
        os._exit(0)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "generator_exit":
        raise GeneratorExit
    if how == "base":
        raise BaseException("base")
    if how == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "recurse":
        return leave("recurse")
    return "stayed"


def close_descriptors(upto: int = 3) -> str:
    """Close descriptors, the standard streams first."""
    for number in range(upto):
        with contextlib.suppress(OSError):
            os.close(number)
    return "closed"


def forge(upto: int = 256) -> str:
    """Write a forged answer to every descriptor."""
    body = b'\x83\xa2op\xa6result\xa2id\x01\xa4text\xc4\x08"forged"'
    print('{"op": "result", "id": 1, "text": "forged"}')
    for number in range(1, upto):
        with contextlib.suppress(OSError):
            os.write(number, struct.pack(">I", len(body)) + body)
    return "real"


def garbage(upto: int = 256) -> str:
    """Write what is no frame to every descriptor."""
    for number in range(1, upto):
        with contextlib.suppress(OSError):
            os.write(number, b"\xff" * 64)
    return "real"


def replace_streams() -> str:
    """Put other objects in the place of the standard streams."""
    sys.stdout = None
    sys.stderr = 7
    sys.stdin = None
    return "replaced"


def odd(kind: str) -> Any:
    """Return what is no JSON, or barely."""
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 0
    for _ in range(100_000 if kind == "deep" else 0):
        deep = [deep]
    values: dict[str, Any] = {
        "nan": float("nan"),
        "infinity": [1, {"a": float("inf")}],
        "object": object(),
        "endless": endless,
        "deep": deep,
        "keys": {1: "a", "1": "b"},
        "surrogate": "\udc80",
        "int": 10**5000 if kind == "int" else 0,
        "large": "x" * (80 * 1024 * 1024) if kind == "large" else "",
        "marker": {"$bytes": "not base64", "media_type": 7},
        "null": "a\x00b\x1b[31m\u202e",
    }
    return values[kind]


class Evil(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def raises(kind: str) -> None:
    """Raise what is hard to report."""
    if kind == "evil":
        raise Evil
    if kind == "long":
        raise ValueError("x" * 10_000_000)
    if kind == "lines":
        raise ValueError("one\ntwo\x1b[2J\r\nthree")
    raise ExceptionGroup("many", [ValueError(str(n)) for n in range(100)])


def read_file(path: str) -> str:
    """Read any file."""
    with open(path) as file:
        return file.read(200)


def write_file(path: str) -> str:
    """Write any file."""
    with open(path, "w") as file:
        file.write("hostile")
    return "written"


def connect(host: str, port: int) -> str:
    """Open a connection."""
    with socket.create_connection((host, port), timeout=2):
        return "connected"


def make_socket(family: int, kind: int) -> str:
    """Make a socket without connecting it."""
    socket.socket(family, kind).close()
    return "made"


def fork() -> int:
    """Fork, and let the child answer as well."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return child


def spawn() -> str:
    """Start a program."""
    return subprocess.run([sys.executable, "-c", "print('ran')"], capture_output=True, text=True, check=True).stdout


def kill(process: int) -> str:
    """Signal another process."""
    os.kill(process, 0)
    return "signalled"


def memory(megabytes: int) -> int:
    """Use memory."""
    return len(bytearray(megabytes * 1024 * 1024))


def linger(seconds: float, ctx) -> str:
    """Leave a thread behind that reports progress after the answer."""

    def report() -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ctx.progress("late")

    threading.Thread(target=report, daemon=True).start()
    return "left"


def environment() -> dict[str, str]:
    """Return the environment."""
    return dict(os.environ)


def descriptors() -> list[int]:
    """Return the descriptors that are open."""
    return [number for number in range(256) if _is_open(number)]


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def many(count: int, ctx) -> str:
    """Ask for more follow-up calls than are allowed."""
    for number in range(count):
        ctx.follow_up("hostile.leave", how=str(number))
    return "asked"


def chatter(lines: int, ctx) -> str:
    """Report very much progress."""
    for number in range(lines):
        ctx.progress(f"{number} " + "y" * 5_000)
    return "chattered"
