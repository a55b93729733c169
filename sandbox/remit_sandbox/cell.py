"""A cell as the host sees it: one request at a time, blocking or in asyncio, over one protocol."""

from __future__ import annotations

import math
import os
import select
import socket
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from remit_sandbox.errors import CellStartError, ProtocolError, SandboxError, SupervisorError
from remit_sandbox.frames import Exchange, FrameReader, Message
from remit_sandbox.replies import described_of, end_of, output_of, reply_of
from remit_sandbox.values import CellSpec, Described, Output, Reply

if TYPE_CHECKING:
    from remit_sandbox.supervisor.client import Client

Progress = Callable[[str], None]

_BUFFER = 1024 * 1024
_JOINED = 64 * 1024
_OVERHEAD = 64 * 1024
_READS_IN_A_ROW = 8


class Cell:
    """A confined process that serves one pack. `Sandbox` makes them.

    Attributes:
        pid: its process id.
        spec: what it is for.
        broken: whether it can serve no more; it never can again.
        enforcement: right to who enforces it for this cell.
        tmp: its temporary folder.
    """

    def __init__(self, spec: CellSpec, connection: socket.socket, *, pid: int, tmp: str, client: Client) -> None:
        self.pid = pid
        self.spec = spec
        self.broken = False
        self.enforcement: Mapping[str, str] = MappingProxyType({})
        self.tmp = tmp
        self.files = files_of(spec)
        self._host = os.getpid()
        self._client = client
        self._busy = False
        self._ended: Message | None = None
        self._reader = FrameReader(spec.rights.limits.result + _OVERHEAD)
        self._socket = connection
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)

    def open(self) -> None:
        """Wait until the cell is confined, give it its settings and secrets, and have it import its pack.

        Raises:
            CellStartError: when it cannot be confined, the import fails or takes too long.
        """
        deadline = time.monotonic() + self.spec.start_timeout
        try:
            self._check_confined(self._first(deadline))
            answer = self._drive(Exchange(self._reader, self._opening(), _number()), deadline, None)
            self._client.order({"op": "settle", "pid": self.pid})
        except TimeoutError:
            raise self._failed_start(f"importing it took longer than {self.spec.start_timeout:g} s") from None
        except (OSError, EOFError, ProtocolError) as error:
            raise self._failed_start(self._why(error)) from None
        except BaseException:
            self.kill()
            raise
        if answer.get("op") != "ready":
            raise self._failed_start(str(answer.get("error", ""))[:2000], str(answer.get("traceback", ""))[:20000])

    def _check_confined(self, message: Message) -> None:
        if message.get("op") != "confined":
            raise self._failed_start(str(message.get("error", "it could not be confined")))
        self.enforcement = MappingProxyType(dict(message["enforcement"]))

    def _failed_start(self, reason: str, trace: str = "") -> CellStartError:
        self.kill()
        printed = self.output().stderr[-20000:]
        return CellStartError(self.spec.pack, reason or "it did not become ready", trace or printed)

    def _opening(self) -> Message:
        spec = self.spec
        return {
            "op": "open",
            "pack": spec.pack,
            "package": spec.package,
            "location": spec.location,
            "digests": dict(spec.digests),
            "paths": list(spec.paths),
            "settings": dict(spec.settings),
            "secrets": dict(spec.secrets),
            "workspace": spec.workspace,
            "data": spec.data,
            "cwd": spec.cwd or self.tmp,
            "readable": [*spec.rights.read, *spec.rights.write],
            "env": dict(spec.rights.env),
            "net": bool(spec.rights.net),
            "result_limit": spec.rights.limits.result,
        }

    def request(
        self, op: str, body: Mapping[str, Any], *, timeout: float, on_progress: Progress | None = None
    ) -> Reply:
        """Ask the cell and wait for its answer.

        Args:
            op: `call`, `convert` or `after`.
            body: what belongs to it; see `remit_sandbox.inside.serve`.
            timeout: seconds until the cell and all that it started are killed.
            on_progress: gets what the handler reports while it works.

        Raises:
            SandboxError: when the cell is broken or busy, or the request is too long to send.
        """
        started = time.monotonic()
        exchange = self._begin(op, body)
        try:
            answer = self._drive(exchange, started + timeout, on_progress)
            return reply_of(answer, time.monotonic() - started)
        except (OSError, EOFError, ProtocolError) as error:
            return self._lost(error, timeout, started)
        except BaseException:
            self.kill()
            raise
        finally:
            self._finish()

    async def arequest(
        self, op: str, body: Mapping[str, Any], *, timeout: float, on_progress: Progress | None = None
    ) -> Reply:
        """As `request`, without blocking the event loop. Cancelling it kills the cell.

        Raises:
            SandboxError: when the cell is broken or busy, or the request is too long to send.
        """
        import asyncio

        started = time.monotonic()
        exchange = self._begin(op, body)
        try:
            async with asyncio.timeout(timeout):
                answer = await self._adrive(exchange, on_progress)
            return reply_of(answer, time.monotonic() - started)
        except (OSError, EOFError, ProtocolError) as error:
            return await asyncio.to_thread(self._lost, error, timeout, started)
        except BaseException:
            self.kill()
            raise
        finally:
            self._finish()

    def describe(
        self, skills: Mapping[str, tuple[str, str | None]], *, timeout: float = 10.0
    ) -> Mapping[str, Described]:
        """Have the cell derive schemas.

        Args:
            skills: name to its handler and post-hook, as `package.module:function`.
            timeout: seconds until the cell is killed.

        Raises:
            CellStartError: when the cell ends, is late or breaks the protocol.
            SandboxError: when the cell is broken or busy.
        """
        exchange = self._begin("describe", {"skills": {name: list(pair) for name, pair in skills.items()}})
        try:
            return described_of(self._drive(exchange, time.monotonic() + timeout, None))
        except TimeoutError:
            raise self._failed_start(f"describing its skills took longer than {timeout:g} s") from None
        except (OSError, EOFError, ProtocolError) as error:
            raise self._failed_start(self._why(error)) from None
        except BaseException:
            self.kill()
            raise
        finally:
            self._finish()

    def output(self) -> Output:
        """What the pack printed since it was last asked; the supervisor keeps it up to `Limits.output`."""
        if self._ended is not None:
            ended, self._ended = self._ended, {"stdout": b"", "stderr": b"", "cut": False}
            return output_of(ended)
        try:
            answer = self._client.order({"op": "output", "pid": self.pid})
        except SupervisorError:
            return Output()
        return output_of(answer) if answer["op"] == "output" else Output()

    def kill(self) -> None:
        """End the cell and everything it started, and remove its folder. May be called again."""
        self._end()

    def close(self) -> None:
        """The same as `kill`: a cell has nothing to say at its end."""
        self._end()

    @property
    def usable(self) -> bool:
        """Whether an idle cell still lives and has said nothing unasked, at the cost of one system call."""
        return not self.broken and not self._busy and not self._reader.pending and not self._poll.poll(0)

    def abandon(self) -> None:
        """Let go of a cell whose supervisor is gone, or which belongs to the parent of this process."""
        self.broken = True
        self._ended = self._ended or {"stdout": b"", "stderr": b"", "cut": False}
        self._let_go()

    def _let_go(self) -> None:
        """Close the connection; one that a call waits on is only shut, and closed when the call returns.

        A fork of the host closes its copy and shuts nothing: the parent's call goes on.
        """
        if not self._busy or self._host != os.getpid():
            self._socket.close()
            return
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _finish(self) -> None:
        self._busy = False
        if self.broken:
            self._socket.close()

    def _begin(self, op: str, body: Mapping[str, Any]) -> Exchange:
        if self.broken or self._host != os.getpid():
            raise SandboxError(f"pack {self.spec.pack}: this cell has ended; borrow another")
        if self._busy:
            raise SandboxError(f"pack {self.spec.pack}: this cell serves another call; borrow another")
        exchange = Exchange(self._reader, {**body, "op": op}, _number())
        self._busy = True
        return exchange

    def _drive(self, exchange: Exchange, deadline: float, on_progress: Progress | None) -> Message:
        self._send(exchange.outgoing, deadline)
        while True:
            answer = exchange.feed(self._receive(exchange.wanted(), deadline))
            if exchange.progress:
                _tell(exchange, on_progress)
            if answer is not None:
                return answer

    async def _adrive(self, exchange: Exchange, on_progress: Progress | None) -> Message:
        import asyncio

        loop = asyncio.get_running_loop()
        for part in _parts(exchange.outgoing):
            await loop.sock_sendall(self._socket, part)
        reads = 0
        while True:
            data = await loop.sock_recv(self._socket, exchange.wanted())
            if not data:
                raise EOFError
            answer = exchange.feed(data)
            if exchange.progress:
                _tell(exchange, on_progress)
            if answer is not None:
                return answer
            reads += 1
            if reads % _READS_IN_A_ROW == 0:
                await asyncio.sleep(0)  # reading what is there already never yields: a flood would hold the loop

    def _send(self, outgoing: tuple[bytes, bytes], deadline: float) -> None:
        for part in _parts(outgoing):
            try:
                sent = self._socket.send(part)
            except BlockingIOError:
                sent = 0
            left = memoryview(part)[sent:] if sent < len(part) else b""
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except BlockingIOError:
                    self._await_room(deadline)

    def _await_room(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        if not poll.poll(_milliseconds(deadline)):
            raise TimeoutError

    def _receive(self, size: int, deadline: float) -> bytes:
        milliseconds = _milliseconds(deadline)
        # With a flood there is always something to read: it must not outlast the deadline.
        if not self._poll.poll(milliseconds) or not milliseconds:
            raise TimeoutError
        data = self._socket.recv(size)
        if not data:
            raise EOFError
        return data

    def _first(self, deadline: float) -> Message:
        """The one message that comes unasked: from the supervisor's own code, before the pack's."""
        while True:
            if (message := self._reader.feed(self._receive(4096, deadline))) is not None:
                return message

    def _lost(self, error: BaseException, timeout: float, started: float) -> Reply:
        late = isinstance(error, TimeoutError)
        why = f"no answer within {timeout:g} s; the cell was ended" if late else self._why(error)
        self.kill()
        return Reply(kind="timeout" if late else "died", error=why, duration=time.monotonic() - started)

    def _why(self, error: BaseException) -> str:
        if isinstance(error, ProtocolError):
            return f"the cell broke the protocol and was ended: {error}"
        self._end(wait=True)
        ended = self._ended or {}
        return end_of(ended.get("status"), str(ended.get("reason", "")))

    def _end(self, *, wait: bool = False) -> None:
        if self._ended is not None:
            return
        self.broken = True
        if self._host == os.getpid():
            self._ended = self._ask_to_end(wait)
        self.abandon()

    def _ask_to_end(self, wait: bool) -> Message | None:
        try:
            answer = self._client.order({"op": "end", "pid": self.pid, "wait": wait})
        except SupervisorError:
            return None
        return answer if answer["op"] == "ended" else None


def connect() -> tuple[socket.socket, socket.socket]:
    """The two ends between a host and a cell."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
    return ours, theirs


def files_of(spec: CellSpec) -> Mapping[str, tuple[int, int]]:
    """Device and inode of each single file granted: a rule follows the inode, not the name."""
    grants = [grant for grant in (*spec.rights.read, *spec.rights.write) if not grant.endswith("/**")]
    return {path: identity for path in grants if (identity := _identity(path))}


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _number() -> int:
    """An id that a cell cannot know before it is asked."""
    return int.from_bytes(os.urandom(6), "big") | 1


def _parts(outgoing: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    header, body = outgoing
    return (header + body,) if len(body) < _JOINED else outgoing


def _milliseconds(deadline: float) -> int:
    left = math.ceil((deadline - time.monotonic()) * 1000)
    return left if left > 0 else 0


def _tell(exchange: Exchange, on_progress: Progress | None) -> None:
    texts, exchange.progress = exchange.progress, []
    if on_progress is not None:
        for text in texts:
            on_progress(text)
