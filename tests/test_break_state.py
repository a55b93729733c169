"""Attacks on the state: where nothing can be recorded, nothing runs, and the message says why."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from remit.errors import StateError
from remit.state.store import State
from tests.in_process import remit
from tests.test_break_packs import Place

WRITES = '''
from pathlib import Path

def run(ctx) -> str:
    """Run."""
    Path(ctx.tmp, "trace").write_text("ran")
    print("the handler ran", flush=True)
    return "ran"
'''


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_full_from_the_start_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.db").symlink_to("/dev/full")
    with State(tmp_path) as state, pytest.raises(StateError, match="the disk is full"):
        state.append("call.proposed", session="s", body={})
    (tmp_path / "state.db").unlink()
    with State(tmp_path) as state:
        assert state.append("call.proposed", session="s", body={}) == 1


@pytest.mark.parametrize("damage", ["garbage", "pages", "folder", "size"])
def test_a_call_that_cannot_be_recorded_does_not_run(tmp_path: Path, damage: str) -> None:
    place = Place(tmp_path, code=WRITES)
    place.enable()
    environment = {"PYTHONPATH": str(place.site)}
    usual = remit("call", "tide.run", folder=place.folder, environment=environment)
    assert usual.out == "ran\n"
    with place.open() as deployment:
        database = deployment.state_folder / "state.db"
    honest = database.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        if damage == "folder":
            database.unlink()
            database.mkdir()
        elif damage == "size":
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        else:
            database.write_bytes(b"garbage" * 999 if damage == "garbage" else honest[:4096] + os.urandom(len(honest)))
        ran = remit("call", "tide.run", folder=place.folder, environment=environment, expect=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot be used" in ran.err and "ran" not in ran.out
    assert "Traceback" not in ran.err
    if damage == "folder":
        database.rmdir()
    database.write_bytes(honest)
    assert remit("call", "tide.run", folder=place.folder, environment=environment).out == "ran\n"
