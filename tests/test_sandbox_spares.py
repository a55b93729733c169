"""Cells prepared ahead, cells that are replaced, and cells that make room."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remit_sandbox.pool import MiB
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Isolation, Retirement, Rights
from tests.sandbox_parts import alive, body, call, eventually, kill, limited, make_pack, run, spec_of, value


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


def use(sandbox: Sandbox, spec: CellSpec, session: str) -> int:
    with sandbox.borrow(spec, session) as cell:
        assert value(call(cell, "echo", text="x")) == "x"
        return cell.pid


def ready(sandbox: Sandbox, spec: CellSpec, count: int) -> bool:
    return eventually(lambda: sandbox.spares(spec) == count)


@pytest.mark.parametrize("isolation", ["fresh", "process"])
def test_a_spec_that_is_asked_for_again_has_spares(sandbox: Sandbox, pack: Path, isolation: Isolation) -> None:
    spec = spec_of(pack, isolation=isolation)
    use(sandbox, spec, "s")
    assert not sandbox.spares(spec)
    use(sandbox, spec, "s")
    assert ready(sandbox, spec, 2)
    spares = {cell.pid for cell in sandbox._pool.known()}
    first, second = use(sandbox, spec, "s"), use(sandbox, spec, "s")
    assert {first, second} <= spares and first != second
    assert ready(sandbox, spec, 2)
    assert eventually(lambda: not any(thread.name == "remit-spares" for thread in threading.enumerate()))


def test_what_is_prepared_need_not_be_waited_for(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)
    sandbox.prepare(spec)
    assert ready(sandbox, spec, 1)
    (spare,) = sandbox._pool.known()
    assert use(sandbox, spec, "first") == spare.pid
    assert use(sandbox, spec, "first") == spare.pid
    assert ready(sandbox, spec, 1)
    assert use(sandbox, spec, "second") != spare.pid


def test_without_spares_none_is_started(pack: Path) -> None:
    with Sandbox(spares=0) as sandbox:
        spec = spec_of(pack, isolation="fresh")
        sandbox.prepare(spec)
        for _ in range(3):
            use(sandbox, spec, "s")
        assert not sandbox._pool.untidy
        assert not sandbox.spares(spec)


def test_a_spare_serves_its_own_spec_only(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack, secrets={"key": "mine"})
    sandbox.prepare(spec)
    assert ready(sandbox, spec, 1)
    (spare,) = sandbox._pool.known()
    others = [replace(spec, secrets={}), replace(spec, secrets={"key": "other"}), replace(spec, isolation="fresh"),
              replace(spec, rights=limited(disk=1_000_000)), replace(spec, settings={"a": 1})]  # fmt: skip
    assert spare.pid not in {use(sandbox, other, "s") for other in others}
    assert use(sandbox, replace(spec), "s") == spare.pid


def test_nothing_passes_from_one_session_or_call_to_another(sandbox: Sandbox, pack: Path) -> None:
    leave = "import os, builtins; builtins.left = 1; open('left', 'w').close(); out = os.getcwd()"
    look = "import os, builtins; out = os.path.exists('left') or hasattr(builtins, 'left')"
    for isolation in ("warm", "fresh", "process"):
        spec = spec_of(pack, isolation=isolation)  # type: ignore[arg-type]
        sandbox.prepare(spec)
        places = set()
        for session in ("a", "b", "c"):
            with sandbox.borrow(spec, session) as cell:
                assert value(run(cell, look)) == "False"
                places.add(value(run(cell, leave)))
                assert value(run(cell, look)) == "True", "the control sees it"
        assert len(places) == 3


def test_a_shared_cell_serves_sessions_in_turn_and_others_never_do(sandbox: Sandbox, pack: Path) -> None:
    assert use(sandbox, spec_of(pack, shared=True), "a") == use(sandbox, spec_of(pack, shared=True), "b")
    assert use(sandbox, spec_of(pack), "a") != use(sandbox, spec_of(pack), "b")


def test_spares_count_and_go_first(pack: Path) -> None:
    with Sandbox(max_cells=3) as sandbox:
        spec, other = spec_of(pack), spec_of(pack, settings={"other": 1})
        sandbox.prepare(other)
        assert ready(sandbox, other, 1)
        kept = [use(sandbox, spec, "a"), use(sandbox, replace(spec, settings={"b": 1}), "b")]
        use(sandbox, replace(spec, settings={"c": 1}), "c")
        assert sandbox.spares(other) == 0
        assert all(alive(pid) for pid in kept)
        assert len(sandbox._pool.known()) == 3


def test_a_spare_that_cannot_be_started_is_not_tried_for_ever(sandbox: Sandbox, tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "import os\nos._exit(1)\n")
    spec = spec_of(pack)
    sandbox.prepare(spec)
    assert eventually(lambda: not sandbox._pool.untidy)
    assert not sandbox.spares(spec) and not sandbox._pool.known()


@pytest.mark.parametrize("spoilt", ["dead", "file replaced", "not at all"])
def test_a_spare_that_died_or_whose_file_was_replaced_is_not_used(
    sandbox: Sandbox, pack: Path, tmp_path: Path, spoilt: str
) -> None:
    path, new = tmp_path / "notes.txt", tmp_path / "new"
    path.write_text("same", encoding="utf-8")
    new.write_text("same", encoding="utf-8")
    spec = spec_of(pack, rights=Rights(read=(str(path),)))
    sandbox.prepare(spec)
    assert ready(sandbox, spec, 1)
    (spare,) = sandbox._pool.known()
    if spoilt == "dead":
        kill(spare.pid)
        assert eventually(lambda: not alive(spare.pid))
    elif spoilt == "file replaced":
        new.rename(path)
    with sandbox.borrow(spec, "s") as cell:
        assert (cell.pid == spare.pid) is (spoilt == "not at all")
        assert value(run(cell, f"out = open({str(path)!r}).read()")) == "'same'"


def test_spares_end_with_the_sandbox_even_while_they_start(pack: Path) -> None:
    for pause in (0.0, 0.008, 0.012):
        sandbox = Sandbox()
        spec = spec_of(pack, isolation="fresh")
        sandbox.prepare(spec)
        threading.Event().wait(pause)
        sandbox.close()
        assert eventually(lambda: not any(thread.name == "remit-spares" for thread in threading.enumerate()))
        assert not sandbox._pool.known()


def test_auto_is_warm_while_sessions_are_few_and_fresh_beyond(pack: Path) -> None:
    with Sandbox(max_cells=8) as sandbox:
        spec = spec_of(pack, isolation="auto")
        few = [use(sandbox, spec, f"s{number}") for number in range(4)]
        assert [use(sandbox, spec, f"s{number}") for number in range(4)] == few
        many = [use(sandbox, spec, f"t{number}") for number in range(20)]
        assert len(set(many)) == 20
        assert len(sandbox._pool.known()) <= 8
        assert ready(sandbox, spec, 1)
        again = [use(sandbox, spec, f"t{number}") for number in range(20)]
        kept = sum(before == after for before, after in zip(many, again, strict=True))
        assert kept <= 8  # the others were fresh, and are fresh again


def test_auto_with_a_limit_on_cpu_time_is_fresh(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack, isolation="auto", rights=limited(cpu=1.0))
    pids = {use(sandbox, spec, "s") for _ in range(3)}
    assert len(pids) == 3
    assert use(sandbox, spec_of(pack, isolation="auto"), "s") == use(sandbox, spec_of(pack, isolation="auto"), "s")


@pytest.mark.parametrize(
    ("retirement", "lives"), [({"calls": 3}, 3), ({"age": 0.0}, 1), ({"idle": 0.0}, 1), ({"calls": 100}, 5)]
)
def test_cells_are_replaced_by_calls_age_and_idleness(pack: Path, retirement: dict[str, float], lives: int) -> None:
    with Sandbox(retirement=Retirement(**retirement)) as sandbox:  # type: ignore[arg-type]
        pids = [use(sandbox, spec_of(pack), "s") for _ in range(5)]
        assert pids.count(pids[0]) == lives
        assert eventually(lambda: sum(map(alive, set(pids))) <= 1)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc/PID/smaps_rollup")
@pytest.mark.parametrize(("kept", "same"), [(1, True), (80, False)])
def test_cells_that_hold_on_to_memory_are_replaced(
    pack: Path, monkeypatch: pytest.MonkeyPatch, kept: int, same: bool
) -> None:
    monkeypatch.setattr("remit_sandbox.members._LOOK_EVERY", 0.0)
    spec = spec_of(pack, rights=limited(memory=128 * MiB))
    with Sandbox() as sandbox:
        with sandbox.borrow(spec, "s") as cell:
            assert value(run(cell, f"import sys; sys.kept = b'x' * ({kept} << 20)")) == "None"
            first = cell.pid
        assert (use(sandbox, spec, "s") == first) is same


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc/PID/smaps_rollup")
@pytest.mark.parametrize(("kept", "alive_after"), [(1, True), (60, False)])
def test_idle_cells_make_room_for_memory(
    pack: Path, monkeypatch: pytest.MonkeyPatch, kept: int, alive_after: bool
) -> None:
    monkeypatch.setattr("remit_sandbox.members._LOOK_EVERY", 0.0)
    with Sandbox(max_memory=64 * MiB) as sandbox:
        with sandbox.borrow(spec_of(pack), "big") as cell:
            assert value(run(cell, f"import sys; sys.kept = b'x' * ({kept} << 20)")) == "None"
        use(sandbox, spec_of(pack), "other")
        assert alive(cell.pid) is alive_after or eventually(lambda: alive(cell.pid) is alive_after)


OF_THE_SANDBOX = {"remit-cell", "remit-spares"}
"""Threads that start and end cells; those of other tests in this process are not its own."""


def test_an_idle_cell_ends_though_the_host_never_asks_again(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit_sandbox.sandbox._GRACE", 0.2)
    with Sandbox(retirement=Retirement(idle=0.3)) as sandbox:
        pid = use(sandbox, spec_of(pack), "s")
        own = sandbox.cell(spec_of(pack))
        assert eventually(lambda: not alive(pid))
        assert eventually(lambda: not OF_THE_SANDBOX & {thread.name for thread in threading.enumerate()})
        assert value(call(own, "echo", text="a cell of one's own stays")) == "a cell of one's own stays"
        assert use(sandbox, spec_of(pack), "s") != pid


def test_many_calls_at_once_are_served_fresh(pack: Path) -> None:
    async def main(sandbox: Sandbox) -> list[str]:
        async def one(number: int) -> str:
            async with sandbox.aborrow(spec_of(pack, isolation="fresh"), f"s{number % 3}") as cell:
                return str(value(await cell.arequest("call", body("echo", text=str(number)), timeout=60)))

        return await asyncio.gather(*(one(number) for number in range(40)))

    with Sandbox(max_cells=4) as sandbox:
        assert asyncio.run(main(sandbox)) == [str(number) for number in range(40)]
        assert eventually(lambda: len(sandbox._pool.known()) <= 4)
