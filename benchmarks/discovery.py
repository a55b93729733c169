"""How long it takes to find 1,000 installed packs, and that none of them runs: `python -m benchmarks.discovery`.

Beside it, in the same run: `importlib.metadata.entry_points()` alone, which reads no more than names, and pluggy,
which imports every pack to know it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import pluggy

from benchmarks.measure import in_turns, report, row
from remit.packs.discovery import discover
from remit.packs.listing import listing

AIMS = {"remit, first time": "under 500 ms", "remit, from its index": "under 60 ms"}
LONG_AGO = 1_500_000_000
CODE = """\
from pathlib import Path
Path(__file__).with_name("IMPORTED").touch()
def run() -> str:
    return "ran"
"""
MANIFEST = 'manifest = 1\n[pack]\nname = "{pack}"\n[[skill]]\nname = "run"\nhandler = "{package}:run"\n'


def write_packs(site: Path, count: int) -> None:
    """Install `count` packs into `site`; each leaves a file IMPORTED when it is imported."""
    for number in range(count):
        pack, package = f"tide{number}", f"tide{number}_pack"
        info = f"{package}-1.0.dist-info"
        files = {
            f"{package}/__init__.py": CODE,
            f"{package}/pack.toml": MANIFEST.format(pack=pack, package=package),
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
            f"{info}/entry_points.txt": f"[remit.packs]\n{pack} = {package}\n",
        }
        files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
        for name, text in files.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(text)
    for path in (site, *site.rglob("*")):
        os.utime(path, (LONG_AGO, LONG_AGO))


@contextmanager
def on_path(site: Path) -> Iterator[None]:
    """Put `site` alone before the standard library, as the only place where packs are."""
    before = sys.path[:]
    sys.path[:] = [str(site), *(path for path in sys.path if "site-packages" not in path)]
    try:
        yield
    finally:
        sys.path[:] = before


def import_all(site: Path) -> Callable[[], None]:
    """Return a run of pluggy over all packs, which imports each of them anew."""

    def run() -> None:
        for name in [name for name in sys.modules if name.endswith("_pack")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        manager = pluggy.PluginManager("bench")
        assert manager.load_setuptools_entrypoints("remit.packs") == len(list(site.glob("*.dist-info")))

    return run


def names_alone() -> None:
    """Read the names of all entry points."""
    importlib.invalidate_caches()
    assert entry_points(group="remit.packs")


def first_time(site: Path, index: Path) -> Callable[[], None]:
    """Return a listing that has no index yet, and writes it."""

    def run() -> None:
        shutil.rmtree(index, ignore_errors=True)
        listing(str(index), [str(site)])

    return run


def whole_command(site: Path, state: Path) -> Callable[[], None]:
    """Return a run of `remit packs list`, from start to exit."""
    environment = {**os.environ, "PYTHONPATH": str(site), "REMIT_STATE": str(state)}
    order = [sys.executable, "-m", "remit", "packs", "list"]

    def run() -> None:
        subprocess.run(order, cwd=state.parent, env=environment, check=True, capture_output=True)

    return run


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/discovery.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packs", type=int, default=1000, help="how many are installed")
    parser.add_argument("--rounds", type=int, default=15, help="counted runs of each")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        half, site = top / "half" / "site-packages", top / "site-packages"
        write_packs(half, options.packs // 2)
        write_packs(site, options.packs)
        index = top / "index"
        (top / "state").mkdir(mode=0o700)
        with on_path(site):
            contenders: dict[str, Callable[[], object]] = {
                "entry_points() alone": names_alone,
                "remit, first time": first_time(site, top / "first"),
                "remit, first time, half as many": first_time(half, top / "first-half"),
                "remit, from its index": lambda: listing(str(index), [str(site)]),
                "remit, for a deployment (no index)": lambda: discover([str(site)]),
                "remit packs list, whole process": whole_command(site, top / "state"),
            }
            seconds = in_turns(contenders, rounds=options.rounds)
            ran = len([*site.rglob("IMPORTED"), *half.rglob("IMPORTED")])
            seconds |= in_turns({"pluggy, which imports all": import_all(site)}, rounds=options.rounds)
        assert ran == 0, f"{ran} packs ran while they were listed"
        assert len([*site.rglob("IMPORTED")]) == options.packs, "the packs leave no trace when they run"
    against = seconds["entry_points() alone"]
    rows = [{**row(name, times, against), "aim": AIMS.get(name, "")} for name, times in seconds.items()]
    title = f"{options.packs} installed packs ({ran} ran while remit listed them; all did for pluggy)"
    report(title, rows, unit="ms", scale=1000, file="discovery.json", json_out=options.json)


if __name__ == "__main__":
    main()
