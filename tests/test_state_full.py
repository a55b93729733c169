"""No room: writes are refused with a clear error, reads go on, and writing does when there is room again."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.errors import StateError
from remit.evidence.verify import verify
from remit.state.chain import Entry
from remit.state.store import State
from tests.pipeline_parts import Bench, Person, host_skill


@contextmanager
def no_room(bytes_left: int) -> Iterator[None]:
    """Let files grow to so many bytes only; the kernel refuses more, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("durable", [True, False])
def test_writes_are_refused_reads_go_on_and_room_brings_writing_back(tmp_path: Path, durable: bool) -> None:
    with State(tmp_path) as state:
        for number in range(20):
            state.append("x", body={"n": number}, durable=durable)
        written = 20
        with no_room((tmp_path / "state.db-wal").stat().st_size + 40_000):
            with pytest.raises(StateError) as caught:
                for number in range(20, 2_000):
                    written = state.append("x", body={"n": number}, sealed={"text": "y" * 2_000}, durable=durable)
            assert "cannot be used" in caught.value.message and caught.value.remedy
            for _ in range(3):
                with pytest.raises(StateError):
                    state.append("x", sealed={"text": "y" * 50_000}, durable=durable)
            assert [record.body["n"] for record in state.records()] == list(range(written))
        assert state.append("after", durable=durable) == written + 1
        assert len(list(state.records())) == written + 1
    assert verify(tmp_path / "state.db").holds


def test_a_call_that_cannot_be_recorded_does_not_run(tmp_path: Path) -> None:
    ran: list[str] = []

    def act(text: str) -> str:
        """Act."""
        ran.append(text)
        return "acted"

    with Bench(tmp_path, host_skill(act, effect="write"), approver=Person()) as bench:
        assert bench.call("local.act", text="a").status == "ok"
        wal = (bench.state.folder / "state.db-wal").stat().st_size
        with no_room(wal), pytest.raises(StateError):
            bench.call("local.act", text="b" * 5_000)
        assert ran == ["a"]
        assert bench.call("local.act", text="c").status == "ok" and ran == ["a", "c"]
    assert verify(bench.state.folder / "state.db").holds


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/self/mounts").exists(), reason="needs root to mount a tmpfs")
def test_a_real_disk_that_is_full(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        ballast = small / "ballast"
        with State(small / "state") as state:
            state.append("x")
            ballast.write_bytes(b"x" * 500_000)
            with pytest.raises(StateError, match="the disk is full"):
                while True:
                    state.append("x", sealed={"text": "y" * 5_000})
            count = len(list(state.records()))
            with pytest.raises(StateError, match="the disk is full"):
                asyncio.run(state.aappend_all([Entry(event="x", sealed={"text": "y" * 400_000})]))
            ballast.unlink()
            assert state.append("after") == count + 1
        assert verify(small / "state" / "state.db").holds
    finally:
        subprocess.run(["umount", str(small)], check=True)
