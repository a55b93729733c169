"""Run Python from a host: a cell is opened for the program, and whatever becomes of it is an ordinary result."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from remit_sandbox.python.plain import decode, encode
from remit_sandbox.python.results import Profile, PythonResult
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.supervisor.client import site_folders
from remit_sandbox.values import CellSpec, Enforcement, Limits, MiB, Reply, Rights

HANDLER = "remit_sandbox.python.door:run"
LIMITS = Limits(memory=256 * MiB, file_size=32 * MiB, disk=64 * MiB, open_files=64)
"""What a program may use, unless the caller says otherwise."""

_ONCE = threading.Lock()


def run_python(
    code: str,
    inputs: Mapping[str, Any] | None = None,
    session: str | None = None,
    *,
    profile: Profile = "guarded",
    timeout: float = 10.0,
    limits: Limits = LIMITS,
    enforcement: Enforcement = "kernel",
    sandbox: Sandbox | None = None,
) -> PythonResult:
    """Run a program in a cell without any right but its own temporary folder.

    Whatever the program does is part of the result: a crash of its interpreter and a timeout, too. What the host
    gets is plain data, read within limits and never evaluated.

    Args:
        code: the program, at most `engine.CODE` characters.
        inputs: values that it finds as variables, and together as the dict `inputs`.
        session: with a name, variables are kept in a warm cell of that session alone; without, the cell is single-use.
        profile: see `Profile`.
        timeout: seconds until the cell is killed.
        limits: of the cell.
        enforcement: `kernel` refuses to run where the kernel cannot confine the cell.
        sandbox: whose cells are used; without one, those of a pool of this module.

    Raises:
        CannotConfine: this machine lacks what `kernel` needs.
        SandboxError: no cell could be started.
    """
    if not isinstance(code, str):
        return PythonResult(error=f"a program is text, not {type(code).__name__}")
    spec = CellSpec(
        pack="python",
        package="remit_sandbox",
        paths=_paths(),
        rights=Rights(limits=limits),
        settings={"profile": profile},
        isolation="fresh" if session is None else "warm",
        enforcement=enforcement,
    )
    plain = {name: encode(value) for name, value in (inputs or {}).items()}
    arguments = json.dumps({"code": code, "inputs": plain, "profile": profile}).encode()
    body = {"handler": HANDLER, "arguments": arguments, "context": {"session": session or "", "call": ""}}
    with (sandbox or _shared()).borrow(spec, session or "") as cell:
        result = result_of(cell.request("call", body, timeout=timeout))
        lost = " (the variables of the session are gone)" if session is not None and cell.broken else ""
    return replace(result, error=result.error + lost)


def result_of(reply: Reply) -> PythonResult:
    """Return the result in a cell's reply, which is plain data but may hold anything."""
    if reply.kind != "result":
        return PythonResult(error=_ended(reply))
    try:
        return _read(json.loads(reply.text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return PythonResult(error="the program left an answer that cannot be read")


def _read(answer: dict[str, Any]) -> PythonResult:
    files = {str(name): decode(content) for name, content in answer["files"].items()}
    if not all(isinstance(content, bytes) for content in files.values()):
        raise ValueError("a file is bytes")
    return PythonResult(
        value=decode(answer["value"]), stdout=str(answer["stdout"]), error=str(answer["error"]), files=files
    )


def _ended(reply: Reply) -> str:
    if reply.kind == "timeout":
        return f"TimeoutError: {reply.error}; make the program do less, or give it more time"
    if reply.kind == "died":
        return f"the program ended its interpreter: {reply.error}"
    if reply.kind == "invalid":
        return "; ".join(f"{item.path}: {item.message}" for item in reply.errors)
    return reply.error


@cache
def _paths() -> tuple[str, ...]:
    return tuple(site_folders())


@cache
def _pool() -> Sandbox:
    return Sandbox()


def _shared() -> Sandbox:
    with _ONCE:
        return _pool()
