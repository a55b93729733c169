"""Reported faults of other systems' logs (cases of the area `audit`, by their ids), as they would show here."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from remit.evidence.checkpoints import make_checkpoint
from remit.evidence.verify import verify
from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.state.chain import Entry
from remit.state.store import State
from remit.values import Result
from tests.pipeline_parts import Bench, host_skill


def test_e153_every_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with State(tmp_path / "state") as state:
            state.append("x")
            make_checkpoint(state)
            assert state.owner.id
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.folder.rglob("*")}
            state.close()
            modes |= {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.folder.rglob("*")}
    finally:
        os.umask(before)
    assert {"state.db", "state.db-wal", "state.db-shm", "log.key", "log.head"} <= modes.keys()
    folders = {"keys", "running"}
    assert {name: mode for name, mode in modes.items() if mode != (0o700 if name in folders else 0o600)} == {}


def test_e157_a_line_break_in_a_name_stays_in_its_record(tmp_path: Path) -> None:
    name = "x\n2026-01-01 approved wipe"
    with State(tmp_path) as state:
        state.append("x", session=name, skill=name, call=name, body={"text": name})
        (record,) = state.records()
        assert (record.session, record.body["text"]) == (name, name)
    assert verify(tmp_path / "state.db").holds


def test_e160_a_shorter_chain_does_not_verify(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append_all([Entry(event="x") for _ in range(20)])
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("DELETE FROM records WHERE seq > (SELECT max(seq) - 5 FROM records)")
    connection.commit()
    connection.close()
    found = verify(tmp_path / "state.db")
    assert found.first is not None and (found.first.seq, found.first.kind) == (16, "truncated")


def _append(folder: Path, count: int) -> None:
    with State(folder) as state:
        for number in range(count):
            state.append("x", body={"n": number}, durable=number % 2 == 0)


def test_e161_processes_write_one_chain(tmp_path: Path) -> None:
    """`REMIT_WRITERS` of 8 and `REMIT_WRITES` of 1000 are what the case asks for."""
    writers, writes = int(os.environ.get("REMIT_WRITERS", "3")), int(os.environ.get("REMIT_WRITES", "40"))
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_append, args=(tmp_path, writes)) for _ in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    with State(tmp_path) as state:
        assert [record.seq for record in state.records()] == list(range(1, writers * writes + 1))
    assert verify(tmp_path / "state.db").holds


def test_e164_a_clock_that_goes_back_gives_no_duration_and_drops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> str:
        """Act."""
        return "done"

    def earlier(attempt: Attempt, result: Result) -> Result:
        return replace(result, duration=-0.5)

    monkeypatch.setattr(outcome, "timed", earlier)
    with Bench(tmp_path, host_skill(act)) as bench:
        assert bench.call("local.act").status == "ok"
        (finished,) = bench.state.records(event="call.finished")
        assert finished.body["duration"] is None and "clock" in finished.body["no_duration"]


def test_a_wall_clock_that_steps_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with State(tmp_path) as state:
        for moment in (1.8e9, 0.0, -5.0, 1.8e9 + 0.25, 1e300, 1.7e9):
            state.append_all([Entry(event="x", time=moment)])
        assert [record.time for record in state.records()] == [1.8e9, 0.0, -5.0, 1.8e9 + 0.25, 1e300, 1.7e9]
    assert verify(tmp_path / "state.db").holds


def test_e165_a_broken_file_is_refused_each_time_and_left_for_a_person(tmp_path: Path) -> None:
    from remit.errors import StateError

    with State(tmp_path) as state:
        state.append_all([Entry(event="x") for _ in range(50)])
        last = list(state.records())[-1].leaf
    broken = b"broken" * 5_000
    (tmp_path / "state.db").write_bytes(broken)
    for _ in range(2):
        with State(tmp_path) as state, pytest.raises(StateError, match="damaged") as caught:
            state.append("y")
        assert "move it away" in caught.value.remedy
        assert (tmp_path / "state.db").read_bytes() == broken
    (tmp_path / "state.db").rename(tmp_path / "broken.db")
    with State(tmp_path) as state:
        state.append("y")
        (restarted, _) = state.records()
        assert restarted.event == "log.restarted" and restarted.body["leaf"] == last


def test_e167_large_results_are_stored_once_and_the_log_stays_small(tmp_path: Path) -> None:
    def large() -> str:
        """Give much."""
        return "five megabytes would do, too. " * 4_000

    with Bench(tmp_path, host_skill(large)) as bench:
        for _ in range(8):
            assert bench.call("local.large").handle is not None
        count, size = bench.state.database.read(
            lambda c: c.execute("SELECT count(*), sum(length(data)) FROM contents").fetchone()
        )
        assert count == 1 and size < 200_000
        payloads = bench.state.database.read(lambda c: c.execute("SELECT max(size) FROM payloads").fetchone()[0])
        assert payloads < 10_000
        assert len(list(bench.state.records(limit=10, newest_first=True))) == 10
        (hashed,) = {json.dumps(r.body["sha256"]).split('"')[3] for r in bench.state.records(event="call.finished")}
        assert len(hashed) == 64
