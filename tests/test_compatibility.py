"""What popular libraries do inside a cell, tried; `docs/compatibility.md` is the same table.

`python -m tests.test_compatibility` writes the page. A library that is not installed is skipped with that reason.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from remit_sandbox.probe import probe
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.supervisor.client import site_folders
from remit_sandbox.values import CellSpec, Limits, Rights
from tests import web_servers
from tests.compatibility_cases import CASES, Case
from tests.sandbox_parts import make_pack, run, spec_of, value

PAGE = Path(__file__).parents[1] / "docs" / "compatibility.md"
MiB = 1024 * 1024

pytestmark = pytest.mark.confinement


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


@pytest.fixture(scope="module")
def web() -> Iterator[int]:
    with web_servers.serving(web_servers.plain()) as port:
        yield port


def spec_for(case: Case, pack: Path, port: int, program: str) -> CellSpec:
    limits = Limits(memory=1024 * MiB, processes=8 if case.needs in ("exec", "shm") else 0)
    grant = (f"localhost:{port}",) if case.needs == "net" else ()
    rights = Rights(
        net=grant,
        private_net=grant,
        exec=(program,) if case.needs == "exec" else (),
        shm=case.needs == "shm",
        limits=limits,
    )
    paths = tuple(dict.fromkeys([*site_folders(), *_folders_of(case.package)]))
    isolation: Literal["process", "fresh"] = "process" if case.needs in ("exec", "shm") else "fresh"
    made = spec_of(pack, rights=rights, isolation=isolation, confined=True)
    return CellSpec(**{**made.__dict__, "paths": paths})


def _folders_of(package: str) -> list[str]:
    spec = importlib.util.find_spec(package) if package else None
    return [str(Path(spec.origin).parents[1])] if spec is not None and spec.origin else []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_as_the_page_says(sandbox: Sandbox, pack: Path, web: int, case: Case) -> None:
    if case.package and not _folders_of(case.package):
        pytest.skip(f"{case.package} is not installed here")
    own = [row.by for row in probe().rows if row.right == "shared memory of its own"]
    if case.needs == "shm" and own != ["kernel"]:
        pytest.skip("this machine allows no mount namespace")
    program = os.path.realpath("/bin/echo")
    code = case.code.format(url=f"http://localhost:{web}/", program=program)
    with sandbox.borrow(spec_for(case, pack, web, program), "s") as cell:
        assert value(run(cell, code)) == "True"


def test_ordinary_programs_feel_at_home(sandbox: Sandbox, pack: Path) -> None:
    code = """
import asyncio, concurrent.futures, pathlib, shutil, sqlite3, ssl, tempfile, threading, zoneinfo, datetime
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "a.db")
    base = sqlite3.connect(path)
    base.execute("create table t (x)"); base.execute("insert into t values (1)"); base.commit(); base.close()
    shutil.copy2(path, folder + "/b.db")
    shutil.move(folder + "/b.db", "c.db")
with concurrent.futures.ThreadPoolExecutor(4) as threads:
    total = sum(threads.map(lambda n: n, range(10)))
async def main():
    await asyncio.sleep(0)
    return await asyncio.to_thread(lambda: 1)
asyncio.run(main())
ssl.create_default_context()
zone = datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Asia/Kolkata")).strftime("%z")
print("printed")
out = total, zone, pathlib.Path("c.db").exists()
"""
    with sandbox.borrow(spec_of(pack, confined=True), "s") as cell:
        assert value(run(cell, code)) == "(45, '+0530', True)"
        assert cell.output().stdout == "printed\n"


def test_the_page_is_this_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.test_compatibility writes it"


def page() -> str:
    """The page, whole."""
    lines = [_HEAD, "| library | what is tried | needs |", "|---|---|---|"]
    lines += [f"| {case.name} | {case.does} | {_needed(case)} |" for case in CASES if not case.limit]
    lines += [_LIMITS, "| what | limit |", "|---|---|"]
    lines += [f"| {case.name} | {case.limit} |" for case in CASES if case.limit]
    return "\n".join([*lines, ""])


def _needed(case: Case) -> str:
    pools = '`shm`, `isolation = "process"`, `limits.processes`'
    return {"": "nothing", "net": "`net`", "exec": "`exec`", "shm": pools}[case.needs]


_HEAD = """\
# What works inside a cell

Ordinary Python programs feel at home in a cell: a temporary folder and a home of their own, time zones, locale,
certificates, threads. Each line is a test (`tests/test_compatibility.py`, which also checks that this page is
the same table); what the pack needs in its manifest stands beside it.
"""
_LIMITS = """
## Named limits

Each is tried as well: it fails as it says, and never silently.
"""

if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
