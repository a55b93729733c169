"""A hostile pack cannot read or write what the log is kept in, though it may read and write elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.evidence.checkpoints import make_checkpoint
from remit.evidence.verify import verify
from remit.skills import Skill
from remit_sandbox import Rights, Sandbox
from tests.pipeline_parts import Bench, Person, pack_skills

pytestmark = pytest.mark.confinement

FILES = ("state.db", "state.db-wal", "state.db-shm", "keys/log.key", "running")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def _hostile(sandbox: Sandbox, folder: Path) -> dict[str, Skill]:
    out = str(folder / "workspace" / "out")
    return pack_skills(sandbox, folder, "hostile", rights=Rights(read=(f"{out}/**",), write=(f"{out}/**",)))


def test_a_pack_reaches_no_file_of_the_state(sandbox: Sandbox, tmp_path: Path) -> None:
    skills = _hostile(sandbox, tmp_path)
    with Bench(tmp_path, *skills.values(), sandbox=sandbox, approver=Person()) as bench:
        bench.state.append("x")
        make_checkpoint(bench.state)
        assert bench.state.owner.id
        for name in FILES:
            path = bench.state.folder / name
            assert path.exists()
            before = path.stat().st_size
            read = bench.call("hostile.read_file", path=str(path))
            written = bench.call("hostile.write_file", path=str(path))
            assert (read.status, written.status) == ("failed", "failed"), (name, read, written)
            assert path.stat().st_size >= before
        assert "hostile.write_file" in {record.skill for record in bench.state.records(event="call.finished")}
        found = verify(bench.state.database.path)
        assert found.holds, found.findings


def test_the_control_reads_and_writes_beside_it(sandbox: Sandbox, tmp_path: Path) -> None:
    skills = _hostile(sandbox, tmp_path)
    beside = tmp_path / "workspace" / "out" / "state.db"
    with Bench(tmp_path, *skills.values(), sandbox=sandbox, approver=Person()) as bench:
        assert bench.call("hostile.write_file", path=str(beside)).status == "ok"
        assert bench.call("hostile.read_file", path=str(beside)).text == "hostile"
