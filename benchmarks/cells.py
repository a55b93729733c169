"""What a confined call costs, beside other ways to run a function: `python -m benchmarks.cells [--json]`.

Every contender echoes a text of 100 B or 1 MB. All of them run in turns in one process, so that they see the same
machine; each figure is the time of one call, and ratios are against JSON lines over a pipe. The columns named
`pinned` have both processes on one CPU: waking another, idle CPU costs more than the call itself.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.measure import machine, report
from remit_sandbox import Cell, CellSpec, Sandbox
from remit_sandbox.probe import probe
from remit_sandbox.values import Enforcement

SIZES: Mapping[str, int] = {"100 B": 100, "1 MB": 1_000_000}
PACK = "def echo(text: str) -> str:\n    return text\n"
JSON_ECHO = (
    "import json, sys\n"
    "for line in sys.stdin.buffer:\n"
    "    sys.stdout.buffer.write(json.dumps({'result': json.loads(line)['text']}).encode() + b'\\n')\n"
    "    sys.stdout.buffer.flush()\n"
)
Contender = Callable[[str], object]


@contextmanager
def socket_echo() -> Iterator[Contender]:
    """A forked child that sends back what it gets over a socketpair: the floor."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    child = os.fork()
    if child == 0:
        ours.close()
        while data := theirs.recv(1 << 16):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()

    def call(text: str) -> None:
        data = text.encode()
        for start in range(0, len(data), 1 << 16):
            part = data[start : start + (1 << 16)]
            ours.sendall(part)
            left = len(part)
            while left:
                left -= len(ours.recv(left))

    yield call
    ours.close()
    os.waitpid(child, 0)


@contextmanager
def json_lines() -> Iterator[Contender]:
    """A Python child that speaks JSON lines over pipes, unconfined: the usual plain way."""
    child = subprocess.Popen([sys.executable, "-c", JSON_ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    put, get = child.stdin, child.stdout

    def call(text: str) -> Any:
        put.write(json.dumps({"text": text}).encode() + b"\n")
        put.flush()
        return json.loads(get.readline())["result"]

    yield call
    put.close()
    child.wait()
    get.close()


@contextmanager
def thread() -> Iterator[Contender]:
    """A function in a thread of the same process: no border at all."""
    asked: SimpleQueue[str | None] = SimpleQueue()
    answered: SimpleQueue[str] = SimpleQueue()

    def serve() -> None:
        while (text := asked.get()) is not None:
            answered.put(text)

    worker = threading.Thread(target=serve, daemon=True)
    worker.start()

    def call(text: str) -> str:
        asked.put(text)
        return answered.get()

    yield call
    asked.put(None)
    worker.join()


def process_per_call(text: str) -> None:
    """A fresh interpreter for each call."""
    program = "import sys; sys.stdout.write(sys.stdin.read())"
    subprocess.run([sys.executable, "-I", "-c", program], input=text.encode(), stdout=subprocess.DEVNULL, check=True)


def in_cell(cell: Cell) -> Contender:
    """A call in a warm cell: schema-converted, JSON in, JSON out, over a framed socket."""

    def call(text: str) -> None:
        arguments = json.dumps({"text": text}).encode()
        reply = cell.request("call", {"handler": "echo_pack:echo", "arguments": arguments, "context": {}}, timeout=30)
        if reply.kind != "result" or len(json.loads(reply.text)) != len(text):
            raise RuntimeError(reply.error)

    return call


def timed(contenders: Mapping[str, Contender], text: str, rounds: int) -> dict[str, list[float]]:
    """Call each contender in short bursts, in turns; return seconds of single calls."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, call in contenders.items():
            burst = 1 if name == "process per call" else 5
            for _ in range(burst):
                started = time.perf_counter()
                call(text)
                if turn:
                    seconds[name].append(time.perf_counter() - started)
    return seconds


def rows(seconds: Mapping[str, Sequence[float]], label: str) -> list[dict[str, Any]]:
    """Return a row for each contender; ratios are against JSON lines, of medians and of the fastest tenths.

    On a machine that does other work, the fastest tenth says more about the code, the median more about the day.
    """
    against = seconds["JSON lines"]
    return [
        {
            "name": f"{label}: {name}",
            "minimum": min(times),
            "median": statistics.median(times),
            "maximum": max(times),
            "ratio": statistics.median(times) / statistics.median(against),
            "ratio of fastest tenths": tenth(times) / tenth(against),
            "aim": "at most 1.5x" if name.startswith("warm cell") else "",
        }
        for name, times in seconds.items()
    ]


def tenth(times: Sequence[float]) -> float:
    """Return the time that a tenth of the calls stay below."""
    return sorted(times)[len(times) // 10]


def starts(sandbox: Sandbox, spec: CellSpec, rounds: int) -> list[float]:
    """Return seconds that a new cell takes until its pack is imported."""
    seconds = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        cell = sandbox.cell(spec)
        seconds.append(time.perf_counter() - started)
        cell.close()
    return seconds[1:]


def measure(folder: str, rounds: int) -> list[dict[str, Any]]:
    """Measure everything on the CPUs that this process may use now."""
    sites = tuple(path for path in sys.path if path.endswith("site-packages"))
    enforcement: Enforcement = "available" if probe().missing else "kernel"
    spec = CellSpec(pack="echo", package="echo_pack", paths=(folder, *sites), enforcement=enforcement)
    found: list[dict[str, Any]] = []
    pinned = " pinned" if len(os.sched_getaffinity(0)) == 1 else ""
    with ExitStack() as stack:
        sandbox = stack.enter_context(Sandbox())
        contenders: dict[str, Contender] = {
            "socketpair echo": stack.enter_context(socket_echo()),
            "JSON lines": stack.enter_context(json_lines()),
            "thread": stack.enter_context(thread()),
            "warm cell" + ("" if enforcement == "kernel" else " (not confined here)"): in_cell(sandbox.cell(spec)),
            "process per call": process_per_call,
        }
        for size, length in SIZES.items():
            found += rows(timed(contenders, "x" * length, rounds if length < 10_000 else rounds // 5), size + pinned)
        times = starts(sandbox, spec, max(10, rounds // 5))
    middle = statistics.median(times)
    processes = next(line["median"] for line in found if line["name"].endswith("process per call"))
    found.append({"name": f"start of a cell{pinned}", "minimum": min(times), "median": middle, "maximum": max(times),
                  "ratio": middle / processes, "aim": "10 ms; ratio against a process"})  # fmt: skip
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/cells.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100, help="turns; five calls of each contender a turn")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "echo_pack").mkdir()
        Path(folder, "echo_pack", "__init__.py").write_text(PACK)
        found = measure(folder, options.rounds)
        if hasattr(os, "sched_setaffinity"):
            allowed = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {min(allowed)})
            found += measure(folder, options.rounds)
            os.sched_setaffinity(0, allowed)
    title = f"One call, seconds of wall time (Linux {machine()['kernel']})"
    report(title, found, unit="ms", scale=1000, file="cells.json", json_out=options.json)


if __name__ == "__main__":
    main()
