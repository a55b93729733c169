from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit_sandbox.errors import SandboxError
from remit_sandbox.members import TYPICAL
from remit_sandbox.pool import Caps, Pool
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Rights
from tests.sandbox_parts import alive, body, call, eventually, kill, make_pack, run, spec_of, value


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


def pid_of(sandbox: Sandbox, spec: object, session: str) -> int:
    with sandbox.borrow(spec, session) as cell:  # type: ignore[arg-type]
        return cell.pid


def test_a_warm_cell_serves_its_session_again(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)
    assert pid_of(sandbox, spec, "one") == pid_of(sandbox, spec_of(pack), "one")


def test_sessions_specs_and_secrets_never_share_a_cell(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)
    others = [
        replace(spec, secrets={"key": "a"}),
        replace(spec, secrets={"key": "b"}),
        replace(spec, settings={"x": 1}),
    ]
    pids = {pid_of(sandbox, each, "two") for each in [spec, *others]} | {pid_of(sandbox, spec, "three")}
    assert len(pids) == 5


def test_a_cell_in_use_is_not_lent_twice(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)
    with sandbox.borrow(spec, "four") as one, sandbox.borrow(spec, "four") as other:
        assert one.pid != other.pid


@pytest.mark.parametrize("isolation", ["fresh", "process"])
def test_single_use_cells_are_ended(sandbox: Sandbox, pack: Path, isolation: str) -> None:
    with sandbox.borrow(spec_of(pack, isolation=isolation), "five") as cell:  # type: ignore[arg-type]
        assert value(call(cell, "echo", text="x")) == "x"
    assert cell.broken
    assert eventually(lambda: not alive(cell.pid) and not Path(cell.tmp).exists())


def test_a_cell_that_died_while_idle_is_replaced(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)
    pid = pid_of(sandbox, spec, "six")
    kill(pid)
    assert eventually(lambda: not alive(pid))
    with sandbox.borrow(spec, "six") as cell:
        assert value(call(cell, "echo", text="x")) == "x"


def test_a_cell_is_replaced_when_a_granted_file_was_saved_by_renaming(
    sandbox: Sandbox, pack: Path, tmp_path: Path
) -> None:
    path, new = tmp_path / "notes.txt", tmp_path / "new"
    path.write_text("old", encoding="utf-8")
    spec = spec_of(pack, rights=Rights(read=(str(path),)))
    read = f"out = open({str(path)!r}).read()"
    with sandbox.borrow(spec, "seven") as cell:
        assert value(run(cell, read)) == "'old'"
    new.write_text("new", encoding="utf-8")
    new.rename(path)
    with sandbox.borrow(spec, "seven") as cell:
        assert value(run(cell, read)) == "'new'"


def test_idle_cells_go_first_when_the_pool_is_full(pack: Path) -> None:
    with Sandbox(max_cells=2) as sandbox:
        spec = spec_of(pack)
        first, second = (pid_of(sandbox, spec, name) for name in ("a", "b"))
        third = pid_of(sandbox, spec, "c")
        assert not alive(first)
        assert alive(second)
        assert alive(third)


@pytest.mark.parametrize("rested", [0.0, 600.0])
def test_a_cell_that_has_rested_makes_way_for_one_just_used(
    pack: Path, monkeypatch: pytest.MonkeyPatch, rested: float
) -> None:
    monkeypatch.setattr("remit_sandbox.pool.RESTED", rested)
    spec = spec_of(pack, isolation="auto")
    with Sandbox(max_cells=4) as sandbox:
        for session in ("a", "b", "c", "d"):
            pid_of(sandbox, spec, session)
        pids = {pid_of(sandbox, spec, "e") for _ in range(3)}
        assert (len(pids) == 1) == (rested == 0)


