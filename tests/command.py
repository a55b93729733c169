"""Runs the command line as a person does: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def remit(
    *arguments: str,
    folder: Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    expect: int | None = 0,
) -> Ran:
    """Run `remit` with these arguments in `folder`; check its exit code unless `expect` is None."""
    done = subprocess.run(
        [sys.executable, "-m", "remit", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=100,
        env={**os.environ, **(environment or {})},
    )
    ran = Ran(code=done.returncode, out=done.stdout.decode(errors="replace"), err=done.stderr.decode(errors="replace"))
    assert "Traceback" not in ran.err or "try" in arguments, ran.err
    if expect is not None:
        assert ran.code == expect, (arguments, ran)
    return ran


def deployment(folder: Path, *packs: str) -> Path:
    """Make a deployment that runs wherever tests run, with these installed packs enabled."""
    remit("init", "--yes", "--enforcement", "available", "--packs", ",".join(packs), folder=folder)
    return folder
