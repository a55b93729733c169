"""Runs the command line on a real terminal (a pty), reads what it shows and types."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)" + (
    "; os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)
INTERRUPT = "\x03"
"""What Ctrl-C types."""


class Terminal:
    """A program on a terminal: `shown` is all that it has written so far, colours and all."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._data = b""

    @property
    def shown(self) -> str:
        """What the terminal got."""
        return self._data.decode(errors="replace").replace("\r\n", "\n")

    @property
    def text(self) -> str:
        """What the terminal got, without colours."""
        return re.sub(r"\x1b\[[0-9;]*[mK]", "", self.shown)

    def type(self, text: str) -> None:
        """Type `text` as a person would."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str, *, count: int = 1, patience: float = 40.0) -> str:
        """Read until `text` is shown `count` times; return all that is shown."""
        end = time.monotonic() + patience
        while self.text.count(text) < count:
            assert time.monotonic() < end, f"{text!r} is not shown: {self.text}"
            assert self._read(0.1) or self.text.count(text) >= count, f"ended without {text!r}: {self.text}"
        return self.text

    def finish(self, *, patience: float = 40.0) -> int:
        """Read until the program has ended; return its exit code."""
        end = time.monotonic() + patience
        while self._read(0.1):
            assert time.monotonic() < end, f"does not end: {self.text}"
        return self.process.wait(timeout=10)

    def _read(self, seconds: float) -> bool:
        """Read what is there; False when no program holds the terminal any more."""
        if not select.select([self._master], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self._master, 65536)
        except OSError:
            return False
        self._data += part
        return bool(part)


@contextmanager
def on_terminal(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    stdout: Path | None = None,
) -> Iterator[Terminal]:
    """Run `python -m remit ARGUMENTS` on a new terminal; killed at the end if it still runs.

    Args:
        arguments: of `remit`.
        folder: its working directory.
        environment: further variables.
        stdin: text that comes through a pipe instead of the terminal.
        stdout: a file instead of the terminal.
    """
    master, slave = pty.openpty()
    source, sink = os.pipe() if stdin is not None else (-1, -1)
    output = os.open(stdout, os.O_WRONLY | os.O_CREAT, 0o600) if stdout is not None else slave
    process = subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, "2", "-m", "remit", *arguments],
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
        stdin=slave if stdin is None else source,
        stdout=output,
        stderr=slave,
        start_new_session=True,
    )
    for descriptor in {slave, output}:
        os.close(descriptor)
    if stdin is not None:
        os.close(source)
        os.write(sink, stdin.encode())
        os.close(sink)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