@pytest.mark.parametrize("shared", [True, False])
def test_cells_that_sessions_share_take_a_part_of_the_pool(
    pack: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr("remit_sandbox.pool.LEAST_SHARED", 2)

    async def work(sandbox: Sandbox, number: int) -> int:
        async with sandbox.aborrow(spec_of(pack, shared=shared), str(number)) as cell:
            await cell.arequest("call", body("sleep", seconds=0.01), timeout=60)
            return cell.pid

    async def main(sandbox: Sandbox) -> set[int]:
        return set(await asyncio.gather(*(work(sandbox, number) for number in range(6))))

    with Sandbox(max_cells=8) as sandbox:
        assert len(asyncio.run(main(sandbox))) == (2 if shared else 6)


def test_a_full_pool_is_waited_for_and_grows_in_the_end(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(sandbox: Sandbox, number: int) -> int:
        async with sandbox.aborrow(spec_of(pack), "same") as cell:
            await cell.arequest("call", body("sleep", seconds=0.01), timeout=60)
            return cell.pid

    async def main(sandbox: Sandbox) -> set[int]:
        return set(await asyncio.gather(*(work(sandbox, number) for number in range(40))))

    with Sandbox(max_cells=2) as sandbox:
        assert len(asyncio.run(main(sandbox))) <= 2
        monkeypatch.setattr("remit_sandbox.sandbox.WAIT_FOR_ROOM", 0.05)
        spec = spec_of(pack)
        with sandbox.borrow(spec, "a"), sandbox.borrow(spec, "b"), sandbox.borrow(spec, "c") as third:
            assert value(call(third, "echo", text="x")) == "x"
        assert third.broken


def test_a_session_that_is_over_leaves_no_cell(sandbox: Sandbox, pack: Path) -> None:
    pid = pid_of(sandbox, spec_of(pack), "over")
    sandbox.end_session("over")
    assert not alive(pid)


def test_a_dead_supervisor_is_replaced_and_its_cells_end(pack: Path) -> None:
    with Sandbox() as sandbox:
        spec = spec_of(pack)
        with sandbox.borrow(spec, "s") as cell:
            first = cell.pid
            parent = int(value(run(cell, "import os; out = os.getppid()")))
        base = Path(cell.tmp).parent
        kill(parent)
        assert eventually(lambda: not alive(first))
        with sandbox.borrow(spec, "s") as cell:
            assert value(call(cell, "echo", text="again")) == "again"
        assert not base.exists()


def test_a_supervisor_that_dies_in_mid_call_is_told(pack: Path) -> None:
    async def main() -> None:
        with Sandbox() as sandbox:
            async with sandbox.aborrow(spec_of(pack), "s") as cell:
                parent = int(value(run(cell, "import os; out = os.getppid()")))
                task = asyncio.create_task(cell.arequest("call", body("sleep", seconds=600), timeout=600))
                await asyncio.sleep(0.1)
                kill(parent)
                assert (await task).kind == "died"
            async with sandbox.aborrow(spec_of(pack), "s") as cell:
                assert value(await cell.arequest("call", body("echo", text="x"), timeout=30)) == "x"

    asyncio.run(main())


def test_closing_ends_everything(pack: Path) -> None:
    sandbox = Sandbox()
    cells = [sandbox.cell(spec_of(pack)) for _ in range(3)]
    base = Path(cells[0].tmp).parent
    sandbox.close()
    sandbox.close()
    assert not any(alive(cell.pid) for cell in cells)
    assert not base.exists()
    with pytest.raises(SandboxError, match="has ended"):
        call(cells[0], "echo", text="x")


def test_many_threads_share_a_sandbox(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)

    def work(number: int) -> str:
        with sandbox.borrow(spec, f"thread {number % 4}") as cell:
            return str(value(call(cell, "echo", text=str(number))))

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(100))) == [str(number) for number in range(100)]


