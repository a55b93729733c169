"""How long the command line takes to start, against a bare interpreter: `python -m benchmarks.startup [--json]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measure import in_turns, report, row

AIMS = {"remit --version": "at most 2x", "remit packs list": "at most 6x", "import remit": "at most 120 ms more"}


def command(*arguments: str, folder: str, state: str) -> Callable[[], None]:
    """Return a run of one command, from start to exit."""
    environment = {**os.environ, "REMIT_STATE": state}

    def run() -> None:
        subprocess.run(arguments, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    return run


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/startup.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="counted runs of each command")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    remit = str(Path(sys.executable).with_name("remit"))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        subprocess.run([remit, "init", "--yes"], cwd=folder, env={**os.environ, "REMIT_STATE": state}, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        seconds = in_turns(
            {
                "python -c pass": command(sys.executable, "-c", "pass", folder=folder, state=state),
                "import remit": command(sys.executable, "-c", "import remit", folder=folder, state=state),
                "remit --version": command(remit, "--version", folder=folder, state=state),
                "remit --help": command(remit, "--help", folder=folder, state=state),
                "remit packs list": command(remit, "packs", "list", folder=folder, state=state),
            },
            rounds=options.rounds,
        )
    bare = seconds["python -c pass"]
    rows = [{**row(name, times, bare), "aim": AIMS.get(name, "")} for name, times in seconds.items()]
    report("Start-up, whole process", rows, unit="ms", scale=1000, file="startup.json", json_out=options.json)


if __name__ == "__main__":
    main()
