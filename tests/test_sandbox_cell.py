from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.errors import CellStartError, ProtocolError, SandboxError
from remit_sandbox.sandbox import Sandbox
from tests.sandbox_parts import alive, body, call, eventually, kill, limited, make_pack, run, spec_of, value


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


def test_a_call_comes_back(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        assert value(call(cell, "echo", text="北京 20°")) == "北京 20°"


def test_a_long_text_goes_both_ways(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        assert value(call(cell, "echo", text="x" * 3_000_000)) == "x" * 3_000_000


def test_a_call_comes_back_in_asyncio(sandbox: Sandbox, pack: Path) -> None:
    async def main() -> None:
        async with sandbox.aborrow(spec_of(pack), "s") as cell:
            for text in ("short", "x" * 3_000_000):
                assert value(await cell.arequest("call", body("echo", text=text), timeout=30)) == text

    asyncio.run(main())


def test_progress_is_told_while_the_handler_works(sandbox: Sandbox, pack: Path) -> None:
    heard: list[str] = []
    with sandbox.borrow(spec_of(pack), "s") as cell:
        reply = cell.request("call", body("steps", count=3), timeout=30, on_progress=heard.append)
    assert value(reply) == "done"
    assert heard == ["step 0", "step 1", "step 2"]


@pytest.mark.parametrize("handler", ["spin", "sleep"])
def test_a_late_call_is_killed_whatever_it_does(sandbox: Sandbox, pack: Path, handler: str) -> None:
    arguments = {"seconds": 600} if handler == "sleep" else {}
    cell = sandbox.cell(spec_of(pack))
    reply = cell.request("call", body(handler, **arguments), timeout=0.2)
    assert reply.kind == "timeout"
    assert "0.2 s" in reply.error
    assert cell.broken
    assert not alive(cell.pid)
    assert not Path(cell.tmp).exists()


def test_a_late_call_is_killed_in_asyncio(sandbox: Sandbox, pack: Path) -> None:
    async def main() -> None:
        async with sandbox.aborrow(spec_of(pack), "s") as cell:
            reply = await cell.arequest("call", body("spin"), timeout=0.2)
            assert reply.kind == "timeout"
            assert not alive(cell.pid)

    asyncio.run(main())


def test_cancelling_kills_the_cell(sandbox: Sandbox, pack: Path) -> None:
    async def main() -> None:
        async with sandbox.aborrow(spec_of(pack), "s") as cell:
            task = asyncio.create_task(cell.arequest("call", body("sleep", seconds=600), timeout=600))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert cell.broken
            assert not alive(cell.pid)

    asyncio.run(main())


def test_a_cell_killed_in_mid_call_is_told_and_replaced(sandbox: Sandbox, pack: Path) -> None:
    async def main() -> None:
        async with sandbox.aborrow(spec_of(pack), "killed") as cell:
            task = asyncio.create_task(cell.arequest("call", body("sleep", seconds=600), timeout=600))
            await asyncio.sleep(0.1)
            kill(cell.pid)
            reply = await task
        assert reply.kind == "died"
        assert signal.SIGKILL.name in reply.error
        async with sandbox.aborrow(spec_of(pack), "killed") as other:
            assert other.pid != cell.pid
            assert value(await other.arequest("call", body("echo", text="next"), timeout=30)) == "next"

    asyncio.run(main())


def test_a_handler_that_exits_the_process_is_told(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        reply = call(cell, "leave", status=3)
    assert reply.kind == "died"
    assert "status 3" in reply.error


def test_printed_floods_are_capped_and_do_not_block(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, rights=limited(output=1000)), "s") as cell:
        assert value(call(cell, "flood", size=100 * 1024 * 1024)) == "done"
        printed = cell.output()
        assert printed.stdout == "x" * 1000
        assert printed.cut
        assert value(run(cell, "print('later')")) == "None"
        assert cell.output().stdout == "later\n"
        assert not cell.output().cut


def test_what_a_dead_cell_printed_is_kept(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        run(cell, "import os; os.write(2, b'last words'); os._exit(1)")
        assert cell.output().stderr == "last words"


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\1\xc0",
        b"\0\0\0\5hello",
        b"\0\0\0\x0c\x82\xa2op\xa1x\xa2id\x01xx",
    ],
)
def test_a_cell_that_writes_rubbish_is_ended(sandbox: Sandbox, pack: Path, frame: bytes) -> None:
    code = f"""
import os, socket
for number in range(3, 256):
    try:
        connection = socket.socket(fileno=os.dup(number))
        connection.send({frame!r})
    except OSError:
        pass
"""
    with sandbox.borrow(spec_of(pack), "s") as cell:
        reply = run(cell, code)
        assert reply.kind == "died"
        assert "protocol" in reply.error
        assert cell.broken


def test_a_broken_cell_says_so(sandbox: Sandbox, pack: Path) -> None:
    cell = sandbox.cell(spec_of(pack))
    cell.kill()
    cell.kill()
    with pytest.raises(SandboxError, match="has ended"):
        call(cell, "echo", text="x")


def test_a_request_that_is_too_long_leaves_the_cell_alone(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        with pytest.raises(ProtocolError, match="longer"):
            cell.request("call", {"arguments": b"x" * (65 * 1024 * 1024)}, timeout=10)
        assert value(call(cell, "echo", text="still here")) == "still here"


def test_an_import_that_fails_is_told_with_its_lines(sandbox: Sandbox, tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "import nothing_of_that_name\n")
    with pytest.raises(CellStartError, match="nothing_of_that_name") as caught:
        sandbox.cell(spec_of(pack))
    assert caught.value.pack == "tools"
    assert "__init__.py:1" in caught.value.traceback


def test_an_import_that_hangs_is_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    with pytest.raises(CellStartError, match="longer than 1 s"):
        sandbox.cell(spec_of(pack, start_timeout=1.0))


def test_an_import_that_exits_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    pack = make_pack(tmp_path, "import os\nos._exit(5)\n")
    with pytest.raises(CellStartError, match="status 5"):
        sandbox.cell(spec_of(pack))


def test_skills_are_described(sandbox: Sandbox, pack: Path) -> None:
    cell = sandbox.cell(spec_of(pack))
    described = cell.describe({"echo": ("tools:echo", None), "none": ("tools:none", None)})
    assert b'"text"' in described["echo"].schema
    assert described["none"].error
    cell.close()


def test_cpu_time_ends_in_its_own_words(sandbox: Sandbox, pack: Path) -> None:
    cell = sandbox.cell(spec_of(pack, rights=limited(cpu=1.0)))
    reply = run(cell, "while True: pass")
    assert reply.kind == "died"
    assert "CPU time" in reply.error or "SIGKILL" in reply.error


def test_a_full_folder_ends_in_its_own_words(sandbox: Sandbox, pack: Path) -> None:
    cell = sandbox.cell(spec_of(pack, rights=limited(disk=1024 * 1024)))
    code = "import time\nopen('big', 'wb').write(bytes(5 * 1024 * 1024))\ntime.sleep(600)"
    reply = call(cell, "evaluate", code=code, timeout=60)
    assert reply.kind == "died"
    assert "temporary folder" in reply.error
    assert eventually(lambda: not Path(cell.tmp).exists())


def test_one_call_at_a_time(sandbox: Sandbox, pack: Path) -> None:
    async def main() -> None:
        async with sandbox.aborrow(spec_of(pack), "s") as cell:
            code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nout = 'gone on'"
            task = asyncio.create_task(cell.arequest("call", body("evaluate", code=code), timeout=60))
            await asyncio.sleep(0.05)
            with pytest.raises(SandboxError, match="another call"):
                call(cell, "echo", text="x")
            Path(cell.tmp, "go").touch()
            assert value(await task) == "'gone on'"

    asyncio.run(main())
