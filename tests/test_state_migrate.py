"""An older `state.db` is brought up to date: nothing is lost, the old file is kept, the log verifies."""

from __future__ import annotations

import multiprocessing
import sqlite3
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from remit.errors import StateError, UsageError
from remit.evidence.verify import verify
from remit.state.backup import backup
from remit.state.chain import Entry
from remit.state.migrate import copy_name
from remit.state.store import State
from remit.state.tables import APPLICATION, STEPS, VERSION, statements
from remit_sandbox.canonical import canonical
from tests.test_state_full import no_room


def old_file(folder: Path, records: int = 30) -> Path:
    """Make a file as version 1 was."""
    folder.mkdir(exist_ok=True)
    connection = sqlite3.connect(folder / "state.db", isolation_level=None)
    for statement in statements(STEPS[0]):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA user_version = 1")
    query = "INSERT INTO records (time, session, event, skill, call, body) VALUES (?, ?, ?, ?, ?, ?)"
    for number in range(records // 3):
        about = ("s", "files.write_file", f"c{number}")
        rows = [
            ("call.proposed", {"principal": "ann", "arguments": {"$odd": number, "é": 2**70}}),
            ("call.decided", {"verdict": "allow"}),
            ("call.started", {"effect": "write"}),
        ]
        for event, body in rows:
            connection.execute(query, (1.7e9 + number, about[0], event, about[1], about[2], canonical(body)))
    connection.execute("INSERT INTO sessions VALUES ('s', 1.0, 2.0, 'answered', '[]')".replace("'[]'", "x'5b5d'"))
    connection.close()
    return folder / "state.db"


def test_nothing_is_lost_and_the_log_verifies(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    old = path.read_bytes()
    with State(tmp_path) as state:
        records = list(state.records())
        assert [record.seq for record in records] == list(range(1, 32))
        assert [record.event for record in records[:3]] == ["call.proposed", "call.decided", "call.started"]
        assert records[0].body == {"principal": "ann", "arguments": {"$$odd": 0, "é": {"$int": str(2**70)}}}
        assert (records[0].who, records[1].verdict, records[2].effect) == ("ann", "allow", "write")
        assert records[-1].event == "log.migrated" and records[-1].body["records"] == 30
        saved = state.load_session("s")
        assert saved is not None and saved.status == "answered"
        assert state.append("x") == 32
        assert len(state.find_lost()) == 10 == len(state.in_doubt())
    found = verify(path)
    assert found.holds and found.records == 42
    kept = copy_name(path, 1)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    connection = sqlite3.connect(kept)
    assert connection.execute("SELECT count(*) FROM records").fetchone() == (30,)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    assert old[:16] == kept.read_bytes()[:16]


def rows_of(connection: sqlite3.Connection, query: str) -> list[Any]:
    return connection.execute(query).fetchall()


def test_a_new_file_and_an_old_one_come_out_alike(tmp_path: Path) -> None:
    old_file(tmp_path / "old")
    schemas = []
    for name in ("old", "new"):
        with State(tmp_path / name) as state:
            state.append("x")
            query = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
            schemas.append(state.database.read(partial(rows_of, query=query)))
            version = state.database.read(lambda c: c.execute("PRAGMA user_version").fetchone())
            assert version == (VERSION,)
    assert schemas[0] == schemas[1]


def _append(folder: Path) -> None:
    with State(folder) as state:
        state.append("x")


def test_processes_that_open_an_old_file_at_once_agree(tmp_path: Path) -> None:
    path = old_file(tmp_path, 300)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_append, args=(tmp_path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with State(tmp_path) as state:
        assert len(list(state.records(event="log.migrated"))) == 1
        assert len(list(state.records(event="x"))) == 2
    assert verify(path).holds


def test_a_disk_that_is_full_leaves_the_old_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_file(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with no_room(20_000), State(tmp_path) as state, pytest.raises(StateError):
        state.append("x")
    with monkeypatch.context() as patch:
        patch.setattr("remit.state.migrate._chain_old_records", full)
        with State(tmp_path) as state, pytest.raises(StateError):
            state.append("x")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM records").fetchone() == (30,)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    with State(tmp_path) as state:
        assert state.append("x") == 32


def test_a_backup_taken_while_others_write_verifies(tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    with State(tmp_path / "state") as state:
        state.append_all([Entry(event="x", sealed={"text": "y" * 500}) for _ in range(2_000)])
        assert backup(tmp_path / "state", target) == target.stat().st_size
        state.append("later")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    found = verify(target)
    assert found.holds and (found.records, found.payloads) == (2_000, 2_000)
    with pytest.raises(UsageError, match="there already"):
        backup(tmp_path / "state", target)
    with pytest.raises(StateError, match="to copy"):
        backup(tmp_path / "none", tmp_path / "other.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "state"]


def test_a_log_that_begins_anew_says_what_was_before(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        for _ in range(3):
            state.append("x")
        last = list(state.records())[-1]
    (tmp_path / "state.db").unlink()
    with State(tmp_path) as state:
        state.append("x")
        (first, _) = state.records()
        assert first.event == "log.restarted"
        assert (first.body["seq"], first.body["leaf"]) == (3, last.leaf)
    found = verify(tmp_path / "state.db")
    assert found.holds and found.restarted.startswith("remit.log/")