def test_many_tasks_share_a_sandbox(sandbox: Sandbox, pack: Path) -> None:
    spec = spec_of(pack)

    async def work(number: int) -> str:
        async with sandbox.aborrow(spec, f"task {number % 4}") as cell:
            return str(value(await cell.arequest("call", body("echo", text=str(number)), timeout=60)))

    async def main() -> list[str]:
        return await asyncio.gather(*(work(number) for number in range(30)))

    assert asyncio.run(main()) == [str(number) for number in range(30)]


def test_giving_up_while_a_cell_starts_leaves_none_behind(pack: Path) -> None:
    async def main(sandbox: Sandbox) -> None:
        async def use() -> None:
            async with sandbox.aborrow(spec_of(pack, isolation="fresh"), "s"):
                await asyncio.sleep(600)

        task = asyncio.create_task(use())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Sandbox() as sandbox:
        asyncio.run(main(sandbox))
        assert eventually(lambda: not any(thread.name == "remit-cell" for thread in threading.enumerate()))
        assert not sandbox._pool.known()


def test_descriptors_and_processes_do_not_grow(sandbox: Sandbox, pack: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/dev/fd"))

    spec = spec_of(pack, isolation="fresh")
    with sandbox.borrow(spec, "grow"):
        pass
    before = descriptors()
    for _ in range(20):
        with sandbox.borrow(spec, "grow") as cell:
            call(cell, "echo", text="x")
    # Spares that stand ready and cells that are being ended come and go; a leak would be one a call.
    assert descriptors() < before + 5


def test_exec_needs_process_isolation(sandbox: Sandbox, pack: Path) -> None:
    with pytest.raises(SandboxError, match='isolation "process"'):
        sandbox.cell(spec_of(pack, rights=Rights(exec=("/bin/true",))))


def test_cells_that_their_makers_have_ended_take_no_room(pack: Path) -> None:
    """A pool that went on counting them would have everybody wait."""
    with Sandbox(max_cells=2, spares=0) as sandbox:
        for _ in range(3):
            sandbox.cell(spec_of(pack)).close()
        kept = sandbox.cell(spec_of(pack))
        assert [cell.pid for cell in sandbox._pool.known()] == [kept.pid]
        assert sandbox._pool.ask(spec_of(pack), "s").done()
        sandbox._pool.failed(spec_of(pack))
        others = [sandbox.cell(spec_of(pack)), sandbox.cell(spec_of(pack))]
        assert not sandbox._pool.ask(spec_of(pack), "s").done(), "the control: those that live do"
        assert all(alive(cell.pid) for cell in others)


NUMBERS = itertools.count(1 << 30)


class Pretended:
    """What a pool looks at in a cell, without a process."""

    def __init__(self, spec: CellSpec) -> None:
        self.spec, self.pid, self.handler, self.files = spec, next(NUMBERS), "", dict[str, tuple[int, ...]]()
        self.usable, self.broken, self.dropped = True, False, False

    def drop(self) -> None:
        self.dropped = True


def start(pool: Pool, spec: CellSpec) -> Any:
    """Have a cell that the pool has counted."""
    cell: Any = Pretended(spec)
    pool.started(cell)
    return cell


OWN, OTHER = CellSpec(pack="own", package="own"), CellSpec(pack="other", package="other")
SHARED = CellSpec(pack="shared", package="shared", shared=True)


@pytest.mark.parametrize(("other", "waits"), [(OTHER, False), (SHARED, True)])
def test_cells_of_others_that_start_leave_a_shared_one_its_part(other: CellSpec, waits: bool) -> None:
    pool = Pool(Caps(cells=32))
    for _ in range(8):
        assert pool.ask(other, "").result() is None
    assert pool.ask(SHARED, "").done() is not waits


@pytest.mark.parametrize("held", [TYPICAL // 4, TYPICAL])
def test_a_cell_that_holds_less_than_it_was_taken_to_makes_room(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr("remit_sandbox.members.private_memory", lambda _: held)
    pool = Pool(Caps(memory=TYPICAL * 3 // 2))
    assert pool.ask(OWN, "a").result() is None
    waiting = pool.ask(OWN, "b")
    assert not waiting.done()
    start(pool, OWN)
    assert waiting.done() is (held < TYPICAL)


@pytest.mark.parametrize("spoilt", ["dead", "file replaced", "not at all"])
def test_who_waits_gets_no_cell_that_would_not_be_lent(tmp_path: Path, spoilt: str) -> None:
    spec = replace(SHARED, rights=Rights(read=(str(tmp_path),)))
    pool = Pool(Caps(cells=32))
    cell, *_ = [start(pool, spec) for _ in range(8) if pool.ask(spec, "").result() is None]
    waiting = pool.ask(spec, "")
    cell.usable = spoilt != "dead"
    cell.files = {str(tmp_path): (1, 2)} if spoilt == "file replaced" else {}
    assert pool.give_back(cell, "")
    assert waiting.result(0) is (cell if spoilt == "not at all" else None)
    assert pool.over() == ([] if spoilt == "not at all" else [cell])


def test_whoever_came_first_gets_the_room_of_a_cell_that_broke() -> None:
    pool = Pool(Caps(cells=1))
    assert pool.ask(OWN, "a").result() is None
    cell = start(pool, OWN)
    first = pool.ask(OWN, "b")
    cell.broken = True
    second = pool.ask(OWN, "c")
    assert first.done() and not second.done()


@pytest.mark.parametrize(("most", "started"), [(32, OTHER), (8, None)])
def test_spares_are_started_though_somebody_waits_for_a_turn(most: int, started: CellSpec | None) -> None:
    pool = Pool(Caps(cells=most))
    pool.expect(OTHER)
    pool.expect(SHARED)
    for _ in range(8):
        assert pool.ask(SHARED, "").result() is None
    assert not pool.ask(SHARED, "").done()
    order = pool.next_spare()
    assert (order and order.spec) == started
    assert pool.next_spare() is None, "and none of the shared ones, of which there are enough"


@pytest.mark.parametrize(("spec", "kept"), [(SHARED, False), (OTHER, True)])
def test_a_shared_cell_too_many_lives_for_one_call(spec: CellSpec, kept: bool) -> None:
    pool = Pool(Caps(cells=32))
    for _ in range(9):
        assert pool.insist(pool.ask(spec, "")) is None
    cells = [start(pool, spec) for _ in range(9)]
    assert pool.give_back(cells[0], "") is kept
    pool.gone(cells[0])
    assert pool.give_back(cells[1], ""), "the control: the others stay"


def test_a_cell_that_its_maker_ends_wakes_who_waits(pack: Path) -> None:
    with Sandbox(max_cells=1, spares=0) as sandbox:
        own = sandbox.cell(spec_of(pack))
        waiting = sandbox._pool.ask(spec_of(pack), "s")
        assert not waiting.done()
        own.close()
        assert waiting.done()


def test_a_coroutine_thrown_away_while_it_waits_takes_no_room() -> None:
    async def main(sandbox: Sandbox) -> None:
        sandbox._pool.enter(OWN)
        waiting = sandbox._take_or_start_aside(OWN, "s")
        waiting.send(None)
        waiting.close()
        sandbox._pool.failed(OWN)
        assert sandbox._pool.ask(OWN, "t").done()

    with Sandbox(max_cells=1) as sandbox:
        asyncio.run(main(sandbox))


def test_without_a_thread_to_start_in_no_room_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with Sandbox(max_cells=1) as sandbox:
        with monkeypatch.context() as patched:
            patched.setattr("threading.Thread.start", no_thread)
            sandbox._pool.expect(OWN)
            sandbox._caretaker.nudge()
            with pytest.raises(RuntimeError, match="new thread"):
                asyncio.run(sandbox._take_or_start_aside(OWN, "s"))
            cell: Any = Pretended(OWN)
            asyncio.run(sandbox._end_aside(cell, "s"))
        assert cell.dropped
        assert sandbox._pool.ask(OWN, "t").done()
        assert not sandbox._caretaker._at_work
