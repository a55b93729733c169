"""Transcripts are kept message by message: what was saved before is not written again, and nothing gets lost."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.loop.kept import Kept
from remit.pipeline.redact import Redactor
from remit.state.database import Database
from remit.state.retention import Selection, before_size, remove, would_remove
from remit.state.store import State
from remit.state.tables import APPLICATION, STEPS, statements


def message(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"message {number}: Grüße \ud800"}


def places(state: State, session: str = "s") -> list[int]:
    query = "SELECT place FROM messages WHERE session = ? ORDER BY place"
    found: list[int] = state.database.read(lambda c: [row[0] for row in c.execute(query, (session,))])
    return found


def saved(state: State, session: str = "s") -> list[Any]:
    found = state.load_session(session)
    assert found is not None
    return list(found.transcript)


def written(state: State) -> int:
    """Rows that this connection has changed so far."""
    return state.database.read(lambda connection: connection.total_changes)


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    transcript = [message(number) for number in range(50)]
    with State(tmp_path) as state:
        state.save_session("s", transcript[:48], status="running")
        before = written(state)
        state.save_session("s", transcript, status="answered", same=48)
        assert written(state) - before == 3  # two messages and the session itself
        before = written(state)
        state.save_session("s", transcript, status="answered")
        assert written(state) - before == 101  # the control: all of it goes and comes again
        assert saved(state) == transcript


@pytest.mark.parametrize("left", [0, 1, 3])
def test_what_somebody_removed_meanwhile_is_written_again(tmp_path: Path, left: int) -> None:
    transcript = [message(number) for number in range(6)]
    with State(tmp_path) as state:
        state.save_session("s", transcript[:4], status="running")
        state.database.write(lambda c: c.execute("DELETE FROM messages WHERE place >= ?", (left,)))
        state.save_session("s", transcript, status="answered", same=4)
        assert saved(state) == transcript and places(state) == list(range(6))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_a_run_saves_what_its_transcript_is(steps: list[tuple[int, int]]) -> None:
    """Whatever is taken back and added between two times of saving."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, State(Path(folder)) as state:
        store = Kept(state, Redactor())
        transcript: list[dict[str, Any]] = []
        number = 0
        for dropped, added in steps:
            transcript = transcript[: max(0, len(transcript) - dropped)]
            for _ in range(added):
                number += 1
                transcript.append(message(number))
            store.save_session("s", transcript, status="running", durable=False)
            assert saved(state) == transcript


def test_secrets_are_hidden_in_what_is_saved_alone(tmp_path: Path) -> None:
    said = {"role": "user", "content": "password: hunter2hunter2"}
    with State(tmp_path) as state:
        Kept(state, Redactor()).save_session("s", [said], status="running")
        assert "hunter2" not in json.dumps(saved(state)) and "hunter2" in said["content"]


def test_a_fork_has_its_own_messages(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.save_session("s", [message(1)], status="answered")
        state.fork_session("s", "t")
        state.save_session("s", [message(1), message(2)], status="answered")
        assert (len(saved(state)), len(saved(state, "t"))) == (2, 1)
        assert state.delete_session("s")
        assert places(state) == [] and saved(state, "t") == [message(1)]


def test_removal_takes_the_messages_along(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.who = "ann"
        state.save_session("s", [message(1)], status="answered")
        state.who = "bob"
        state.save_session("t", [message(2)], status="answered")
        planned = would_remove(state.database, Selection(who="ann"))
        assert planned.sessions == 1 and planned.bytes >= len(message(1)["content"])
        assert before_size(state.database, 0.0) is not None
        remove(state.database, Selection(who="ann"), why="person")
        assert (places(state), places(state, "t")) == ([], [0])


def old_file(folder: Path, transcripts: dict[str, bytes]) -> None:
    """Make a file as version 2 was."""
    connection = sqlite3.connect(folder / "state.db", isolation_level=None)
    for step in STEPS[:2]:
        for statement in statements(step):
            connection.execute(statement)
    connection.execute("DROP TABLE old_records")
    query = "INSERT INTO sessions (id, created, updated, status, transcript) VALUES (?, 1.0, 1.0, 'answered', ?)"
    connection.executemany(query, list(transcripts.items()))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA user_version = 2")
    connection.close()


def test_transcripts_of_an_older_file_come_along(tmp_path: Path) -> None:
    transcript = [message(number) for number in range(3)]
    old_file(tmp_path, {"s": json.dumps(transcript).encode(), "empty": b"[]", "damaged": b"[{"})
    with State(tmp_path) as state:
        assert saved(state) == transcript
        assert saved(state, "empty") == saved(state, "damaged") == []


def count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_save_that_fails_leaves_the_session_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next one writes everything that is due."""
    with State(tmp_path) as state:
        store = Kept(state, Redactor())
        transcript = [message(1)]
        store.save_session("s", transcript, status="running")
        with monkeypatch.context() as patch:
            patch.setattr(Database, "write", _full)
            transcript.append(message(2))
            with pytest.raises(OSError, match="full"):
                store.save_session("s", transcript, status="running")
        assert state.database.read(partial(count, table="messages")) == 1
        store.save_session("s", transcript, status="answered")
        assert saved(state) == transcript


def _full(*_: Any, **__: Any) -> None:
    raise OSError("the disk is full")
