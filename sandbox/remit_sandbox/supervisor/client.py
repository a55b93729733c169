"""The host's side of the supervisor: starting it, giving it orders, noticing that it is gone.

The host is somebody's program. Nothing here changes its signals, environment, umask or directory, and
no process but the supervisor itself is ever waited for.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remit_sandbox.errors import ProtocolError, SupervisorError
from remit_sandbox.frames import Exchange, FrameReader, Message
from remit_sandbox.supervisor import cgroup, folders

PROGRAM = Path(__file__).with_name("program.py")
_KEPT_VARIABLES = ("PATH", "LANG", "LANGUAGE", "TZ", cgroup.VARIABLE)
_PACKAGES = ("remit_sandbox", "msgpack", "pydantic", "pydantic_core", "typing_extensions", "docstring_parser")
_ANSWER_LIMIT = 64 * 1024 * 1024
_START = 30.0
_ORDER = 15.0
_STOP = 10.0


class Client:
    """One supervisor process and the socket to it. Orders may come from any thread.

    Args:
        highest_abi: the newest Landlock ABI that cells may use.

    Attributes:
        missing: what this machine lacks for confinement, in words.
        base: the folder that holds the cells' temporary folders.
        broken: whether the supervisor is gone or no longer understood.

    Raises:
        SupervisorError: when it cannot be started.
    """

    def __init__(self, *, highest_abi: int) -> None:
        self.broken = False
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._reader = FrameReader(_ANSWER_LIMIT)
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            self._process = _start(theirs, highest_abi)
        try:
            ready = self._receive(time.monotonic() + _START, None)
        except (OSError, ProtocolError) as error:
            self.stop()
            raise SupervisorError(f"the supervisor did not start: {error or type(error).__name__}{_HINT}") from None
        self.base = str(ready["base"])
        self.missing: tuple[str, ...] = tuple(ready["missing"])

    def order(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> Message:
        """Send one order and wait for its answer.

        Raises:
            SupervisorError: when the supervisor is gone, late or refuses.
        """
        with self._lock:
            if self.broken:
                raise SupervisorError("the supervisor is gone")
            try:
                answer = self._exchange(message, descriptors)
            except (OSError, ProtocolError) as error:
                self.broken = True
                raise SupervisorError(f"the supervisor does not answer: {error or type(error).__name__}") from None
            except BaseException:
                self.broken = True
                raise
        if answer["op"] == "error":
            raise SupervisorError(f"the supervisor refused: {answer['error']}")
        return answer

    def _exchange(self, message: Mapping[str, Any], descriptors: Sequence[int]) -> Message:
        exchange = Exchange(self._reader, message, next(self._numbers))
        deadline = time.monotonic() + _ORDER
        self._send(b"".join(exchange.outgoing), descriptors, deadline)
        return self._receive(deadline, exchange)

    def _send(self, data: bytes, descriptors: Sequence[int], deadline: float) -> None:
        left = memoryview(data)
        while left:
            _await(self._socket, select.POLLOUT, deadline)
            sent = socket.send_fds(self._socket, [left], list(descriptors))
            left, descriptors = left[sent:], ()

    def _receive(self, deadline: float, exchange: Exchange | None) -> Message:
        source = exchange or self._reader
        while True:
            _await(self._socket, select.POLLIN, deadline)
            data = self._socket.recv(source.wanted())
            if not data:
                raise ConnectionResetError("it ended")
            if (message := source.feed(data)) is not None:
                return message

    def stop(self) -> None:
        """End the supervisor and with it every cell; wait until it is gone. May be called again."""
        self.broken = True
        self._socket.close()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_STOP)

    def abandon(self, pids: Sequence[int]) -> None:
        """After the supervisor's death: end the cells that are known, and remove their folders."""
        self.stop()
        for pid in pids:
            _end_orphan(pid)
        folders.remove(self.base)

    def forget(self) -> None:
        """In a fork of the host: let go of the parent's supervisor without touching it."""
        self.broken = True
        self._socket.close()
        self._process.returncode = 0


_HINT = "; it runs `sys.executable`, or the Python that REMIT_PYTHON names where this program is not started by one"


def _await(connection: socket.socket, event: int, deadline: float) -> None:
    poll = select.poll()
    try:
        poll.register(connection, event)
    except ValueError:
        raise ConnectionResetError("it was closed") from None
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError("no answer in time")


def _start(theirs: socket.socket, highest_abi: int) -> subprocess.Popen[bytes]:
    host = _pidfd_of_this_process()
    passed = [descriptor for descriptor in (theirs.fileno(), host) if descriptor >= 0]
    numbers = [str(theirs.fileno()), str(host), str(os.getpid())]
    arguments = [*numbers, os.path.realpath(tempfile.gettempdir()), str(highest_abi), *site_folders()]
    try:
        return subprocess.Popen(
            [python_program(), "-I", "-S", "-X", "utf8", str(PROGRAM), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
            env=_environment(),
            cwd="/",
        )
    except (OSError, ValueError) as error:
        raise SupervisorError(f"the supervisor did not start: {error}{_HINT}") from None
    finally:
        if host >= 0:
            os.close(host)


def python_program() -> str:
    """The interpreter for cells: this one, or the one that REMIT_PYTHON names."""
    return os.environ.get("REMIT_PYTHON") or sys.executable


def _pidfd_of_this_process() -> int:
    try:
        return os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("LC_")}
    fixed = {"PYDANTIC_DISABLE_PLUGINS": "__all__", "MALLOC_ARENA_MAX": "2"}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **kept, **fixed}


def site_folders() -> list[str]:
    """Folders that hold what the supervisor imports; nothing is imported to find them."""
    found: list[str] = []
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            origin = Path(spec.origin)
            folder = str(origin.parents[1] if origin.stem == "__init__" else origin.parent)
            if folder not in found:
                found.append(folder)
    return found


def _end_orphan(pid: int) -> None:
    for send in (os.killpg, os.kill):
        try:
            send(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
