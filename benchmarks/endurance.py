"""Whether anything grows or is left behind after many calls: `python -m benchmarks.endurance [--calls 10000]`.

Sequential calls in warm and in fresh cells, then many at once; before and after each, the memory, descriptors and
threads of this process and of the supervisor, and how many cells there are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.echo_pack import body_of, echo, written
from benchmarks.measure import RESULTS, machine
from remit_sandbox import CellSpec, Sandbox
from remit_sandbox.usage import private_memory

PASSING = ("remit-cell", "remit-spares")
"""Threads of a sandbox that start and end cells; they end by themselves."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a sandbox holds at one moment. Memory in bytes; -1 where it cannot be told."""

    host_memory: int
    host_descriptors: int
    host_threads: int
    supervisor_memory: int
    supervisor_descriptors: int
    cells: int
    folders: int


def held(sandbox: Sandbox) -> Held:
    """Look, once nothing goes on in the background any more."""
    while sandbox._pool.untidy or any(one.name in PASSING for one in threading.enumerate()):
        time.sleep(0.005)
    client = sandbox._supervisor()
    sandbox.missing()
    return Held(
        host_memory=private_memory(os.getpid()),
        host_descriptors=_count("/proc/self/fd"),
        host_threads=threading.active_count(),
        supervisor_memory=private_memory(client._process.pid),
        supervisor_descriptors=_count(f"/proc/{client._process.pid}/fd"),
        cells=len(_children(client._process.pid)),
        folders=_count(client.base),
    )


def _count(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return -1


def _children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []


def one_by_one(sandbox: Sandbox, spec: CellSpec, calls: int) -> None:
    """Make calls one after the other, in one session."""
    for number in range(calls):
        with sandbox.borrow(spec, "session") as cell:
            echo(cell, str(number))


def at_once(sandbox: Sandbox, spec: CellSpec, calls: int) -> None:
    """Make calls all at once, in eight sessions."""

    async def one(number: int) -> None:
        async with sandbox.aborrow(spec, f"session {number % 8}") as cell:
            reply = await cell.arequest("call", body_of(spec, str(number)), timeout=120)
            if reply.text != b'"%d"' % number:
                raise RuntimeError(reply.error)

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(calls)))

    asyncio.run(all_of_them())


def watch(sandbox: Sandbox, name: str, calls: int, work: Callable[[int], None], *, first: int) -> dict[str, Any]:
    """Do some of the work to warm up, then all of it; say what was held before and after."""
    work(first)
    before = held(sandbox)
    started = time.perf_counter()
    work(calls)
    seconds = time.perf_counter() - started
    return {"name": name, "calls": calls, "seconds": seconds, "before": vars(before), "after": vars(held(sandbox))}


def measure(calls: int, fresh: int, together: int) -> list[dict[str, Any]]:
    """Watch all three kinds of work."""
    with written("endured") as (spec,), Sandbox() as sandbox:
        single = replace(spec, isolation="fresh")
        return [
            watch(
                sandbox, "warm, one by one", calls, lambda count: one_by_one(sandbox, spec, count), first=calls // 10
            ),
            watch(
                sandbox, "fresh, one by one", fresh, lambda count: one_by_one(sandbox, single, count), first=fresh // 10
            ),
            watch(sandbox, "auto, at once", together, lambda count: at_once(sandbox, spec, count), first=together),
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/endurance.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000, help="sequential calls in a warm cell")
    parser.add_argument("--fresh", type=int, default=1_000, help="sequential calls, each in a cell of its own")
    parser.add_argument("--at-once", type=int, default=1_000, help="calls at the same time")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    found = measure(options.calls, options.fresh, options.at_once)
    body = {"title": "What is held before and after many calls", "machine": machine(), "rows": found}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "endurance.json").write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(body, indent=2))
        return
    print(body["title"])
    for line in found:
        print(f"{line['name']}: {line['calls']} calls in {line['seconds']:.1f} s")
        for key, before in line["before"].items():
            print(f"  {key.replace('_', ' '):24} {before:>12} -> {line['after'][key]:>12}")


if __name__ == "__main__":
    main()
