"""What breaks from outside: no descriptors, no disk, floods, rubbish, a supervisor or a host that is killed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.echo_pack import written
from benchmarks.endurance import at_once
from benchmarks.fuzz_frames import fuzz

from remit_sandbox.errors import SandboxError
from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import alive, call, eventually, kill, make_pack, run, spec_of, value

ROOT = Path(__file__).parents[1]
ENDURANCE = """
import json
from dataclasses import replace
from benchmarks.echo_pack import written
from benchmarks.endurance import held, one_by_one
from remit_sandbox import Sandbox

with written("endured") as (spec,), Sandbox() as sandbox:
    single = replace(spec, isolation="fresh")
    one_by_one(sandbox, spec, 20)
    one_by_one(sandbox, single, 5)
    before = held(sandbox)
    one_by_one(sandbox, spec, 300)
    one_by_one(sandbox, single, 15)
    print(json.dumps([vars(before), vars(held(sandbox))]))
"""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def program(pack: Path, code: str) -> list[str]:
    """A program of its own that has a spec for the pack."""
    start = f"""
import os, pathlib, resource, sys
sys.path.insert(0, {str(ROOT)!r})
from remit_sandbox.errors import SandboxError
from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import call, kill, run, spec_of, value
spec = spec_of(pathlib.Path({str(pack)!r}))
"""
    return [sys.executable, "-c", start + textwrap.dedent(code)]


def test_random_frames_end_as_messages_or_as_errors_of_the_protocol() -> None:
    """`python -m benchmarks.fuzz_frames` tries a million."""
    counted = fuzz(4_000, seed=int(time.time()))
    assert counted["taken"] and counted["refused"], "the control: some are fine"


@LINUX
def test_nothing_grows_with_the_number_of_calls() -> None:
    """`python -m benchmarks.endurance` makes ten thousand. Alone in a process: what other tests hold is not counted."""
    done = subprocess.run([sys.executable, "-c", ENDURANCE], cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    for memory in ("host_memory", "supervisor_memory"):
        assert after.pop(memory) < before.pop(memory) + 2 * 1024 * 1024
    assert after == before


def test_many_calls_at_once_are_all_served() -> None:
    """`python -m benchmarks.endurance` makes a thousand at a time."""
    with written("crowded") as (spec,), Sandbox(max_cells=8) as sandbox:
        at_once(sandbox, spec, 60)
        assert eventually(lambda: len(sandbox._pool.known()) <= 8)


@pytest.mark.parametrize("length", [1 << 30, (1 << 32) - 1])
def test_a_frame_of_a_gigabyte_is_refused_before_it_is_read(pack: Path, sandbox: Sandbox, length: int) -> None:
    code = f"""
import gc
from remit_sandbox.inside.channel import Channel
import os
channel = next(one for one in gc.get_objects() if isinstance(one, Channel))
try:
    os.write(channel._fd, ({length}).to_bytes(4, "big"))
    for _ in range(1024):
        os.write(channel._fd, bytes(1 << 20))
except OSError:
    os._exit(0)
