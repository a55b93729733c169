"""What many live cells hold: `python -m benchmarks.many_cells [--sessions 100] [--json]`.

Each session calls four packs once. First with room for a cell of each, then with the default cap. Memory is the sum
of what the supervisor and its cells have for themselves and of their parts of what they share (PSS).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.echo_pack import echo, written
from benchmarks.measure import RESULTS, machine
from remit_sandbox import CellSpec, Sandbox
from remit_sandbox.usage import private_memory

PACKS = ("first", "second", "third", "fourth")
AIMS = {"room for all": "under 2.5 GB", "default cap": "under 500 MB"}


def proportional(pid: int) -> int:
    """Bytes of a process, what it shares divided by those who share it; 0 where nobody can say."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def fill(sandbox: Sandbox, specs: Sequence[CellSpec], sessions: int, name: str) -> dict[str, Any]:
    """Have every session call every pack, and look at what there is then."""
    started = time.perf_counter()
    for number in range(sessions):
        for spec in specs:
            with sandbox.borrow(spec, f"session {number}") as cell:
                echo(cell, "x" * 100)
    seconds = time.perf_counter() - started
    pids = [cell.pid for cell in sandbox._pool.known()]
    supervisor = sandbox._supervisor()._process.pid
    return {
        "name": name,
        "calls": sessions * len(specs),
        "seconds": seconds,
        "cells": len(pids),
        "memory": sum(map(proportional, [supervisor, *pids])),
        "private per cell": sum(map(private_memory, pids)) // max(1, len(pids)),
        "aim": AIMS[name],
    }


def measure(sessions: int) -> list[dict[str, Any]]:
    """Measure both."""
    rows = []
    with written(*PACKS) as specs:
        with Sandbox(max_cells=sessions * len(specs), max_memory=64 << 30, spares=0) as sandbox:
            rows.append(fill(sandbox, specs, sessions, "room for all"))
        with Sandbox() as sandbox:
            rows.append(fill(sandbox, specs, sessions, "default cap"))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/many_cells.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    rows = measure(options.sessions)
    body = {"title": "What many live cells hold", "machine": machine(), "rows": rows}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "many_cells.json").write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(body, indent=2))
        return
    print(body["title"])
    for line in rows:
        memory, each = line["memory"] / 1e6, line["private per cell"] / 1e6
        print(f"{line['name']:14} {line['calls']} calls in {line['seconds']:.1f} s leave {line['cells']} cells:"
              f" {memory:.0f} MB in all, {each:.1f} MB private each ({line['aim']})")  # fmt: skip


if __name__ == "__main__":
    main()
