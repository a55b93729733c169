"""Short-lived threads that resolve and connect, so that a slow server holds up nobody else."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from remit_sandbox.broker.dial import Connected, Refused, Target, dial
from remit_sandbox.broker.link import Link
from remit_sandbox.broker.wire import Request

MAX_WORKERS = 128
"""Threads of one broker at a time; further requests wait, within their deadline."""

Outcome = Connected | Refused

Connect = Callable[[str, Target, float], Outcome]
"""Connects for a pack to a target that was judged, until a deadline; see `dial`."""


@dataclass(eq=False, kw_only=True)
class Job:
    """One request on its way.

    Attributes:
        deadline: monotonic seconds after which the cell is told that it timed out.
        answered: set once the cell has its answer; the thread may still be resolving.
    """

    link: Link
    request: Request
    target: Target
    deadline: float = field(init=False)
    answered: bool = False

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.request.timeout

    def run(self, connect: Connect = dial) -> Outcome:
        """Connects, or says why not; never raises."""
        try:
            return connect(self.link.pack, self.target, self.deadline)
        except Exception as error:
            reason = f"no connection to {self.target.host}:{self.target.port}: {error.__class__.__name__}"
            return Refused(host=self.target.host, port=self.target.port, errno=5, reason=reason, allowed=True)


class Workers:
    """Runs jobs in daemon threads, at most `MAX_WORKERS`; what comes out goes to `deliver`."""

    def __init__(self, deliver: Callable[[Job, Outcome], None], connect: Connect = dial) -> None:
        self._deliver = deliver
        self._connect = connect
        self._waiting: deque[Job] = deque()
        self._running = 0
        self._lock = threading.Lock()

    def start(self, job: Job) -> None:
        """Starts a job or puts it in the queue."""
        with self._lock:
            self._waiting.append(job)
            if self._running >= MAX_WORKERS:
                return
            self._running += 1
        try:
            threading.Thread(target=self._work, name="remit-broker-connect", daemon=True).start()
        except RuntimeError:  # no more threads: those that run will take it up, or its deadline ends it
            with self._lock:
                self._running -= 1

    def _work(self) -> None:
        while (job := self._next()) is not None:
            self._deliver(job, job.run(self._connect))

    def _next(self) -> Job | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._running -= 1
            return None
