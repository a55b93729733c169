"""A pack for tests of cells, and the way to call it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remit_sandbox.cell import Cell
from remit_sandbox.supervisor.client import site_folders
from remit_sandbox.values import CellSpec, Isolation, Limits, Reply, Rights

SOURCE = '''
import os, signal, subprocess, sys, threading, time

def echo(text: str) -> str:
    return text

def evaluate(code: str) -> str:
    """Run code and return what it leaves in `out`."""
    space: dict = {}
    exec(code, space)
    return repr(space.get("out"))

def spin() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass

def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "awake"

def leave(status: int) -> None:
    os._exit(status)

def flood(size: int) -> str:
    for _ in range(size // 65536):
        os.write(1, b"x" * 65536)
    return "done"

def steps(ctx, count: int) -> str:
    for number in range(count):
        ctx.progress(f"step {number}")
    return "done"
'''


def make_pack(folder: Path, source: str = SOURCE, package: str = "tools") -> Path:
    """Write the pack's package into `folder`."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(source, encoding="utf-8")
    return folder


def spec_of(
    folder: Path, *, rights: Rights | None = None, isolation: Isolation = "warm", confined: bool = False, **more: Any
) -> CellSpec:
    """A spec for the pack in `folder`; without `confined` it runs on any machine."""
    return CellSpec(
        pack="tools",
        package="tools",
        location=str(folder),
        paths=tuple(site_folders()),
        rights=rights or Rights(),
        isolation=isolation,
        enforcement="kernel" if confined else "available",
        **more,
    )


def limited(**limits: Any) -> Rights:
    """Rights that are nothing but limits."""
    return Rights(limits=Limits(**limits))


def body(handler: str, **arguments: Any) -> dict[str, Any]:
    """The body of a call of one of the pack's functions."""
    return {
        "handler": f"tools:{handler}",
        "arguments": json.dumps(arguments).encode(),
        "context": {"session": "s", "call": "c"},
    }


def call(cell: Cell, handler: str, *, timeout: float = 30.0, **arguments: Any) -> Reply:
    """Call one of the pack's functions."""
    return cell.request("call", body(handler, **arguments), timeout=timeout)


def run(cell: Cell, code: str) -> Reply:
    """Run code in the cell; the reply's text is the `repr` of `out`, in JSON."""
    return call(cell, "evaluate", code=code)


def value(reply: Reply) -> Any:
    """The value of a result."""
    assert reply.kind == "result", reply
    return json.loads(reply.text)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return _answers(pid) if sys.platform != "linux" else False
    return text.rpartition(")")[2].split()[0] != "Z"


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether something comes to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


def plain_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The control: the same code in a process without confinement."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def kill(pid: int) -> None:
    """Kill a process that the test started."""
    os.kill(pid, signal.SIGKILL)
