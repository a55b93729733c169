"""One attempt in a real cell, started as every program starts one: through `Sandbox`."""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from remit_sandbox.cell import Cell
from remit_sandbox.errors import SandboxError
from remit_sandbox.escape.attempts import Attempt
from remit_sandbox.escape.look import Look, processes
from remit_sandbox.escape.scene import Scene
from remit_sandbox.escape.stage import MEMORY, pause_for
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.supervisor.client import site_folders
from remit_sandbox.values import CellSpec, Enforcement, Isolation, Limits, Reply, Rights

PACK = Path(__file__).parent
ISOLATIONS: tuple[Isolation, ...] = ("warm", "fresh", "process")
_SECONDS = 20.0
_PATIENCE = 2.0
_REFUSALS = (
    "OSError",
    "PermissionError",
    "FileNotFoundError",
    "ProcessLookupError",
    "NotADirectoryError",
    "BlockingIOError",
    "ConnectionRefusedError",
    "MemoryError",
    "RuntimeError: can't start new thread",
    "ValueError: not allowed to raise maximum limit",
    "ValueError: embedded null character",
    "gaierror",
    "socket.gaierror",
    "URLError",
    "TimeoutError",
)
_TAKES_TIME = {"many processes", "many threads"}


class Cells:
    """A host with a sandbox, a second cell to attack, and a scene.

    Args:
        folder: for the scene.
        highest_abi: the newest Landlock that is used; 0 for none, which then is accepted.
        reuse: let a `process` cell, too, serve one attempt after another.
        shm: give `process` cells a `/dev/shm` of their own, which takes them into a mount namespace.
    """

    def __init__(self, folder: Path, *, highest_abi: int = 7, reuse: bool = False, shm: bool = False) -> None:
        self._shm = shm
        self._lasting: tuple[Isolation, ...] = ("warm", "process") if reuse else ("warm",)
        self.sandbox = Sandbox()
        self.sandbox._highest_abi = highest_abi
        self._enforcement: Enforcement = "kernel" if highest_abi else "available"
        self._folder = folder
        self._kept: dict[tuple[Isolation, bool], Cell] = {}
        self.sibling = self.sandbox.cell(self._spec(Rights(), "warm", settings={"another": True}))
        token = f"sibling:{secrets.token_hex(12)}"
        _ask(self.sibling, "keep", text=token)
        given = (self.sibling.pid, self.sibling.tmp, token)
        self.scene = Scene(folder, host=os.getpid(), sibling=given)
        self.scene.parent = _parent(self.sibling.pid)

    def attempt(self, attempt: Attempt, isolation: Isolation) -> dict[str, Any]:
        """What was seen of an attempt: `seen`, and in `error` what the cell answered."""
        cell = self._cell(attempt, isolation)
        before = processes()
        granted = (*(("socket:TCP",) if attempt.net else ()), *(("/dev/shm/",) if cell.spec.rights.shm else ()))
        look = Look(cell.pid, ignore={cell.pid}, granted=granted)
        self.scene.start()
        facts = json.dumps(self.scene.facts())
        reply = _ask(cell, "attack", module=attempt.module, name=attempt.name, facts=facts)
        if attempt.sees in _TAKES_TIME:
            _wait_for_the_watch(look)
        pause_for(attempt)
        loot = json.loads(reply.text) if reply.kind == "result" else ""
        seen = look.changes() | self.scene.happened(loot)
        if isolation not in self._lasting or seen or cell.broken or attempt.net or look.holds_much():
            cell.kill()
            self._kept.pop((isolation, attempt.net), None)
            seen |= {"left behind"} if _left(before - {cell.pid}) else set()
        return {"seen": sorted(seen), "error": _told(reply)}

    def _cell(self, attempt: Attempt, isolation: Isolation) -> Cell:
        kept = self._kept.get((isolation, attempt.net))
        if kept is not None and kept.usable:
            return kept
        cell = self.sandbox.cell(self._spec(self._rights(attempt, isolation), isolation))
        if isolation in self._lasting:
            self._kept[isolation, attempt.net] = cell
        return cell

    def _rights(self, attempt: Attempt, isolation: Isolation) -> Rights:
        granted = f"127.0.0.1:{self.scene.granted.getsockname()[1]}"
        port = self.scene.listeners["tcp"].getsockname()[1]
        return Rights(
            read=(f"{self.scene.docs}/**",),
            write=(f"{self.scene.work}/**",),
            net=(granted, f"localhost:{port}", "granted.test:80", "*:80") if attempt.net else (),
            private_net=(granted,) if attempt.net else (),
            shm=self._shm and isolation == "process",
            limits=Limits(memory=MEMORY, processes=8 if isolation == "process" else 0),
        )

    def _spec(self, rights: Rights, isolation: Isolation, **more: Any) -> CellSpec:
        return CellSpec(
            pack="hostile",
            package="remit_hostile",
            location=str(PACK),
            paths=tuple(site_folders()),
            rights=rights,
            isolation=isolation,
            enforcement=self._enforcement,
            **more,
        )

    def close(self) -> None:
        """End everything."""
        self.sandbox.close()


def _ask(cell: Cell, handler: str, **arguments: str) -> Reply:
    body = {
        "handler": f"remit_hostile:{handler}",
        "arguments": json.dumps(arguments).encode(),
        "context": {"session": "s", "call": "c"},
    }
    try:
        return cell.request("call", body, timeout=_SECONDS)
    except SandboxError as error:
        return Reply(kind="died", error=str(error))


def _told(reply: Reply) -> str:
    """What the cell answered; an error that is no refusal says that the attempt was not made."""
    if reply.kind == "timeout" or (reply.kind == "failed" and not reply.error.startswith(_REFUSALS)):
        return f"broke: {reply.error}"
    if "Too many open files" in reply.error and "remit_hostile" in reply.error:
        return f"broke: {reply.error}"
    return reply.error or reply.kind


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _wait_for_the_watch(look: Look) -> None:
    """What is only polled is ended a little later."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and (look.sizes() or len(look.new_processes()) > 8):
        time.sleep(0.05)


def _left(before: set[int]) -> bool:
    """Whether processes live on that were not there before."""
    for _ in range(40):
        if not {pid for pid in processes() - before if not _is_zombie(pid)}:
            return False
        time.sleep(0.02)
    return True


def _is_zombie(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True
