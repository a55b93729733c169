"""Other ways to run a function, beside a cell: each a context manager that gives something to call with a text.

A way that is not there on this machine raises `Missing` with the reason.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from queue import SimpleQueue
from typing import Any

Call = Callable[[str], object]
"""Sends a text there and back. A call that returns a float has timed itself, in seconds."""

JSON_ECHO = (
    "import json, sys\n"
    "for line in sys.stdin.buffer:\n"
    "    sys.stdout.buffer.write(json.dumps({'result': json.loads(line)['text']}).encode() + b'\\n')\n"
    "    sys.stdout.buffer.flush()\n"
)
PRELOAD = ["benchmarks.ways", "benchmarks.echo_pack", "benchmarks.measure", "remit_sandbox.sandbox"]
"""What the forkserver imports once, so that no process of it has to."""

PLAIN_ECHO = "import sys; sys.stdout.write(sys.stdin.read())"


class Missing(Exception):
    """Why a way cannot be measured here."""


@contextmanager
def socket_echo() -> Iterator[Call]:
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
def json_lines() -> Iterator[Call]:
    """A Python child that speaks JSON lines over pipes, unconfined: the usual plain way."""
    child = subprocess.Popen([sys.executable, "-c", JSON_ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    put, get = child.stdin, child.stdout

    def call(text: str) -> str:
        put.write(json.dumps({"text": text}).encode() + b"\n")
        put.flush()
        return str(json.loads(get.readline())["result"])

    yield call
    put.close()
    child.wait()
    get.close()


@contextmanager
def thread() -> Iterator[Call]:
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


@contextmanager
def process_pool() -> Iterator[Call]:
    """`concurrent.futures.ProcessPoolExecutor` with one process, which stays."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        yield lambda text: pool.submit(_same, text).result()


@contextmanager
def forkserver() -> Iterator[Call]:
    """A process of multiprocessing's forkserver for each call."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)

    def call(text: str) -> str:
        ours, theirs = context.Pipe()
        process = context.Process(target=_echo_once, args=(theirs,))
        process.start()
        theirs.close()
        ours.send(text)
        answer: str = ours.recv()
        process.join()
        ours.close()
        return answer

    yield call


def _same(text: str) -> str:
    return text


def _echo_once(pipe: Pipe) -> None:
    pipe.send(pipe.recv())


@contextmanager
def interpreter() -> Iterator[Call]:
    """A fresh interpreter for each call."""
    yield _run_with([sys.executable, "-I", "-c", PLAIN_ECHO])


@contextmanager
def bubblewrap() -> Iterator[Call]:
    """A fresh interpreter in namespaces of bubblewrap for each call, with the whole machine readable."""
    program = shutil.which("bwrap")
    if program is None:
        raise Missing("bwrap is not installed")
    walls = ["--ro-bind", "/", "/", "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
             "--die-with-parent"]  # fmt: skip
    yield _run_with([program, *walls, sys.executable, "-I", "-c", PLAIN_ECHO])


@contextmanager
def docker() -> Iterator[Call]:
    """A container for each call, without a network; the image must be there already."""
    program, image = shutil.which("docker"), "python:3-slim"
    if program is None:
        raise Missing("docker is not installed")
    found = subprocess.run([program, "image", "inspect", image], capture_output=True, timeout=30, check=False)
    if found.returncode:
        reason = found.stderr.decode().strip().splitlines()
        raise Missing(f"docker has no image {image} ({reason[-1][:90] if reason else 'no answer'})")
    yield _run_with([program, "run", "--rm", "-i", "--network=none", image, "python", "-c", PLAIN_ECHO])


def _run_with(command: list[str]) -> Call:
    def call(text: str) -> str:
        done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()

    try:
        call("")
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"{Path(command[0]).name} does not run here: {error}") from None
    return call


@contextmanager
def mcp(environment: str | None) -> Iterator[Call]:
    """A tool call to a stdio server of the official MCP SDK, client and server in a virtual environment of their own.

    The client times its calls itself, so that the way from here to it does not count.
    """
    if environment is None:
        raise Missing("the MCP SDK was not asked for; --mcp DIR puts it into a virtual environment there")
    python = _with_sdk(Path(environment))
    program = Path(__file__).with_name("mcp_echo.py")
    client = subprocess.Popen([python, str(program), "client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert client.stdin is not None
    assert client.stdout is not None
    put, get = client.stdin, client.stdout

    def call(text: str) -> float:
        put.write(json.dumps(text).encode() + b"\n")
        put.flush()
        answer: dict[str, Any] = json.loads(get.readline())
        if answer["length"] != len(text):
            raise RuntimeError("the MCP server did not give the text back")
        return float(answer["seconds"])

    yield call
    put.close()
    client.wait()
    get.close()


def _with_sdk(environment: Path) -> str:
    python = environment / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, capture_output=True)
        if subprocess.run([python, "-c", "import mcp"], capture_output=True, check=False).returncode:
            install = [str(python), "-m", "pip", "install", "-q", "mcp"]
            subprocess.run(install, check=True, capture_output=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        raise Missing(f"the MCP SDK cannot be installed into {environment}: {error}") from None
    return str(python)