"""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with sandbox.borrow(spec_of(pack), "s") as cell:
        reply = run(cell, code)
        assert reply.kind == "died" and "longer than the limit" in reply.error
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < used + 100 * 1024
    with sandbox.borrow(spec_of(pack), "s") as cell:
        assert value(call(cell, "echo", text="the next is fine")) == "the next is fine"


@LINUX
def test_a_host_without_descriptors_is_told_and_goes_on_when_it_has_some(pack: Path) -> None:
    code = """
    with Sandbox(spares=0) as sandbox:
        with sandbox.borrow(spec, "s") as cell:
            assert value(call(cell, "echo", text="x")) == "x"
        kept = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        try:
            while True:
                kept.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            pass
        with sandbox.borrow(spec, "s") as cell:
            print("a warm cell needs none:", value(call(cell, "echo", text="x")))
        try:
            sandbox.cell(spec)
        except SandboxError as error:
            print("told:", error)
        for descriptor in kept:
            os.close(descriptor)
        print("again:", value(call(sandbox.cell(spec), "echo", text="x")))
    """
    done = subprocess.run(program(pack, code), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "a warm cell needs none: x" in done.stdout and "again: x" in done.stdout
    assert "told: pack tools: this program cannot connect to a cell: Too many open files" in done.stdout


@LINUX
def test_a_supervisor_without_descriptors_is_told_and_loses_nobody(pack: Path) -> None:
    with Sandbox(spares=0) as sandbox:
        first = sandbox.cell(spec_of(pack))
        supervisor = sandbox._supervisor()._process.pid
        try:
            soft, hard = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
            resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (20, hard))
        except PermissionError:
            pytest.skip("limits of another process cannot be set here")
        with pytest.raises(SandboxError, match="Too many open files"):
            for _ in range(20):
                sandbox.cell(spec_of(pack))
        assert value(call(first, "echo", text="still here")) == "still here"
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (soft, hard))
        assert value(call(sandbox.cell(spec_of(pack)), "echo", text="again")) == "again"
        assert sandbox._supervisor()._process.pid == supervisor


@pytest.mark.skipif(not Path("/usr/bin/unshare").exists(), reason="needs unshare")
def test_a_full_disk_is_told_and_harms_nothing(pack: Path, tmp_path: Path) -> None:
    """The folder for temporary folders lies on a file system of its own, which the program fills."""
    full = tmp_path / "full"
    full.mkdir()
    code = f"""
    with Sandbox(spares=0) as sandbox, sandbox.borrow(spec, "s") as cell:
        fill = os.open({str(full / "fill")!r}, os.O_CREAT | os.O_WRONLY)
        try:
            while True:
                os.write(fill, bytes(4096))
        except OSError:
            pass
        write = "open('some', 'wb').write(bytes(1 << 20))"
        print("in the cell:", run(cell, write).error)
        print("still served:", value(call(cell, "echo", text="x")))
        try:
            print("another cell:", value(call(sandbox.cell(spec), "echo", text="x")))
        except SandboxError as error:
            print("another cell:", error)
        os.close(fill)
        os.unlink({str(full / "fill")!r})
        print("again:", value(run(cell, write)), value(call(sandbox.cell(spec), "echo", text="x")))
    """
    mount = ["/usr/bin/unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             f'mount -t tmpfs -o size=4m none "{full}" && TMPDIR="{full}" exec "$@"', "sh"]  # fmt: skip
    done = subprocess.run([*mount, *program(pack, code)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"this machine mounts nothing for a user: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    assert "in the cell: OSError: [Errno 28] No space left on device" in done.stdout
    assert "still served: x" in done.stdout and "again: None x" in done.stdout
    assert "another cell: " in done.stdout


@LINUX
@pytest.mark.parametrize("when", ["before", "while it starts"])
def test_a_killed_supervisor_is_replaced_whenever_it_dies(pack: Path, when: str) -> None:
    spec = spec_of(pack)
    with Sandbox() as sandbox:
        supervisor = sandbox._supervisor()._process.pid
        if when == "before":
            kill(supervisor)
        else:
            child = os.fork()
            if child == 0:
                time.sleep(0.003)
                os.kill(supervisor, signal.SIGKILL)
                os._exit(0)
            os.waitpid(child, os.WNOHANG)
        with sandbox.borrow(spec, "s") as cell:
            reply = call(cell, "echo", text="x")
        if reply.kind != "result":
            assert when != "before" and reply.kind == "died"
            with sandbox.borrow(spec, "s") as cell:
                reply = call(cell, "echo", text="x")
        assert value(reply) == "x"
        if when != "before":
            os.waitpid(child, 0) if alive(child) else None
    assert eventually(lambda: not alive(supervisor))


@LINUX
@pytest.mark.parametrize("isolation", ["warm", "fresh"])
def test_kill_in_mid_call_of_cell_or_host_leaves_no_orphan(pack: Path, isolation: str) -> None:
    code = f"""
    import dataclasses
    spec = dataclasses.replace(spec, isolation={isolation!r})
    sandbox = Sandbox()
    sandbox.prepare(spec)
    while not sandbox.spares(spec):
        pass
    with sandbox.borrow(spec, "s") as cell:
        pids = [cell.pid, *(one.pid for one in sandbox._pool.known())]
        print(*pids, sandbox._supervisor()._process.pid, sandbox._supervisor().base, flush=True)
        call(cell, "sleep", seconds=600, timeout=600)
    """
    with subprocess.Popen(program(pack, code), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as host:
        assert host.stdout is not None
        *pids, base = host.stdout.readline().split()
        assert all(alive(int(pid)) for pid in pids)
        host.kill()
    assert eventually(lambda: not any(alive(int(pid)) for pid in pids) and not Path(base).exists())
