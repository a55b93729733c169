"""`shm`: a /dev/shm of the cell's own, or a refusal that says why not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.errors import CellStartError
from remit_sandbox.probe import probe
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Limits, Rights
from tests.sandbox_parts import make_pack, plain_python, run, spec_of, value
from tests.without_calls import without

ROOT = Path(__file__).parents[1]
confinement = pytest.mark.confinement
available = pytest.mark.skipif(
    sys.platform != "linux"
    or not any(r.right == "shared memory of its own" and r.by == "kernel" for r in probe().rows),
    reason="this machine allows no mount namespace",
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


@confinement
@available
def test_pools_and_locks_work_with_shm(sandbox: Sandbox, pack: Path) -> None:
    code = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
    out = list(pool.map(abs, [-1, -2]))
"""
    spec = spec_of(pack, rights=Rights(shm=True, limits=Limits(processes=8)), isolation="process", confined=True)
    with sandbox.borrow(spec, "s") as cell:
        assert cell.enforcement["shared memory"] == "kernel"
        assert value(run(cell, code)) == "[1, 2]"


@confinement
def test_without_it_the_error_names_what_is_missing(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        reply = run(cell, "import multiprocessing; multiprocessing.Lock()")
    assert "no right to shared memory (missing: shm = true)" in reply.error
    assert [(one.right, one.missing) for one in reply.denied] == [("shm", "shm = true")]
    assert plain_python("import multiprocessing; multiprocessing.Lock()").returncode == 0


@confinement
@available
def test_it_is_nobody_elses(sandbox: Sandbox, pack: Path) -> None:
    outside = Path("/dev/shm", f"remit-test-{os.getpid()}")
    outside.write_text("of the host")
    try:
        spec = spec_of(pack, rights=Rights(shm=True), confined=True)
        with sandbox.borrow(spec, "one") as one, sandbox.borrow(spec, "two") as two:
            made = "import os\nopen('/dev/shm/mine', 'w').write('x')\nout = os.listdir('/dev/shm')"
            assert value(run(one, made)) == "['mine']"
            assert value(run(two, "import os; out = os.listdir('/dev/shm')")) == "[]"
            assert run(one, f"open({str(outside)!r}).read()").kind == "failed"
            assert run(one, "import ctypes; assert ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0").kind == "failed"
            assert run(one, "import os; os.mknod('/dev/shm/b', 0o060600)").kind == "failed"
            mount = "import ctypes; assert ctypes.CDLL(None).mount(b'none', b'/dev/shm', b'tmpfs', 0, None) == 0"
            assert run(one, mount).kind == "failed"
        assert not Path("/dev/shm/mine").exists()
        assert plain_python(f"open({str(outside)!r}).read()").returncode == 0
    finally:
        outside.unlink()


@confinement
@available
def test_its_size_is_limited(sandbox: Sandbox, pack: Path) -> None:
    rights = Rights(shm=True, limits=Limits(disk=1024 * 1024))
    fill = "open('/dev/shm/much', 'wb').write(bytes({size}))"
    with sandbox.borrow(spec_of(pack, rights=rights, confined=True), "s") as cell:
        assert run(cell, fill.format(size=2 * 1024 * 1024)).kind == "failed"
        assert "No space left" in run(cell, fill.format(size=2 * 1024 * 1024)).error
        assert run(cell, "import os; os.unlink('/dev/shm/much')").kind == "result"
        assert run(cell, fill.format(size=512 * 1024)).kind == "result"


@confinement
@available
def test_a_person_without_privileges_has_it_through_a_user_namespace(tmp_path: Path) -> None:
    """The confinement itself, without an interpreter that another user could not read."""
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT / "sandbox")!r})
from remit_sandbox.confine import process, shared
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
process.hide_memory(False)
user = os.getuid()
try:
    shared.enter(1024 * 1024)
except OSError as error:
    print("refused:", error.strerror)
    raise SystemExit
process.drop_capabilities()
open("/dev/shm/mine", "w").write("x")
print(os.getuid() == user, os.listdir("/dev/shm"))
"""
    done = plain_python(code)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("refused"):
        assert "needs a mount namespace" in done.stdout
        pytest.skip(done.stdout)
    assert done.stdout == "True ['mine']\n"


def test_where_there_is_none_it_is_refused_with_the_reason(pack: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has mount namespaces")
    code = """
    (row,) = [row for row in probe(refresh=True).rows if row.right == "shared memory of its own"]
    print(row.by, row.detail)
    with Sandbox() as sandbox:
        try:
            sandbox.cell(spec_of(pack, rights=Rights(shm=True)))
        except Exception as error:
            print(type(error).__name__, error)
        with sandbox.borrow(spec_of(pack), "s") as cell:
            print(value(call(cell, "echo", text="the control")))
    """
    done = without(pack, '[numbers["unshare"]]', code)
    assert done.returncode == 0, done.stderr
    row, refused, control = done.stdout.splitlines()
    assert row.startswith("not enforced skills that ask for shm are refused: shared memory needs a mount namespace")
    assert refused.startswith("CellStartError pack tools:") and "needs a mount namespace" in refused
    assert control == "the control"
    assert CellStartError.__name__ in refused
