"""Attempts outside a cell: without confinement, or with one layer of it, where they can harm nothing.

A stage is an init with process, mount, message and name spaces of its own, and a scene in it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from remit_sandbox.confine import confine, kernel, process, readable, seccomp
from remit_sandbox.escape.attempts import ATTEMPTS, Attempt
from remit_sandbox.escape.look import Look
from remit_sandbox.escape.scene import Scene
from remit_sandbox.escape.spaces import enter_spaces, mount_proc
from remit_sandbox.supervisor.client import site_folders

LAYERS = ("Landlock", "seccomp", "control")
MEMORY = 256 * 1024 * 1024
LIMITS: dict[str, float | None] = {"memory": MEMORY, "open_files": 256, "file_size": MEMORY, "cpu": 60}
_SECONDS = 8.0
_BROKE, _REFUSED = "broke", "refused"
_LEAKED = 77
_TAKES_A_MOMENT = ("signal", "network dns")
_LEAVES_NO_TRACE = ("loot", "files", "network", "descriptor", "program ran", "privileged file", "large file")


class Stage:
    """One stage; `used_up` once an attempt has left something that cannot be put back."""

    def __init__(self) -> None:
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._orders)
            os.close(self._answers)
            _in_spaces(orders, answers)
        os.close(orders)
        os.close(answers)
        self.used_up = False

    def try_once(self, attempt: Attempt, layer: str) -> dict[str, Any]:
        """What was seen of an attempt: `seen`, and in `error` why it was refused or how it broke."""
        os.write(self._orders, json.dumps([attempt.name, layer]).encode() + b"\n")
        text = _line(self._answers, _SECONDS * 3)
        found: dict[str, Any] = {"seen": [], "error": f"{_BROKE}: the stage ended"}
        if text:
            found = json.loads(text)
        self.used_up = not all(seen.startswith(_LEAVES_NO_TRACE) for seen in found["seen"])
        self.used_up = self.used_up or found["error"].startswith(_BROKE)
        return found

    def close(self) -> None:
        """End it and all in it: it goes when there are no more orders, or by force."""
        os.close(self._orders)
        _line(self._answers, 2.0)
        os.close(self._answers)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def pause_for(attempt: Attempt) -> None:
    """The effect of a signal, and what another thread hears, takes a moment until it can be seen."""
    if attempt.sees in _TAKES_A_MOMENT:
        time.sleep(0.05)


def _in_spaces(orders: int, answers: int) -> NoReturn:
    try:
        kernel.prctl(1, signal.SIGKILL)
        enter_spaces(network=False)
        pid = os.fork()
        if pid == 0:
            kernel.prctl(1, signal.SIGKILL)
            mount_proc()
            _serve(orders, answers)
        os.close(orders)
        os.close(answers)
        os.waitpid(pid, 0)
    except BaseException as error:
        _say(answers, {"seen": [], "error": f"{_BROKE}: {error!r}"})
    finally:
        os._exit(0)


def _serve(orders: int, answers: int) -> NoReturn:
    """Be the init of the stage."""
    folder = Path(tempfile.mkdtemp(prefix="stage-"))
    try:
        scene = Scene(folder)
        with os.fdopen(orders) as lines:
            for line in lines:
                name, layer = json.loads(line)
                _say(answers, _watch(ATTEMPTS[name], layer, scene, folder / "tmp"))
    except BaseException as error:
        _say(answers, {"seen": [], "error": f"{_BROKE}: {error!r}"})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _say(answers: int, found: dict[str, Any]) -> None:
    with suppress(OSError):
        os.write(answers, json.dumps(found).encode() + b"\n")


def _watch(attempt: Attempt, layer: str, scene: Scene, tmp: Path) -> dict[str, Any]:
    """Start the attacker, look, and end it."""
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.mkdir(mode=0o700)
    scene.start()
    said, says = os.pipe()
    waits, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        _attacker(attempt, layer, scene, tmp, says, waits)
    os.close(says)
    os.close(waits)
    try:
        if (ready := _line(said, _SECONDS)) != "ready":
            return {"seen": [], "error": ready or f"{_BROKE}: it ended before it attacked"}
        look = Look(pid, ignore={pid}, granted=("socket:TCP",) if attempt.net else ())
        os.write(go, b"x")
        told = _line(said, _SECONDS)
        loot = json.loads(told) if told else {"loot": "", "error": "it ended"}
        pause_for(attempt)
        seen = look.changes() | scene.happened(loot["loot"])
        for _ in range(20 if layer == "control" and attempt.sees in _TAKES_A_MOMENT else 0):
            if attempt.sees in seen:
                break
            pause_for(attempt)
            seen |= scene.happened(loot["loot"])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        pid = 0
        seen |= {"left behind"} if _left(look) else set()
        return {"seen": sorted(seen), "error": loot["error"]}
    finally:
        os.close(said)
        os.close(go)
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _left(look: Look) -> bool:
    """Whether something of the attacker lives on a moment after its end."""
    for _ in range(5):
        if not look.new_processes():
            return False
        time.sleep(0.01)
    return True


def _line(reader: int, seconds: float) -> str:
    text, end = b"", time.monotonic() + seconds
    while not text.endswith(b"\n") and select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        if not (part := os.read(reader, 1 << 20)):
            break
        text += part
    return text.decode("utf-8", "replace").strip().partition("\n")[0]


def _attacker(attempt: Attempt, layer: str, scene: Scene, tmp: Path, says: int, waits: int) -> NoReturn:
    try:
        facts = SimpleNamespace(**scene.facts())
        _settle(tmp, says, waits)
        _confine(layer, scene, tmp)
        os.write(4, b"ready\n")
        os.read(3, 1)
    except BaseException as error:
        os.write(4, f"{_BROKE}: {error!r}\n".encode())
        os._exit(1)
    found = {"loot": "", "error": ""}
    own = os.getpid()
    try:
        loot = attempt.act(facts)
        found["loot"] = loot.decode("latin-1") if isinstance(loot, bytes) else str(loot or "")
    except BaseException as error:
        found["error"] = f"{_REFUSED}: {type(error).__name__}: {error}"
    if os.getpid() != own:
        os._exit(1)
    data = memoryview(json.dumps(found).encode() + b"\n")
    while data:
        data = data[os.write(4, data) :]
    while True:
        time.sleep(60)


def _settle(tmp: Path, says: int, waits: int) -> None:
    """Have what a cell has, and what a careless host leaks."""
    kernel.prctl(1, signal.SIGKILL)
    os.setsid()
    os.dup2(waits, 3)
    os.dup2(says, 4)
    os.closerange(5, _LEAKED)
    os.closerange(_LEAKED + 1, 4096)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    os.environ["TMPDIR"] = str(tmp)
    os.chdir(tmp)
    sys.dont_write_bytecode = True


def _confine(layer: str, scene: Scene, tmp: Path) -> None:
    """Put on one layer. Landlock comes with dropped capabilities and limits, the filter comes alone."""
    if layer == "Landlock":
        machine = confine.Means(landlock=confine.means().landlock, no_landlock="", no_seccomp="left out")
        paths = confine.Paths(read=(f"{scene.docs}/**",), write=(f"{scene.work}/**",), tmp=str(tmp))
        opened = confine.open_paths(readable.default_paths(site_folders()))
        opened += confine.open_devices(readable.WRITABLE_DEVICES) + confine.open_grants(paths)
        confine.confine(machine, opened, children=False, limits=LIMITS)
        for descriptor, _, _ in opened:
            os.close(descriptor)
    elif layer == "seccomp":
        process.forbid_new_privileges()
        seccomp.restrict(children=False, abi=confine.means().landlock, pid=os.getpid())
