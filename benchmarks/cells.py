"""What a confined call costs, beside other ways to run a function: `python -m benchmarks.cells [--json] [--mcp DIR]`.

Every contender echoes a text of 100 B or 1 MB. All of them run in turns in one process, so that they see the same
machine; each figure is the time of one call, and ratios are against JSON lines over a pipe. The rows named `pinned`
have both processes on one CPU: waking another, idle CPU costs more than the call itself. Fresh cells are measured
with a spare ready, and without one in a row of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import ways
from benchmarks.echo_pack import body_of, echo, handler_of, written
from benchmarks.measure import machine, report
from benchmarks.ways import Call, Missing
from remit_sandbox import Cell, CellSpec, Sandbox
from remit_sandbox.connection import Connection, pair
from remit_sandbox.replies import reply_of

SIZES: Mapping[str, int] = {"100 B": 100, "1 MB": 1_000_000}
BASE = "JSON lines"
SPARES = 3
SLOW = ("forkserver", "interpreter per call", "bwrap per call", "docker run per call", "new cell per call")
UNCONFINED = "from remit_sandbox.inside.warm import warm; from remit_sandbox.inside.serve import serve; warm(); serve"
AIMS = {
    "warm cell": "1.5x; 1.1x of unconfined",
    "fresh cell": "1 ms",
    "MCP stdio": "10x a warm cell",
    "new cell": "10 ms",
}


@dataclass(frozen=True)
class Contender:
    """One way to call.

    Attributes:
        call: takes a text; see `benchmarks.ways.Call`.
        burst: calls in a row, each turn.
        before: runs before each burst, untimed.
        after: runs after each burst, so that nothing goes on in the background of the next contender.
    """

    call: Call
    burst: int = 5
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None


def in_cell(cell: Cell) -> Call:
    """A call in a warm cell: schema-converted, JSON in, JSON out, over a framed socket."""

    return lambda text: echo(cell, text)


def borrowed(sandbox: Sandbox, spec: CellSpec, *, prepared: bool = True) -> Contender:
    """A call with a cell borrowed for it and given back; for single use with a spare ready, unless told otherwise."""

    def call(text: str) -> None:
        with sandbox.borrow(spec, "session") as cell:
            echo(cell, text)

    def wait() -> None:
        sandbox.prepare(spec, [handler_of(spec)])
        while sandbox.spares(spec) < SPARES:
            time.sleep(0.002)

    if prepared and spec.single_use:
        return Contender(call, burst=SPARES, before=wait, after=wait)
    return Contender(call, burst=5 if prepared else 1)


@contextmanager
def unconfined(spec: CellSpec, folder: str) -> Iterator[Call]:
    """The same code as in a cell, in a process that nothing holds."""
    ours, theirs = pair()
    code = f"import sys; sys.path += {list(spec.paths)!r}; {UNCONFINED}({theirs.fileno()}, None, {folder!r})"
    with theirs:
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], pass_fds=[theirs.fileno()])
    connection = Connection(ours, 64 << 20)
    nothing = {
        "location": None,
        "settings": {},
        "secrets": {},
        "workspace": None,
        "data": None,
        "env": {},
        "net": False,
    }
    opening = {"op": "open", "pack": spec.pack, "package": spec.package, "paths": list(spec.paths), "cwd": folder}
    connection.drive(connection.begin({**opening, **nothing}), time.monotonic() + 30, None)

    def call(text: str) -> None:
        request = {"op": "call", **body_of(spec, text)}
        reply = reply_of(connection.drive(connection.begin(request), time.monotonic() + 30, None), 0.0)
        if reply.kind != "result" or len(json.loads(reply.text)) != len(text):
            raise RuntimeError(reply.error)

    yield call
    connection.close()
    child.wait()


def timed(contenders: Mapping[str, Contender], text: str, rounds: int) -> dict[str, list[float]]:
    """Call each contender in short bursts, in turns; return seconds of single calls."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, contender in contenders.items():
            if contender.before is not None:
                contender.before()
            for _ in range(contender.burst):
                started = time.perf_counter()
                told = contender.call(text)
                taken = told if isinstance(told, float) else time.perf_counter() - started
                if turn:
                    seconds[name].append(taken)
            if contender.after is not None:
                contender.after()
    return seconds


