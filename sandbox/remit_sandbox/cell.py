"""A cell as the host sees it: one request at a time, blocking or in asyncio, over one protocol."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from remit_sandbox.connection import Connection, Progress
from remit_sandbox.denials import Denials
from remit_sandbox.errors import CellStartError, ProtocolError, SandboxError, SupervisorError
from remit_sandbox.frames import Exchange, Message
from remit_sandbox.granted_files import files_of
from remit_sandbox.limit_words import with_limit
from remit_sandbox.masking import Masks
from remit_sandbox.replies import described_of, end_of, output_of, reply_of
from remit_sandbox.supervisor import orders
from remit_sandbox.values import CellSpec, Described, Output, Reply

if TYPE_CHECKING:
    from remit_sandbox.supervisor.client import Client

_OVERHEAD = 64 * 1024
_NO_OBJECT = b"0"  # fits no handler, so that nothing of the pack's own conversion runs


class Cell:
    """A confined process that serves one pack. `Sandbox` makes them.

    Attributes:
        pid: its process id.
        spec: what it is for.
        broken: whether it can serve no more; it never can again.
        enforcement: right to who enforces it for this cell.
        tmp: its temporary folder.
        handler: the handler that was last asked for.
        denials: what the host's broker refused it; None where it has no network.
        on_end: called once the host has ended it, in the thread that did.
    """

    def __init__(
        self,
        spec: CellSpec,
        connected: socket.socket,
        *,
        pid: int,
        tmp: str,
        client: Client,
        denials: Denials | None = None,
        files: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.pid = pid
        self.denials = denials
        self._masks = Masks(spec.secrets)
        self.spec = spec
        self.broken = False
        self.handler = ""
        self.on_end: Callable[[], None] | None = None
        self.enforcement: Mapping[str, str] = MappingProxyType({})
        self.tmp = tmp
        self.files = files_of(spec) if files is None else files
        self._host = os.getpid()
        self._client = client
        self._busy = False
        self._ended: Message | None = None
        self._connection = Connection(connected, spec.rights.limits.result + _OVERHEAD)

    def open(self) -> None:
        """Wait until the cell is confined, give it its settings and secrets, and have it import its pack.

        Raises:
            CellStartError: when it cannot be confined, the import fails or takes too long.
            SupervisorError: when the supervisor ends meanwhile.
        """
        deadline = time.monotonic() + self.spec.start_timeout
        try:
            self._check_confined(self._connection.first(deadline))
            answer = self._connection.drive(self._connection.begin(self._opening()), deadline, None)
            self._client.order({"op": "settle", "pid": self.pid})
        except TimeoutError:
            raise self._failed_start(f"importing it took longer than {self.spec.start_timeout:g} s") from None
        except (OSError, EOFError, ProtocolError) as error:
            why = self._why(error)
            if self._client.broken:
                raise SupervisorError("the supervisor ended while a cell started") from None
            raise self._failed_start(why) from None
        except BaseException:
            self.kill()
            raise
        if answer.get("op") != "ready":
            raise self._failed_start(str(answer.get("error", ""))[:2000], str(answer.get("traceback", ""))[:20000])

    def _check_confined(self, message: Message) -> None:
        if message.get("op") != "confined":
            raise self._failed_start(str(message.get("error", "it could not be confined")), by="supervisor")
        self.enforcement = MappingProxyType(dict(message["enforcement"]))

    def _failed_start(
        self, reason: str, trace: str = "", *, by: Literal["supervisor", "pack"] = "pack"
    ) -> CellStartError:
        self.kill()
        printed = self.output().stderr[-20000:]
        mask = self._masks.text
        return CellStartError(self.spec.pack, mask(reason) or "it did not become ready", mask(trace) or printed, by=by)

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
            "observe": spec.observe,
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
        on_progress = self._masked(on_progress)
        try:
            answer = self._connection.drive(exchange, started + timeout, on_progress)
            return self._reply(answer, started)
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
        on_progress = self._masked(on_progress)
        try:
            async with asyncio.timeout(timeout):
                answer = await self._connection.adrive(exchange, on_progress)
            return self._reply(answer, started)
        except (OSError, EOFError, ProtocolError) as error:
            return await asyncio.to_thread(self._lost, error, timeout, started)
        except BaseException:
            self.kill()
            raise
        finally:
            self._finish()

    def make_ready(self, handler: str) -> None:
        """Have the cell import a handler and read its signature, which its first call would wait for.

        Raises:
            SandboxError: when the cell is broken or busy.
        """
        self.request("convert", {"handler": handler, "arguments": _NO_OBJECT}, timeout=self.spec.start_timeout)

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
            return described_of(self._connection.drive(exchange, time.monotonic() + timeout, None))
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
            return self._masks.output(output_of(ended))
        try:
            answer = self._client.order({"op": "output", "pid": self.pid})
        except SupervisorError:
            return Output()
        return self._masks.output(output_of(answer)) if answer["op"] == "output" else Output()

    def grown(self) -> int:
        """By how many bytes its write roots have grown since it started, as last polled; 0 when it is gone."""
        try:
            return int(self._client.order({"op": "usage", "pid": self.pid}).get("grown", 0))
        except SupervisorError:
            return 0

    def _reply(self, answer: Message, started: float) -> Reply:
        reply = reply_of(answer, time.monotonic() - started)
        if reply.kind == "failed":
            reply = with_limit(reply, self.spec.rights.limits)
        return self._masks.reply(reply) if self._masks else reply

    def _masked(self, on_progress: Progress | None) -> Progress | None:
        """The same listener, who hears no secret."""
        if on_progress is None or not self._masks:
            return on_progress
        mask = self._masks.text
        return lambda text: on_progress(mask(text))

    def kill(self) -> None:
        """End the cell and everything it started, and remove its folder. May be called again."""
        self._end()

    def drop(self) -> None:
        """Kill the cell, without waiting until the kernel and the supervisor have cleared away what is left."""
        self._end(later=True)

    def close(self) -> None:
        """The same as `kill`: a cell has nothing to say at its end."""
        self._end()

    @property
    def usable(self) -> bool:
        """Whether an idle cell still lives and has said nothing unasked, at the cost of one system call."""
        return not self.broken and not self._busy and self._connection.quiet

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
            self._connection.close()
        else:
            self._connection.shut()

    def _finish(self) -> None:
        self._busy = False
        if self.broken:
            self._connection.close()

    def _begin(self, op: str, body: Mapping[str, Any]) -> Exchange:
        if self.broken or self._host != os.getpid():
            raise SandboxError(f"pack {self.spec.pack}: this cell has ended; borrow another")
        if self._busy:
            raise SandboxError(f"pack {self.spec.pack}: this cell serves another call; borrow another")
        exchange = self._connection.begin({**body, "op": op})
        self.handler = body.get("handler", self.handler)
        self._busy = True
        return exchange

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

    def _end(self, *, wait: bool = False, later: bool = False) -> None:
        if self._ended is not None:
            return
        self.broken = True
        if self._host == os.getpid():
            self._ended = self._ask_to_end(orders.end(self.pid, wait=wait, later=later))
        self.abandon()
        if self.on_end is not None and self._host == os.getpid():
            self.on_end()

    def _ask_to_end(self, order: Message) -> Message | None:
        try:
            answer = self._client.order(order)
        except SupervisorError:
            return None
        return answer if answer["op"] == "ended" else None
