"""Callers that come at the same time share a transaction; each keeps its own outcome."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.errors import StateError
from remit.evidence.verify import verify
from remit.state.chain import Entry
from remit.state.store import State

CALLERS = 16


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path) as state:
        yield state


class Commits:
    """Counts commits and flushes."""

    def __init__(self, state: State) -> None:
        self.count = 0
        original = state.database._begin

        def begin(durable: bool) -> sqlite3.Connection:
            self.count += 1
            return original(durable)

        state.database._begin = begin  # type: ignore[method-assign]


def _in_threads(work: list[threading.Thread]) -> None:
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()


def _stalled(state: State) -> tuple[threading.Thread, threading.Event]:
    """Return a thread whose transaction lasts until the event is set."""
    inside, may_end = threading.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> None:
        inside.set()
        may_end.wait(30)

    thread = threading.Thread(target=lambda: state.database.write(work))
    thread.start()
    inside.wait(30)
    return thread, may_end


def _waiting(state: State, count: int) -> None:
    """Wait until so many callers are in the queue."""
    for _ in range(3_000):
        if len(state.database._commits._queue) >= count:
            return
        threading.Event().wait(0.01)
    raise AssertionError("nobody came")


def test_threads_that_come_meanwhile_share_one_commit(state: State) -> None:
    stalled, may_end = _stalled(state)
    commits = Commits(state)
    numbers: list[int] = []
    threads = [threading.Thread(target=lambda: numbers.append(state.append("x"))) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    _waiting(state, CALLERS)
    may_end.set()
    for thread in (stalled, *threads):
        thread.join()
    assert sorted(numbers) == list(range(1, CALLERS + 1)) and commits.count == 1
    assert verify(state.database.path).holds


def test_tasks_share_commits_and_the_loop_goes_on_meanwhile(state: State) -> None:
    state.append("first")
    commits = Commits(state)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(state.aappend_all([Entry(event="x")]) for _ in range(64)))

    assert sorted(asyncio.run(all_of_them())) == list(range(2, 66))
    assert commits.count <= 8
    assert verify(state.database.path).holds


def test_the_loop_is_not_held_up_by_a_transaction(state: State) -> None:
    stalled, may_end = _stalled(state)

    async def write_and_count() -> int:
        writing = asyncio.create_task(state.aappend_all([Entry(event="x")]))
        turns = 0
        while turns < 5:
            await asyncio.sleep(0.001)
            turns += 1
        assert not writing.done()
        may_end.set()
        await writing
        return turns

    assert asyncio.run(write_and_count()) == 5
    stalled.join()


def test_one_that_fails_in_a_group_undoes_only_itself(state: State) -> None:
    stalled, may_end = _stalled(state)
    outcomes: list[object] = []

    def bad(connection: sqlite3.Connection) -> None:
        state.chain(connection)
        connection.execute("DELETE FROM records")
        raise ValueError("no")

    def run(number: int) -> None:
        try:
            outcomes.append(state.database.write(bad) if number % 4 == 0 else state.append("x"))
        except ValueError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    _waiting(state, CALLERS)
    may_end.set()
    for thread in (stalled, *threads):
        thread.join()
    assert outcomes.count("no") == 4 and len(outcomes) == CALLERS
    assert len(list(state.records())) == 12
    assert verify(state.database.path).holds


def test_a_group_that_fails_as_a_whole_is_tried_one_by_one(state: State) -> None:
    state.append("x")
    state.database.read(lambda c: c.execute("PRAGMA max_page_count = 60").fetchone())
    stalled, may_end = _stalled(state)
    outcomes: list[object] = []

    def run(number: int) -> None:
        try:
            large = {"text": "x" * 2_000_000} if number == 0 else None
            outcomes.append(state.append("x", sealed=large))
        except StateError as error:
            outcomes.append(error.message)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    _waiting(state, 8)
    may_end.set()
    for thread in (stalled, *threads):
        thread.join()
    refused = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert len(refused) == 1 and "disk is full" in refused[0]
    assert len(list(state.records())) == 8
    assert verify(state.database.path).holds


def test_a_locked_file_refuses_a_whole_group_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.state.database.BUSY", 0.05)
    with State(tmp_path) as state:
        state.append("x")
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused: list[str] = []

        def run() -> None:
            with pytest.raises(StateError, match="locked") as caught:
                state.append("y")
            refused.append(caught.value.message)

        _in_threads([threading.Thread(target=run) for _ in range(CALLERS)])
        assert len(refused) == CALLERS
        other.execute("ROLLBACK")
        other.close()
        assert state.append("z") == 2


def test_a_cancelled_task_knows_what_is_in_the_log(state: State) -> None:
    stalled, may_end = _stalled(state)

    async def cancel_it() -> bool:
        writing = asyncio.create_task(state.aappend_all([Entry(event="x")]))
        await asyncio.sleep(0.02)
        writing.cancel()
        await asyncio.sleep(0.02)
        assert not writing.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        return True

    assert asyncio.run(cancel_it())
    stalled.join()
    assert [record.event for record in state.records()] == ["x"]


def test_an_interrupted_caller_leaves_the_others_alone(state: State) -> None:
    stalled, may_end = _stalled(state)
    answers: list[object] = []

    class Interrupted:
        """A lock whose wait is interrupted, as Ctrl-C does in the main thread."""

        def acquire(self) -> None:
            raise KeyboardInterrupt

    def interrupted() -> None:
        from remit.state import commits

        original = commits.Ticket.__init__

        def init(ticket: commits.Ticket, *given: object) -> None:
            original(ticket, *given)  # type: ignore[arg-type]
            ticket.wake = Interrupted()  # type: ignore[assignment]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(commits.Ticket, "__init__", init)
            try:
                state.append("never")
            except KeyboardInterrupt:
                answers.append("interrupted")

    _in_threads([threading.Thread(target=interrupted)])
    later = threading.Thread(target=lambda: answers.append(state.append("later")))
    later.start()
    _waiting(state, 1)
    may_end.set()
    for thread in (stalled, later):
        thread.join()
    assert answers == ["interrupted", 1]
    assert [record.event for record in state.records()] == ["later"]


def test_a_long_reader_is_named_and_writing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("remit.state.database.WAL_TOO_LONG", 1_000_000)
    with State(tmp_path) as state:
        state.append("x")
        reader = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT 1 FROM records LIMIT 1").fetchone()
        with caplog.at_level(logging.WARNING, logger="remit.state"):
            for _ in range(520):
                state.append("x", sealed={"text": "y" * 5_000}, durable=False)
        assert "keeps a transaction on it open" in caplog.text and len(caplog.records) <= 2
        grown = (tmp_path / "state.db-wal").stat().st_size
        reader.execute("COMMIT")
        reader.close()
        monkeypatch.undo()
        for _ in range(300):
            state.append("x", durable=False)
        assert (tmp_path / "state.db-wal").stat().st_size < grown + 200_000
        assert state.append("last") == 822
