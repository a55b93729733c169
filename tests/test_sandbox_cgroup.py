"""Control groups: real ones where this machine has them, and honest skips where it has not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.sandbox import Sandbox
from remit_sandbox.supervisor import cgroup
from remit_sandbox.values import Limits, Rights
from tests.sandbox_parts import alive, call, eventually, limited, make_pack, spec_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")

FORKS = """
import os, sys, time
sys.path[:0] = {path!r}
from remit_sandbox.supervisor import cgroup
if {group!r}:
    cgroup.join({group!r})
made = 0
try:
    for _ in range({count}):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print(made, flush=True)
time.sleep(60)
"""


def unified() -> Path | None:
    """A folder of the unified hierarchy in which groups can be made."""
    own = cgroup._own()
    return own if own is not None and os.access(own, os.W_OK) else None


def with_pids() -> Path | None:
    """A folder whose groups limit processes; the file is the same in both versions of control groups."""
    if (groups := cgroup.delegated()) is not None and "pids" in groups.controllers:
        return groups._place
    old = Path("/sys/fs/cgroup/pids")
    return old if (old / "cgroup.procs").exists() and os.access(old, os.W_OK) else None


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A group of this test's own below the one that the parameter finds."""
    parent = request.param()
    if parent is None:
        pytest.skip("this machine delegates no control group of the kind")
    path = parent / f"remit-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"this machine makes no control groups: {error}")
    yield path
    assert eventually(lambda: _removed(path))


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except OSError:
        return not path.exists()
    return True


def forks(group: str, count: int) -> tuple[subprocess.Popen[str], int]:
    """Start a program that forks as often as it can; how often that was."""
    code = FORKS.format(path=[p for p in sys.path if p], group=group, count=count)
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert program.stdout is not None
    made = int(program.stdout.readline())
    program.stdout.close()
    return program, made


def end(program: subprocess.Popen[str]) -> None:
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()


@pytest.mark.parametrize("place", [with_pids], indirect=True)
def test_processes_are_limited_by_the_group(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "MOST_THREADS", 3)
    group = cgroup.Groups(place, {"pids"}).make({"processes": 2}, children=True)
    free, control = forks("", 10)
    held, made = forks(str(group.path), 10)
    end(free)
    end(held)
    assert control == 10
    assert made == 4, "5 in all, of which it is one itself"
    assert eventually(lambda: _removed(group.path))


@pytest.mark.parametrize("place", [unified], indirect=True)
def test_one_write_kills_whatever_is_in_a_group(place: Path) -> None:
    group = cgroup.Groups(place, ()).make({"processes": 0}, children=False)
    if not (group.path / "cgroup.kill").exists():
        group.remove()
        pytest.skip("this kernel has no cgroup.kill (it needs Linux 5.14)")
    program, _ = forks(str(group.path), 5)
    inside = [int(line) for line in (group.path / "cgroup.procs").read_text().split()]
    assert len(inside) == 6 and all(map(alive, inside))
    group.kill()
    program.wait()
    assert eventually(lambda: not any(map(alive, inside)))
    deadline = time.monotonic() + 10
    while group.path.exists() and time.monotonic() < deadline:
        group.remove()
    assert not group.path.exists()
    assert group.excess() == ""


def test_nothing_is_made_where_nothing_is_delegated(tmp_path: Path) -> None:
    assert cgroup.delegated(str(tmp_path)) is None
    assert not list(tmp_path.iterdir())


def test_cells_are_held_by_their_groups(tmp_path: Path) -> None:
    groups = cgroup.delegated(os.environ.get(cgroup.VARIABLE))
    if groups is None or "memory" not in groups.controllers:
        pytest.skip("no control group with a memory controller is delegated to this program")
    groups.remove()
    pack = make_pack(tmp_path / "packs")
    touch = "import mmap; kept = mmap.mmap(-1, {size} << 20); kept.write(bytes({size} << 20))"
    with Sandbox() as sandbox:
        cell = sandbox.cell(spec_of(pack, rights=limited(memory=64 << 20)))
        assert call(cell, "evaluate", code=touch.format(size=16)).kind == "result"
        reply = call(cell, "evaluate", code=touch.format(size=90))
        assert "limits.memory" in reply.error
        cell = sandbox.cell(spec_of(pack, isolation="process", rights=Rights(limits=Limits(processes=2))))
        assert "remit-" in Path(f"/proc/{cell.pid}/cgroup").read_text(encoding="ascii")
