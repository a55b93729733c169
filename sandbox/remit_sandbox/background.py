"""Work that nobody waits for, in daemon threads that live only while there is some.

A thread that stayed would be seen by the embedding program, and be in the way of its forks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from remit_sandbox.cell import Cell
from remit_sandbox.pool import Order, Pool
from remit_sandbox.values import CellSpec

_PAUSE = 0.005
"""Seconds that a call which took a spare has for itself, before the next one is started."""


def in_thread(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Run in a thread of its own, which no executor of the embedding program has to wait for."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(function(*arguments))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="remit-cell", daemon=True).start()
    return done


class Caretaker:
    """Ends the cells that a pool has retired, and starts the spares that it lacks.

    Args:
        pool: what to look after.
        start: starts one cell, with the supervisor that runs now or not at all.
    """

    def __init__(self, pool: Pool, start: Callable[[CellSpec], Cell]) -> None:
        self._pool = pool
        self._start = start
        self._lock = threading.Lock()
        self._at_work = False

    def nudge(self) -> None:
        """See to it that what is to be done will be done."""
        with self._lock:
            if self._at_work or not self._pool.untidy:
                return
            self._at_work = True
        try:
            threading.Thread(target=self._work, name="remit-spares", daemon=True).start()
        except RuntimeError:  # no thread is to be had now; whoever borrows next tries again
            self._at_work = False

    def _work(self) -> None:
        time.sleep(_PAUSE)
        while True:
            end_all(self._pool)
            with self._lock:
                order = self._pool.next_spare()
                if order is None and not self._pool.untidy:
                    self._at_work = False
                    return
            if order is not None:
                self._prepare(order)

    def _prepare(self, order: Order) -> None:
        cell: Cell | None = None
        try:
            cell = self._start(order.spec)
            for handler in order.handlers:
                cell.make_ready(handler)
        except Exception:
            pass  # whoever asks for one next is told why
        finally:
            if not self._pool.prepared(order, cell) and cell is not None:
                cell.kill()


def end_all(pool: Pool) -> None:
    """End the cells that a pool has retired."""
    for cell in pool.over():
        cell.drop()