def rows(seconds: Mapping[str, Sequence[float]], label: str) -> list[dict[str, Any]]:
    """Return a row for each contender; ratios are against JSON lines, of medians and of the fastest tenths.

    On a machine that does other work, the fastest tenth says more about the code, the median more about the day.
    """
    against = seconds[BASE]
    return [
        {
            "name": f"{label}: {name}",
            "minimum": min(times),
            "median": statistics.median(times),
            "maximum": max(times),
            "ratio": statistics.median(times) / statistics.median(against),
            "ratio of fastest tenths": tenth(times) / tenth(against),
            "aim": next((aim for begin, aim in AIMS.items() if name.startswith(begin)), ""),
        }
        for name, times in seconds.items()
    ]


def tenth(times: Sequence[float]) -> float:
    """Return the time that a tenth of the calls stay below."""
    return sorted(times)[len(times) // 10]


def starts(sandbox: Sandbox, spec: CellSpec, rounds: int) -> dict[str, Any]:
    """Return a row with the seconds that a new cell takes until its pack is imported."""
    seconds = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        cell = sandbox.cell(spec)
        seconds.append(time.perf_counter() - started)
        cell.close()
    times = seconds[1:]
    middle = statistics.median(times)
    return {"name": "new cell with a pydantic pack, without a call", "minimum": min(times), "median": middle,
            "maximum": max(times), "ratio": None, "aim": AIMS["new cell"]}  # fmt: skip


def contenders(stack: ExitStack, spec: CellSpec, mcp: str | None) -> tuple[dict[str, Contender], list[str]]:
    """Return every way that there is here, and why others are not measured."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    sandbox = stack.enter_context(Sandbox(spares=SPARES, max_cells=64))
    plain = stack.enter_context(Sandbox(spares=0))
    note = "" if spec.enforcement == "kernel" else " (not confined here)"
    found = {
        f"warm cell{note}": Contender(in_cell(sandbox.cell(spec))),
        f"warm cell{note}, borrowed and given back": borrowed(sandbox, replace(spec, isolation="warm")),
        f"fresh cell{note}": borrowed(sandbox, replace(spec, isolation="fresh")),
        f"process cell{note}": borrowed(sandbox, replace(spec, isolation="process")),
        f"new cell per call{note}": borrowed(plain, replace(spec, isolation="fresh"), prepared=False),
        "warm, unconfined": Contender(stack.enter_context(unconfined(spec, folder))),
    }
    missing = []
    others: dict[str, AbstractContextManager[Call]] = {
        "socketpair echo": ways.socket_echo(),
        BASE: ways.json_lines(),
        "thread": ways.thread(),
        "process pool": ways.process_pool(),
        "forkserver": ways.forkserver(),
        "interpreter per call": ways.interpreter(),
        "bwrap per call": ways.bubblewrap(),
        "MCP stdio": ways.mcp(mcp),
        "docker run per call": ways.docker(),
    }
    for name, way in others.items():
        try:
            found[name] = Contender(stack.enter_context(way), burst=1 if name in SLOW else 5)
        except Missing as reason:
            missing.append(f"{name} is not measured: {reason}")
    return found, missing


def measure(rounds: int, mcp: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure everything on the CPUs that this process may use now."""
    found: list[dict[str, Any]] = []
    pinned = " pinned" if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == 1 else ""
    with ExitStack() as stack:
        (spec,) = stack.enter_context(written("echoing"))
        ways_here, missing = contenders(stack, spec, mcp)
        for size, length in SIZES.items():
            found += rows(
                timed(ways_here, "x" * length, rounds if length < 10_000 else max(1, rounds // 5)), size + pinned
            )
        found.append(starts(stack.enter_context(Sandbox()), spec, max(10, rounds // 5)))
    found[-1]["name"] += pinned
    return found, missing


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/cells.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="turns; five calls of each fast contender a turn")
    parser.add_argument("--mcp", metavar="DIR", help="a virtual environment for the MCP SDK, made when absent")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    found, missing = measure(options.rounds, options.mcp)
    if hasattr(os, "sched_setaffinity"):
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        found += measure(options.rounds, options.mcp)[0]
        os.sched_setaffinity(0, allowed)
    title = f"One call, wall time (Linux {machine()['kernel']})" + "".join(f"\n{reason}" for reason in missing)
    report(title, found, unit="ms", scale=1000, file="cells.json", json_out=options.json)


if __name__ == "__main__":
    main()
