"""Attacks of a cell on its host and on the machine: time, disk, what is left behind."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit_sandbox.cell import Cell
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.supervisor import folders
from remit_sandbox.values import Reply
from tests.sandbox_parts import SOURCE, body, call, limited, make_pack, run, spec_of, value

FLOOD = '''
def flood(ctx, frames: int) -> str:
    """Write progress past the channel, as fast as the machine can; 0 for ever."""
    import gc, inspect, itertools, os
    import msgpack
    from remit_sandbox.inside.channel import Channel

    channel = next(one for one in gc.get_objects() if isinstance(one, Channel))
    frame = inspect.currentframe()
    while frame and "identity" not in frame.f_locals:
        frame = frame.f_back
    body = msgpack.packb({"op": "progress", "id": frame.f_locals["identity"], "text": "x"})
    one = len(body).to_bytes(4, "big") + body
    for _ in range(frames) if frames else itertools.count():
        data = memoryview(one * (1 if frames else 2000))
        while data:
            data = data[os.write(channel._fd, data):]
    return "done"
'''


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"), SOURCE + FLOOD)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def waited(cell: Cell, frames: int, timeout: float) -> Reply:
    return cell.request("call", body("flood", frames=frames), timeout=timeout)


def awaited(cell: Cell, frames: int, timeout: float) -> Reply:
    async def both() -> Reply:
        ticks = asyncio.create_task(asyncio.sleep(0.01))
        reply = await cell.arequest("call", body("flood", frames=frames), timeout=timeout)
        assert not frames or reply.kind == "result"
        assert frames or ticks.done(), "nothing else ran meanwhile"
        await ticks
        return reply

    return asyncio.run(both())


@pytest.mark.parametrize("ask", [waited, awaited])
def test_a_flood_of_progress_does_not_outlast_the_timeout(
    pack: Path, sandbox: Sandbox, ask: Callable[[Cell, int, float], Reply]
) -> None:
    cell = sandbox.cell(spec_of(pack))
    assert ask(cell, 50, 60).text == b'"done"'
    assert ask(cell, 0, 0.5).kind == "timeout"
    assert cell.broken


def test_a_tree_deeper_than_a_path_is_removed(tmp_path: Path) -> None:
    """Recursion would end the remover instead, and everything would stay."""
    top = tmp_path / "cell"
    top.mkdir()
    (top / "file").write_text("x")
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(top)
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        Path("leaf").write_text("x")
    finally:
        os.fchdir(before)
        os.close(before)
    folders.remove(str(top))
    assert list(tmp_path.iterdir()) == []
    folders.remove(str(top))


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of a user for whom permissions count."""
    with tempfile.TemporaryDirectory() as place:
        user = os.geteuid()
        os.chmod(place, 0o777)
        try:
            if user == 0:
                os.seteuid(65534)
            yield Path(place)
        finally:
            if user == 0:
                os.seteuid(0)


def test_folders_without_permissions_are_removed_and_links_not_followed() -> None:
    with ordinary_user() as place:
        victim = place / "victim"
        victim.mkdir(mode=0o755)
        (victim / "kept").write_text("x")
        cell = place / "cell"
        cell.mkdir()
        for name in ("link", "locked/link", "locked/inner/link"):
            (cell / name).parent.mkdir(parents=True, exist_ok=True)
            (cell / name).symlink_to(victim)
        (cell / "locked" / "inner").chmod(0)
        (cell / "locked").chmod(0)
        with pytest.raises(PermissionError):
            os.listdir(cell / "locked")
        folders.remove(str(cell))
        assert not cell.exists()
        assert stat.S_IMODE(victim.stat().st_mode) == 0o755
        assert (victim / "kept").read_text() == "x"
        (place / "alias").symlink_to(victim)
        folders.remove(str(place / "alias"))
        assert (victim / "kept").exists()


def test_what_cannot_be_looked_at_counts_as_endless() -> None:
    with ordinary_user() as place:
        (place / "file").write_bytes(b"x" * 5000)
        assert 5000 <= folders.size(str(place)) < 100_000
        hidden = place / "hidden"
        hidden.mkdir()
        hidden.chmod(0o300)
        (hidden / "file").write_bytes(b"x" * 5000)
        assert folders.size(str(place)) > 1 << 40
        hidden.chmod(0o700)
        assert folders.size(str(place)) < 100_000


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_files_that_are_removed_and_held_open_count(pack: Path, sandbox: Sandbox) -> None:
    code = """
import os, time
for number in range({count}):
    held = os.open(os.environ["TMPDIR"] + "/big", os.O_CREAT | os.O_RDWR)
    os.unlink(os.environ["TMPDIR"] + "/big")
    os.write(held, b"x" * 1_000_000)
time.sleep({seconds})
out = len(os.listdir(os.environ["TMPDIR"]))
"""
    spec = spec_of(pack, rights=limited(disk=4_000_000))
    with sandbox.borrow(spec, "s") as cell:
        assert value(run(cell, code.format(count=1, seconds=1))) == "0"
    with sandbox.borrow(spec, "t") as cell:
        reply = run(cell, code.format(count=8, seconds=60))
        assert reply.kind == "died" and "of its temporary folder" in reply.error


def test_nothing_of_a_hostile_cell_is_left(pack: Path, sandbox: Sandbox) -> None:
    cell = sandbox.cell(spec_of(pack))
    code = """
import os
os.chdir(os.environ["TMPDIR"])
os.mkdir("locked", 0)
os.symlink("/", "root")
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
out = "done"
"""
    assert value(run(cell, code)) == "'done'"
    cell.kill()
    assert not Path(cell.tmp).exists()
    with sandbox.borrow(spec_of(pack), "s") as other:
        assert value(call(other, "echo", text="still here")) == "still here"
