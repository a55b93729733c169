"""Each limit ends in a result of its own, and leaves alone what stays below it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.pool import MiB
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Limits, Rights
from tests.sandbox_parts import alive, call, eventually, limited, make_pack, run, spec_of, value

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux holds or tells this")
GROW = """
import pathlib, time
for number in range({files}):
    pathlib.Path({folder!r}, str(number)).write_bytes(bytes({size}))
time.sleep({pause})
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


@pytest.mark.parametrize(
    ("limits", "code", "told"),
    [
        pytest.param({"memory": 64 * MiB}, "bytes(300 << 20)", "limits.memory is 64 MiB", marks=LINUX),
        ({"open_files": 64}, "kept = [open('/dev/null') for _ in range(80)]", "limits.open_files is 64"),
        ({"file_size": MiB}, "open('big', 'wb').write(bytes(2 << 20))", "limits.file_size is 1 MiB"),
        ({"result": 1000}, "out = 'x' * 2000", "larger than 1000 bytes"),
        (
            {"disk": MiB},
            "open('big', 'wb').write(bytes(3 << 20)); import time; time.sleep({pause})",
            "temporary folder",
        ),
        ({"cpu": 1.0}, "import time\nwhile time.process_time() < 1.5: pass", "its 1 s of CPU time"),
    ],
)
def test_a_limit_is_named_and_holds_nobody_below_it(
    sandbox: Sandbox, pack: Path, limits: dict[str, float], code: str, told: str
) -> None:
    with sandbox.borrow(spec_of(pack, rights=limited(**limits)), "low") as cell:
        reply = run(cell, code.replace("{pause}", "25"))
        assert reply.kind in ("failed", "died")
        assert told in reply.error
    higher = limited(**{name: 10 * limit for name, limit in limits.items()})
    with sandbox.borrow(spec_of(pack, rights=higher), "high") as cell:
        assert run(cell, code.replace("{pause}", "1.5")).kind == "result"


@LINUX
def test_cpu_time_is_named_though_its_signal_is_ignored(sandbox: Sandbox, pack: Path) -> None:
    cell = sandbox.cell(spec_of(pack, rights=limited(cpu=1.0)))
    reply = run(cell, "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass")
    assert reply.kind == "died" and "its 1 s of CPU time" in reply.error


def test_a_cell_that_is_killed_for_another_reason_is_not_said_to_have_used_its_time(
    sandbox: Sandbox, pack: Path
) -> None:
    cell = sandbox.cell(spec_of(pack, rights=limited(cpu=100.0)))
    assert "SIGKILL" in run(cell, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)").error


@pytest.mark.parametrize("many", [0, 6000])
def test_write_roots_may_grow_so_far_and_no_further(pack: Path, tmp_path: Path, many: int) -> None:
    """With many files in it, growth is told by the free space of the file system."""
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    for number in range(many):
        (root / f"old{number}").touch()
    (root / "old").write_bytes(bytes(8 << 20))
    rights = Rights(write=(f"{root}/**",), limits=Limits(disk=32 * MiB))
    grow = {"folder": str(root / "deep"), "size": MiB}
    with Sandbox() as sandbox:
        with sandbox.borrow(spec_of(pack, rights=rights), "s") as cell:
            assert value(run(cell, GROW.format(files=4, pause=1, **grow))) == "None"
            reply = call(cell, "evaluate", code=GROW.format(files=60, pause=30, **grow))
            assert reply.kind == "died" and "write roots grew by more than 32 MiB" in reply.error
        with sandbox.borrow(spec_of(pack, rights=rights), "s") as cell:
            assert value(run(cell, GROW.format(files=4, pause=1, **grow))) == "None", "what is there counts no more"


def test_a_cell_that_has_used_half_of_its_disk_is_replaced_between_calls(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit_sandbox.members._LOOK_EVERY", 0.0)
    rights = Rights(write=(f"{tmp_path}/**",), limits=Limits(disk=32 * MiB))
    with Sandbox() as sandbox:
        seen = []
        for files in (1, 1, 20, 20, 20):
            with sandbox.borrow(spec_of(pack, rights=rights), "s") as cell:
                code = GROW.format(files=files, pause=0, folder=str(tmp_path), size=MiB)
                assert value(run(cell, code)) == "None"
                seen.append(cell.pid)
                if len(seen) <= 3:
                    assert eventually(lambda cell=cell, grown=files * MiB: cell.grown() >= grown), "it is looked at"
    assert seen[0] == seen[1] == seen[2] != seen[3]


def test_printed_text_is_kept_up_to_its_limit(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, rights=limited(output=100)), "s") as cell:
        assert value(run(cell, "print('x' * 5000)")) == "None"
        printed = cell.output()
        assert printed.cut and len(printed.stdout) == 100
    with sandbox.borrow(spec_of(pack), "s") as cell:
        assert value(run(cell, "print('x' * 5000)")) == "None"
        assert not cell.output().cut


def test_wall_time_holds_for_all_that_a_call_started(sandbox: Sandbox, pack: Path) -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\ntime.sleep({seconds})"
    cell = sandbox.cell(spec_of(pack))
    assert call(cell, "evaluate", code=code.format(seconds=0.1), timeout=30).kind == "result"
    reply = call(cell, "evaluate", code=code.format(seconds=600), timeout=0.3)
    assert reply.kind == "timeout" and "0.3 s" in reply.error
    assert eventually(lambda: not alive(cell.pid))
