"""Runs the attempts in namespaces of its own and writes what was seen as JSON.

Arguments: the file to write, then `full`, or `old` and the Landlock ABIs to emulate, or `quick` and those: the
quick attempts as with both others.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
_HARMLESS = ("loot", "files", "sibling", "network", "program ran", "process", "descriptor", "memory size")
_SECONDS = 600
Found = dict[str, dict[str, dict[str, Any]]]
"""Name of an attempt to column to what was seen."""


def run_all() -> dict[str, Any]:
    """As `run("full")`, in two arenas at a time."""
    from concurrent.futures import ThreadPoolExecutor

    from remit_sandbox.escape.attempts import ATTEMPTS

    names = [*ATTEMPTS]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda part: run("full", names=part), (names[::2], names[1::2]))
    found = one["found"] | other["found"]
    return one | {"found": {name: found[name] for name in names}}


def run(*arguments: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """Run an arena in a process of its own; what it found, and in `contained` whether controls could run.

    Args:
        arguments: `full`, or `old` or `quick` and the ABIs.
        names: only these attempts; all when there are none.

    Raises:
        RuntimeError: when it broke.
    """
    from remit_sandbox.escape.setting import ENVIRONMENT

    with tempfile.TemporaryDirectory(prefix="remit-escape-") as folder:
        out = Path(folder, "found.json")
        command = [sys.executable, "-m", "remit_sandbox.escape.arena", str(out), ",".join(names), *arguments]
        environment = {**os.environ, ENVIRONMENT: f"environment:{os.urandom(12).hex()}", "TMPDIR": folder}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if not out.exists():
            raise RuntimeError(f"the arena broke with status {done.returncode}: {done.stderr[-4000:]}")
        return dict(json.loads(out.read_text()))


def main(out: str, names: str, arguments: list[str]) -> None:
    """Enter namespaces where that is allowed, and run."""
    from remit_sandbox.escape import spaces

    folder = Path(os.environ["TMPDIR"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    try:
        spaces.enter_spaces(network=True)
    except OSError as error:
        _host(out, names, arguments, contained=False, why=str(error))
    if os.fork() == 0:
        spaces.mount_proc()
        spaces.set_up_network(folder)
        if os.fork() == 0:
            _host(out, names, arguments, contained=True)
        with suppress(ChildProcessError):
            while True:
                os.wait()
        os._exit(0)
    os.wait()


def _host(out: str, names: str, arguments: list[str], *, contained: bool, why: str = "") -> NoReturn:
    try:
        found = _found(arguments[0], _chosen(names), arguments[1:], contained=contained)
        text = json.dumps({"contained": contained, "why": why, "found": found})
        Path(f"{out}.part").write_text(text)
        os.replace(f"{out}.part", out)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _found(how: str, attempts: Sequence[Any], levels: Sequence[str], *, contained: bool) -> Found:
    if how == "full":
        return _full(attempts, contained)
    quick = [attempt for attempt in attempts if attempt.quick]
    if how == "old":
        return _old(quick, levels)
    if not contained:
        # Should a cell not hold here, nobody else may be harmed.
        quick = [attempt for attempt in quick if attempt.sees.startswith(_HARMLESS)]
    now, old = _full(quick, contained), _old(quick, levels)
    return {name: now[name] | old[name] for name in now}


def _chosen(names: str) -> list[Any]:
    from remit_sandbox.escape.attempts import ATTEMPTS

    wanted = names.split(",") if names else list(ATTEMPTS)
    return [ATTEMPTS[name] for name in wanted]


def _full(attempts: Sequence[Any], contained: bool) -> Found:
    from remit_sandbox.escape.cells import ISOLATIONS, Cells

    found = _outside(attempts) if contained else {attempt.name: {} for attempt in attempts}
    cells = Cells(Path(tempfile.mkdtemp(prefix="scene-")), shm=contained)
    for isolation in ISOLATIONS:
        for attempt in attempts:
            found[attempt.name][isolation] = cells.attempt(attempt, isolation)
    cells.close()
    return found


def _outside(attempts: Sequence[Any]) -> Found:
    """Layers first: what they stop leaves the stage as it was."""
    from remit_sandbox.escape.stage import LAYERS, Stage

    found: Found = {attempt.name: {} for attempt in attempts}
    stage = Stage()
    for attempt in attempts:
        for layer in LAYERS:
            if stage.used_up:
                stage.close()
                stage = Stage()
            found[attempt.name][layer] = stage.try_once(attempt, layer)
    stage.close()
    return found


def _old(attempts: Sequence[Any], levels: Sequence[str]) -> Found:
    """With each Landlock in `warm` and `process` cells that serve many attempts, and each attempt once in `fresh`.

    What confines a fresh cell is what confines a warm one; it differs in how long it lives.
    """
    from remit_sandbox.escape.cells import Cells

    found: Found = {attempt.name: {} for attempt in attempts}
    for place, level in enumerate(levels):
        cells = Cells(Path(tempfile.mkdtemp(prefix="scene-")), highest_abi=int(level), reuse=True)
        for number, attempt in enumerate(attempts):
            found[attempt.name][f"ABI {level}"] = cells.attempt(attempt, "warm")
            found[attempt.name][f"ABI {level} process"] = cells.attempt(attempt, "process")
            if number % len(levels) == place:
                found[attempt.name][f"ABI {level} fresh"] = cells.attempt(attempt, "fresh")
        cells.close()
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
