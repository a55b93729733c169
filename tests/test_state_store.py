"""`State`: one private file, usable by threads and processes, with errors in plain words."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from remit.errors import StateError
from remit.state.store import State


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    State(tmp_path / "state").close()
    assert not (tmp_path / "state").exists()


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with State(tmp_path / "state") as state:
            state.append("call.started", session="s")
            files = {path.name: _mode(path) for path in state.folder.iterdir()}
            assert files == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
            assert _mode(state.folder) == 0o700
    finally:
        os.umask(before)


def test_a_folder_that_others_can_read_is_narrowed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    with State(folder) as state:
        state.append("x")
        assert _mode(folder) == 0o700


def test_what_is_written_is_there_after_reopening(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("call.started", session="s", skill="a.b", call="1", body={"n": 1})
        state.close()
        assert [record.body for record in state.records()] == [{"n": 1}]
    with State(tmp_path) as again:
        assert [record.skill for record in again.records()] == ["a.b"]


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("x")
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with State(tmp_path) as state, pytest.raises(StateError, match="newer Remit") as caught:
        state.append("y")
    assert "upgrade" in caught.value.remedy


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with State(tmp_path) as state, pytest.raises(StateError, match="another program"):
        state.append("y")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"this is no database at all" * 100)
    with State(tmp_path) as state, pytest.raises(StateError, match="damaged"):
        state.append("y")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with State(tmp_path / "file" / "state") as state, pytest.raises(StateError, match="cannot be used"):
        state.append("y")


def test_a_full_disk_refuses_writes_and_still_reads(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("x", body={"n": 1})
        state.database.read(lambda c: c.execute("PRAGMA max_page_count = 30").fetchone())
        with pytest.raises(StateError, match="disk is full"):
            state.put_blob(os.urandom(1_000_000), "application/octet-stream")
        assert len(list(state.records())) == 1
        state.database.read(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone())
        assert state.append("y") == 2


def test_a_locked_file_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.state.database.BUSY", 0.05)
    with State(tmp_path) as state:
        state.append("x")
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError, match="locked"):
            state.append("y")
        other.execute("ROLLBACK")
        other.close()
        assert state.append("z") == 2


def test_threads_share_one_state(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        threads = [
            threading.Thread(target=lambda n=n: [state.append("x", body={"n": n}) for _ in range(25)]) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [record.seq for record in state.records()] == list(range(1, 201))


def _append(folder: Path, count: int) -> None:
    with State(folder) as state:
        for _ in range(count):
            state.append("x")


def test_processes_share_one_state_from_the_first_moment(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append, args=(tmp_path / "state", 20)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    with State(tmp_path / "state") as state:
        assert [record.seq for record in state.records()] == list(range(1, 81))


def test_a_forked_child_opens_its_own(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("parent")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                state.append("child")
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        state.append("parent")
        assert [record.event for record in state.records()] == ["parent", "child", "parent"]


def in_another_process(folder: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom remit.state.store import State\n"
        "with State(Path(sys.argv[1])) as state:\n    state.append('other')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, timeout=60)


def test_two_of_one_process_lose_nothing_to_another_process(tmp_path: Path) -> None:
    with State(tmp_path) as one, State(tmp_path) as two:
        one.append("one")
        two.append("two")
        in_another_process(tmp_path)
        one.append("one")
        two.append("two")
        in_another_process(tmp_path)
    with State(tmp_path) as state:
        assert [record.event for record in state.records()] == ["one", "two", "other", "one", "two", "other"]


def test_a_child_that_outlives_its_parents_connection_loses_nothing(tmp_path: Path) -> None:
    begun, go_on = os.pipe(), os.pipe()
    with State(tmp_path) as state:
        state.append("parent")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                state.append("child")
                os.write(begun[1], b"x")
                os.read(go_on[0], 1)
                state.append("child")
                code = 0
            finally:
                os._exit(code)
        os.read(begun[0], 1)
    in_another_process(tmp_path)
    os.write(go_on[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    for end in (*begun, *go_on):
        os.close(end)
    with State(tmp_path) as state:
        assert [record.event for record in state.records()] == ["parent", "child", "other", "child"]


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("x")

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM records")
            raise ValueError("no")

        with pytest.raises(ValueError):
            state.database.write(work)
        assert len(list(state.records())) == 1
