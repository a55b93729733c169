"""What this machine can enforce, found out by trying, with a control beside every attempt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from remit_sandbox.errors import SupervisorError
from remit_sandbox.values import Enforced, EnforcedBy

_PROGRAM = Path(__file__).parent / "confine" / "attempts.py"
_SECONDS = 60

_MEANS = {
    "files: read": "Landlock",
    "files: write": "Landlock",
    "files: truncate": "Landlock, seccomp before ABI 3",
    "files: make": "Landlock",
    "files: remove": "Landlock",
    "memory of others": "Landlock",
    "memory limit": "RLIMIT_AS",
    "signals to others": "Landlock, seccomp before ABI 6",
    "open files limit": "RLIMIT_NOFILE",
    "file size limit": "RLIMIT_FSIZE",
}

_ELSEWHERE = (
    "files",
    "network",
    "processes",
    "signals to others",
    "memory of others",
    "shared memory",
    "memory limit",
    "open files limit",
    "file size limit",
)


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What is enforced on this machine.

    Attributes:
        rows: one for each right.
        missing: what `enforcement = "kernel"` needs and this machine lacks, in words; empty when nothing.
        landlock_abi: 0 where there is no Landlock.
    """

    rows: tuple[Enforced, ...]
    missing: tuple[str, ...]
    landlock_abi: int


def probe(*, refresh: bool = False) -> Probe:
    """Try every right in throwaway processes, about a quarter of a second; the answer is kept.

    Args:
        refresh: try again instead of giving the answer that was kept.

    Raises:
        SupervisorError: when the attempts could not be made.
    """
    if refresh:
        _probe.cache_clear()
    return _probe()


@cache
def _probe() -> Probe:
    if sys.platform != "linux":
        why = f"{sys.platform} has neither Landlock nor seccomp; only Linux can confine"
        rows = tuple(Enforced(right=right, by="not enforced", detail=why) for right in _ELSEWHERE)
        return Probe(rows=rows + _always(why), missing=(why,), landlock_abi=0)
    found = _attempts()
    missing = [str(reason) for reason in found["missing"]]
    rows = tuple(_row(right, control, confined, missing) for right, control, confined in found["rows"])
    if not missing:
        missing = [f"{row.right}: {row.detail}" for row in rows if row.detail == SUCCEEDED]
    rows += _always(str(found["no_shm"]))
    return Probe(rows=rows, missing=tuple(missing), landlock_abi=int(found["landlock"]))


SUCCEEDED = "the attempt succeeded in spite of confinement"
"""How a right is told that is not held although this machine has all that holds it."""


def _row(right: str, control: bool, confined: bool, missing: Sequence[str]) -> Enforced:
    if not control:
        return Enforced(right=right, by="not enforced", detail="cannot be tested: it fails without confinement, too")
    if confined:
        return Enforced(right=right, by="not enforced", detail="; ".join(missing) or SUCCEEDED)
    return Enforced(right=right, by="kernel", detail=f"refused ({_MEANS.get(right, 'seccomp')}); the control succeeded")


def _always(no_shm: str) -> tuple[Enforced, ...]:
    """Rights that are held without a system call to refuse; each is tried by a test, and not here."""
    own: tuple[EnforcedBy, str] = ("kernel", "a /dev/shm of the cell's own, in a mount namespace; made here")
    if no_shm:
        own = ("not enforced", f"skills that ask for shm are refused: {no_shm}")
    rows: tuple[tuple[str, EnforcedBy, str], ...] = (
        ("shared memory of its own", *own),
        ("network by name", "broker", "the host connects, to granted names only"),
        ("programs granted", "process", "by path and SHA-256, compared before each run"),
        ("time", "process", "a cell and all it started are killed at the limit"),
        ("CPU time", "kernel" if sys.platform != "win32" else "not enforced", "RLIMIT_CPU, of each process"),
        ("secrets", "process", "sent to the one cell that declared them, masked in what it answers"),
        ("environment", "process", "scrubbed before the cell is made"),
        ("number of processes", "polled", "counted about twice a second; none at all without exec, by seccomp"),
        ("disk", "polled", "the temporary folder is measured about twice a second"),
    )
    return tuple(Enforced(right=right, by=by, detail=detail) for right, by, detail in rows)


def _attempts() -> dict[str, Any]:
    from remit_sandbox.supervisor.client import python_program, site_folders

    with tempfile.TemporaryDirectory(prefix="remit-probe-") as scratch:
        command = [python_program(), "-I", "-S", str(_PROGRAM), os.path.realpath(scratch), *site_folders()]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, env={}, cwd="/", check=False
            )
            if done.returncode:
                raise ValueError(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
            found: dict[str, Any] = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise SupervisorError(f"the probe of this machine could not run: {error}") from None
        return found
