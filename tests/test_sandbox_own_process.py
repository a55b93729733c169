"""What a cell sees of itself in /proc, whatever the kernel's caches do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import eventually, make_pack, run, spec_of, value

confinement = pytest.mark.confinement


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


def drop_caches() -> bool:
    Path("/proc/sys/vm/drop_caches").write_text("2")
    return True


@confinement
@pytest.mark.skipif(not os.access("/proc/sys/vm/drop_caches", os.W_OK), reason="only root can drop the kernel's caches")
def test_proc_self_outlives_the_kernels_cache(sandbox: Sandbox, pack: Path) -> None:
    """Rules follow inodes, and those of /proc go unless somebody holds them: the control lets go of them."""
    read = "out = open('/proc/self/status').read().startswith('Name')"
    with sandbox.borrow(spec_of(pack, confined=True), "holds") as cell:
        with sandbox.borrow(spec_of(pack, confined=True), "lets go") as control:
            assert value(run(control, read)) == "True"
            assert value(run(control, "import os; os.closerange(256, 300)")) == "None"
            lost = eventually(lambda: drop_caches() and run(control, read).kind == "failed", 10)
        assert value(run(cell, read)) == "True"
        if not lost:
            pytest.skip("vacuous: somebody else kept the entries of the control in the cache")
        assert run(cell, "open('/proc/self/net/tcp')").kind == "failed"
        assert run(cell, "open('/proc/self/mountinfo')").kind == "failed"


KEPT = """
import os
found = []
for number in os.listdir("/proc/self/fd"):
    try:
        found.append(os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        continue
own = f"/proc/{os.getpid()}"
plain = ("/dev/null", "pipe:", "socket:", own)
out = [link for link in found if not link.startswith(plain)], sum(link.startswith(own) for link in found)
"""


@confinement
def test_what_is_kept_open_is_its_own_and_opens_nothing_else(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        others, own = eval(value(run(cell, KEPT)))
        assert others == [] and own >= 10
        reach = "import os\nout = os.open({path!r}, os.O_RDONLY, dir_fd={number})"
        for path in ("root/etc/passwd", "../1/environ", "net/tcp", "cwd/../x", "mountinfo"):
            for number in (256, 257):
                assert run(cell, reach.format(path=path, number=number)).kind == "failed", path
        assert run(cell, "import os; out = os.read(256, 1)").kind == "failed"
        assert value(run(cell, "import os; out = os.open('status', os.O_RDONLY, dir_fd=256) > 0")) == "True"
