"""What is held without the kernel refusing a call, tried with real cells: time, names, variables, programs, disk.

Each beside a control: the same thing where it is granted, or within the limit.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from remit_sandbox.confine.programs import digest_of
from remit_sandbox.errors import CellStartError, SandboxError
from remit_sandbox.probe import SUCCEEDED
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.supervisor.client import site_folders
from remit_sandbox.values import CellSpec, Enforced, EnforcedBy, Isolation, Limits, Reply, Rights

_PACK = Path(__file__).parent / "escape"
_MiB = 1024 * 1024
_PATIENCE = 10.0


def rehearse() -> tuple[Enforced, ...]:
    """Try each in cells of its own, about two seconds in all; a row says what was seen.

    Raises:
        SandboxError: no cell can be started here.
    """
    with Sandbox() as sandbox:
        return tuple(attempt(sandbox) for attempt in _ATTEMPTS)


def _spec(rights: Rights | None = None, *, isolation: Isolation = "fresh", **more: Any) -> CellSpec:
    return CellSpec(
        pack="tries",
        package="remit_tries",
        location=str(_PACK),
        paths=tuple(site_folders()),
        rights=rights or Rights(),
        isolation=isolation,
        enforcement="available",
        **more,
    )


def _ask(sandbox: Sandbox, spec: CellSpec, handler: str, *, timeout: float = _PATIENCE, **arguments: Any) -> Reply:
    body = {"handler": f"remit_tries:{handler}", "arguments": json.dumps(arguments).encode(), "context": {}}
    with sandbox.borrow(spec, "rehearsal") as cell:
        return cell.request("call", body, timeout=timeout)


def _row(right: str, by: EnforcedBy, held: bool, control: bool, what: str) -> Enforced:
    if not control:
        return Enforced(right=right, by="not enforced", detail=f"cannot be tested: the control failed ({what})")
    if not held:
        return Enforced(right=right, by="not enforced", detail=f"{SUCCEEDED} ({what})")
    return Enforced(right=right, by=by, detail=f"{what}; the control succeeded")


def _time(sandbox: Sandbox) -> Enforced:
    late = _ask(sandbox, _spec(), "spin", timeout=0.2)
    control = _ask(sandbox, _spec(), "variables")
    what = "a call that ignores signals was killed at its limit"
    return _row("time", "process", late.kind == "timeout", control.kind == "result", what)


def _environment(sandbox: Sandbox) -> Enforced:
    told = _ask(sandbox, _spec(Rights(env={"REMIT_GIVEN": "x"})), "variables")
    names = set(json.loads(told.text)) if told.kind == "result" else set()
    own = {name for name in os.environ if not name.startswith(("LC_", "PYTHON", "PYDANTIC", "MALLOC"))} - _STANDARD
    what = f"none of {len(own)} variables of this program arrived, one that was given did"
    return _row("environment", "process", not names & own, "REMIT_GIVEN" in names, what)


_STANDARD = frozenset(
    {"PATH", "LANG", "LANGUAGE", "TZ", "HOME", "TMPDIR", "XDG_CACHE_HOME", "SQLITE_TMPDIR", "MPLCONFIGDIR"}
    | {f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON")}
    | {"VECLIB_MAXIMUM_THREADS"}
)


def _network(sandbox: Sandbox) -> Enforced:
    with socket.create_server(("127.0.0.1", 0)) as granted, socket.create_server(("127.0.0.1", 0)) as other:
        port = granted.getsockname()[1]
        grant = (f"localhost:{port}",)
        spec = _spec(Rights(net=grant, private_net=grant))
        control = _ask(sandbox, spec, "connect", port=port)
        tried = _ask(sandbox, spec, "connect", port=other.getsockname()[1])
        held = tried.kind == "failed" and "no grant covers it" in tried.error and not _was_reached(other)
        return _row("network by name", "broker", held, control.kind == "result", "a host without a grant was refused")


def _was_reached(server: socket.socket) -> bool:
    server.settimeout(0)
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _programs(sandbox: Sandbox) -> Enforced:
    what = "a program that had changed was refused before anything ran"
    source = shutil.which("true")
    if source is None or sys.platform == "win32":
        return _row("programs granted", "process", True, False, "there is no program to try it with")
    with tempfile.TemporaryDirectory(prefix="remit-rehearsal-") as folder:
        program = str(shutil.copy(os.path.realpath(source), Path(os.path.realpath(folder), "program")))
        rights = Rights(exec=(program,), program_digests={program: digest_of(program)}, limits=Limits(processes=4))
        spec = _spec(rights, isolation="process")
        control = _ask(sandbox, spec, "start", program=program)
        with open(program, "ab") as file:
            file.write(b"x")
        return _row("programs granted", "process", _is_refused(sandbox, spec, program), control.text == b"0", what)


def _is_refused(sandbox: Sandbox, spec: CellSpec, program: str) -> bool:
    try:
        _ask(sandbox, spec, "start", program=program)
    except CellStartError as error:
        return error.by == "supervisor"
    return False


def _secrets(sandbox: Sandbox) -> Enforced:
    value = secrets.token_hex(16)
    given = _ask(sandbox, _spec(secrets={"token": value}), "token")
    without = _ask(sandbox, _spec(), "token")
    held = value not in given.text.decode() and without.kind == "failed"
    control = given.text == b'"[secret token]"'
    return _row("secrets", "process", held, control, "it arrived in the one cell that was given it, and left it masked")


def _disk(sandbox: Sandbox) -> Enforced:
    spec = _spec(Rights(limits=Limits(disk=_MiB)))
    control = _ask(sandbox, spec, "fill", size=_MiB // 4, seconds=0)
    tried = _ask(sandbox, spec, "fill", size=4 * _MiB, seconds=_PATIENCE / 2)
    what = "a cell that stored too much was ended, within about half a second"
    return _row("disk", "polled", tried.kind == "died", control.kind == "result", what)


_ATTEMPTS: tuple[Callable[[Sandbox], Enforced], ...] = (_network, _programs, _time, _secrets, _environment, _disk)


def with_rehearsal(rows: tuple[Enforced, ...]) -> Iterator[Enforced]:
    """Give the rows of a probe, those that can be tried with cells replaced by what was seen."""
    try:
        tried = {row.right: row for row in rehearse()}
    except (SandboxError, OSError) as error:
        tried = {}
        rows = (*rows, Enforced(right="cells", by="not enforced", detail=f"none could be started: {error}"))
    for row in rows:
        yield tried.get(row.right, row)
