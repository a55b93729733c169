"""What rights cost: `python -m benchmarks.rights [--json]`.

A connection through the broker against one made directly, to a server on this machine; and the start of a cell and a
call in it as the number of granted paths grows from 1 to 1,000.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.echo_pack import echo, written
from benchmarks.measure import report
from remit_sandbox import Cell, CellSpec, Rights, Sandbox

CONNECT = """
import socket, time

def connect(host: str, port: int, times: int) -> list[float]:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        with socket.create_connection((host, port), timeout=10) as connection:
            connection.sendall(b"x")
            connection.recv(1)
        seconds.append(time.perf_counter() - started)
    return seconds
"""
PATHS = (1, 10, 100, 1_000)


@contextmanager
def server() -> Iterator[int]:
    """Sends back one byte to each who connects; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)

    def serve() -> None:
        while True:
            try:
                connection = listening.accept()[0]
            except OSError:
                return
            with connection:
                connection.sendall(connection.recv(1))

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def brokered(spec: CellSpec, folder: str, rounds: int) -> list[dict[str, Any]]:
    """Return rows for a connection made directly and one made from a cell through the broker."""
    Path(folder, "dialler").mkdir()
    Path(folder, "dialler", "__init__.py").write_text(CONNECT, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(CONNECT, space)
    with server() as port, Sandbox() as sandbox:
        where = f"localhost:{port}"
        rights = Rights(net=(where,), private_net=(where,))
        dialler = replace(spec, pack="dialler", package="dialler", paths=(folder, *spec.paths), rights=rights)
        cell = sandbox.cell(dialler)
        direct: list[float] = []
        through: list[float] = []
        for turn in range(rounds + 1):
            a, b = space["connect"]("localhost", port, 5), _connect_in(cell, port)
            if turn:
                direct += a
                through += b
    return [_row("connect and one byte, directly", direct, direct), _row("the same, brokered", through, direct)]


def _connect_in(cell: Cell, port: int) -> list[float]:
    arguments = json.dumps({"host": "localhost", "port": port, "times": 5}).encode()
    reply = cell.request("call", {"handler": "dialler:connect", "arguments": arguments, "context": {}}, timeout=60)
    if reply.kind != "result":
        raise RuntimeError(reply.error)
    seconds: list[float] = json.loads(reply.text)
    return seconds


def granted(spec: CellSpec, folder: str, rounds: int) -> list[dict[str, Any]]:
    """Return rows for the start of a cell, and for a call in it, by the number of granted paths."""
    files = [Path(folder, f"file{number}") for number in range(max(PATHS))]
    for path in files:
        path.touch()
    names = [str(path.resolve()) for path in files]
    specs = {count: replace(spec, rights=Rights(read=tuple(names[:count]))) for count in PATHS}
    starts: dict[int, list[float]] = {count: [] for count in PATHS}
    calls: dict[int, list[float]] = {count: [] for count in PATHS}
    with Sandbox(spares=0) as sandbox:
        for turn in range(rounds + 1):
            for count, each in specs.items():
                called, started = _calls(sandbox, each), _seconds(partial(_start, sandbox, each))
                if turn:
                    calls[count] += called
                    starts[count].append(started)
    return [
        *(_row(f"new cell, {count} granted paths", starts[count], starts[1]) for count in PATHS),
        *(_row(f"warm call, borrowed, {count} granted paths", calls[count], calls[1]) for count in PATHS),
    ]


def _calls(sandbox: Sandbox, spec: CellSpec) -> list[float]:
    def call() -> None:
        with sandbox.borrow(spec, "session") as cell:
            echo(cell, "x" * 100)

    call()
    return [_seconds(call) for _ in range(5)]


def _start(sandbox: Sandbox, spec: CellSpec) -> None:
    sandbox.cell(spec).close()


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _row(name: str, times: Sequence[float], against: Sequence[float]) -> dict[str, Any]:
    middle = statistics.median(times)
    return {"name": name, "minimum": min(times), "median": middle, "maximum": max(times),
            "ratio": middle / statistics.median(against)}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/rights.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        (spec,) = stack.enter_context(written("plain"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        rows = brokered(spec, folder, options.rounds) + granted(spec, folder, options.rounds)
    report("What rights cost", rows, unit="ms", scale=1000, file="rights.json", json_out=options.json)


if __name__ == "__main__":
    main()
