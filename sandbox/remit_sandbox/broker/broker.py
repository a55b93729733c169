"""The host's side of the network: one thread that hears all cells, and workers that connect."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from remit_sandbox.broker.dial import Connected, Refused, dial, judge
from remit_sandbox.broker.events import NetworkEvent
from remit_sandbox.broker.jobs import Connect, Job, Outcome, Workers
from remit_sandbox.broker.link import Link
from remit_sandbox.broker.matching import NetRights, written
from remit_sandbox.broker.wire import Request
from remit_sandbox.errors import ProtocolError

_live: weakref.WeakSet[Broker] = weakref.WeakSet()


class Broker:
    """Connects for cells, by name, to what their grants cover.

    Thread-safe. Its thread starts with the first cell and is a daemon; a forked child of the
    host drops what it inherited and starts its own with its first cell. The broker judges each
    request to connect; how many connections a cell keeps open is bounded by its limit of open
    files, as the host does not see a descriptor being closed in the cell.

    Args:
        connect: makes the connections that were allowed; a test gives one that leads to its own servers.
    """

    def __init__(self, *, connect: Connect = dial) -> None:
        self._closed = False
        self._connect = connect
        self._start_empty()
        _live.add(self)

    def _start_empty(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._arrivals: deque[Link] = deque()
        self._finished: deque[tuple[Job, Outcome]] = deque()
        self._links: set[Link] = set()
        self._jobs: set[Job] = set()
        self._workers = Workers(self._deliver, self._connect)

    def attach(
        self,
        sock: socket.socket,
        *,
        pack: str,
        allow: Sequence[str],
        private: Sequence[str] = (),
        on_event: Callable[[NetworkEvent], None] | None = None,
    ) -> None:
        """Serves a cell on the host's end of its broker socket, until the cell closes it.

        Args:
            sock: a connected `AF_UNIX` stream socket; owned by the broker from here on.
            pack: name of the cell's pack, for messages.
            allow: grants: `host:port`, `*.host:port` or `*:port`.
            private: those of them that may lead to non-public addresses.
            on_event: told of every request, in the broker's thread; should be quick.

        Raises:
            ValueError: for a grant that cannot be read; `sock` is closed.
            RuntimeError: when the broker is closed; `sock` is closed.
        """
        try:
            link = Link(sock, pack, NetRights.read(allow, private), on_event)
            with self._lock:
                if self._closed:
                    raise RuntimeError("the network broker is closed")
                self._ensure_thread()
                self._arrivals.append(link)
        except BaseException:
            sock.close()
            raise
        self._wake()

    def close(self) -> None:
        """Ends the thread and closes every cell's socket; idempotent."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._wake()
            if thread is not threading.current_thread():
                thread.join(timeout=5.0)

    def _ensure_thread(self) -> None:
        if self._thread is not None:
            return
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="remit-broker", daemon=True)
        self._thread.start()

    def _wake(self) -> None:
        try:
            self._waker.send(b"\0")
        except OSError:  # full: it will wake anyway; closed: nobody to wake
            return

    def _deliver(self, job: Job, outcome: Outcome) -> None:
        with self._lock:
            if not self._closed:
                self._finished.append((job, outcome))
                self._wake()
                return
        if isinstance(outcome, Connected):
            outcome.close()

    def _serve(self) -> None:
        try:
            while not self._closed:
                for key, mask in self._selector.select(self._next_moment()):
                    self._on_ready(key.data, mask)
                self._take_arrivals()
                self._take_finished()
                self._expire()
                for link in tuple(self._links):
                    self._advance(link)
        finally:
            self._close_all()

    def _next_moment(self) -> float | None:
        """Seconds until a deadline passes or a cell that was too fast may go on."""
        now = time.monotonic()
        moments = [job.deadline - now for job in self._jobs if not job.answered]
        moments += [wait for link in self._links if (wait := link.ready_in())]
        return max(min(moments), 0.0) if moments else None

    def _on_ready(self, link: Link | None, mask: int) -> None:
        if link is None:
            self._drain_wakes()
        elif not link.closed:
            self._guard(link, partial(self._exchange, link, mask))

    def _drain_wakes(self) -> None:
        try:
            self._woken.recv(4096)
        except BlockingIOError:
            return

    def _exchange(self, link: Link, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            link.flush()
        if mask & selectors.EVENT_READ:
            link.read()

    def _guard(self, link: Link, action: Callable[[], None]) -> None:
        """Runs an action on one cell; what goes wrong there ends that cell's network only."""
        try:
            action()
        except ProtocolError as error:
            link.report_breach(error)
            self._drop(link)
        except OSError:
            self._drop(link)
        except Exception as error:  # whatever a hostile cell found must not reach the other cells
            link.report_breach(ProtocolError(error.__class__.__name__))
            self._drop(link)

    def _advance(self, link: Link) -> None:
        """Serves what has been read and is in bounds, then watches for what comes next."""
        self._guard(link, partial(self._serve_requests, link))
        if link.closed:
            return
        mask = selectors.EVENT_WRITE if link.sending else 0
        mask |= selectors.EVENT_READ if link.ready_in() == 0.0 else 0
        if mask != link.mask:
            self._watch(link, mask)

    def _watch(self, link: Link, mask: int) -> None:
        if link.mask and mask:
            self._selector.modify(link.sock, mask, link)
        elif mask:
            self._selector.register(link.sock, mask, link)
        else:
            self._selector.unregister(link.sock)
        link.mask = mask

    def _serve_requests(self, link: Link) -> None:
        for request in link.requests():
            verdict = judge(link.pack, request.host, request.port, link.rights)
            if isinstance(verdict, Refused):
                link.pending -= 1
                link.charge_refusal()
                self._refuse(link, request, verdict)
            elif request.op == "check":
                link.pending -= 1
                link.answer({"op": "covered", "id": request.id})
            else:
                job = Job(link=link, request=request, target=verdict)
                self._jobs.add(job)
                self._workers.start(job)

    def _refuse(self, link: Link, request: Request, refused: Refused) -> None:
        link.report(refused.host, refused.port, refused.allowed, refused.reason, refused.missing)
        link.answer({"op": "refused", "id": request.id, "errno": refused.errno, "reason": refused.reason})

    def _take_arrivals(self) -> None:
        while self._arrivals:
            self._links.add(self._arrivals.popleft())

    def _take_finished(self) -> None:
        while self._finished:
            job, outcome = self._finished.popleft()
            self._jobs.discard(job)
            job.link.pending -= 1
            if not job.answered and not job.link.closed:
                self._guard(job.link, partial(self._finish, job, outcome))
            elif isinstance(outcome, Connected):
                outcome.close()

    def _finish(self, job: Job, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            self._refuse(job.link, job.request, outcome)
            return
        reason = f"connected to {written(*outcome.peer)}"
        job.link.report(job.target.host, job.target.port, True, reason)
        body = {"op": "connected", "id": job.request.id, "peer": list(outcome.peer)}
        job.link.answer(body, outcome.sock)

    def _expire(self) -> None:
        now = time.monotonic()
        for job in [job for job in self._jobs if not job.answered and job.deadline <= now]:
            job.answered = True
            if not job.link.closed:
                self._guard(job.link, partial(self._time_out, job))

    def _time_out(self, job: Job) -> None:
        target = job.target
        reason = f"no connection to {written(target.host, target.port)}: timed out"
        refused = Refused(host=target.host, port=target.port, errno=errno.ETIMEDOUT, reason=reason, allowed=True)
        self._refuse(job.link, job.request, refused)

    def _drop(self, link: Link) -> None:
        if link.mask:
            self._selector.unregister(link.sock)
            link.mask = 0
        link.close()
        self._links.discard(link)

    def _close_all(self) -> None:
        with self._lock:
            self._closed = True
            self._close_descriptors()

    def _close_descriptors(self) -> None:
        for link in (*self._links, *self._arrivals):
            link.close()
        for _, outcome in self._finished:
            if isinstance(outcome, Connected):
                outcome.close()
        if self._thread is not None:
            self._selector.close()
            self._woken.close()
            self._waker.close()

    def _forget(self) -> None:
        """In a forked child: the parent's cells are not ours, and no thread of the parent is here."""
        self._close_descriptors()
        self._start_empty()


def _forget_all() -> None:
    for broker in tuple(_live):
        broker._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
