"""What the host asks of the supervisor, from the host's values to plain messages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from remit_sandbox.errors import SandboxError
from remit_sandbox.values import CellSpec


def spawn(spec: CellSpec) -> dict[str, Any]:
    """The order to start a cell.

    Raises:
        SandboxError: for a right that its isolation does not allow.
    """
    if spec.rights.exec and spec.isolation != "process":
        raise SandboxError(f'pack {spec.pack}: a skill that may exec needs isolation "process"')
    own = [f"{spec.location}/{spec.package}"] if spec.location else []
    return {
        "op": "spawn",
        "isolation": spec.isolation,
        "read": list(spec.rights.read),
        "write": list(spec.rights.write),
        "exec": list(spec.rights.exec),
        "digests": dict(spec.rights.program_digests),
        "shm": spec.rights.shm,
        "site": [*spec.paths, *own],
        "net": bool(spec.rights.net),
        "env": {},
        "limits": asdict(spec.rights.limits),
    }


def end(pid: int, *, wait: bool = False, later: bool = False) -> dict[str, Any]:
    """The order to end a cell.

    Args:
        pid: its process id.
        wait: give it a moment to end by itself, to learn how.
        later: kill it now, but answer before it is reaped and its folder removed.
    """
    return {"op": "end", "pid": pid, "wait": wait, "later": later}
