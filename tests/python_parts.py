"""The shared cases of the Python engine, and ways to run a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file in tests/data."""
    lines = (Path(__file__).parent / "data" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


CASES = rows("python.jsonl")
BENIGN = [case for case in CASES if case["label"] == "benign"]
HOSTILE = [case for case in CASES if case["label"] == "hostile"]

PROGRAMS: dict[str, str] = {row["id"]: row["code"] for row in rows("python_programs.jsonl")}
"""Benign programs of the kinds that people and models write, by name."""

LONG = {"cpu", "mem", "crash"}
"""Kinds that use up what they get; they run in a cell of their own only."""


def ids(cases: list[dict[str, Any]]) -> list[str]:
    """Return the names of the cases."""
    return [case["id"] for case in cases]


def plain_python(code: str, *, folder: Path | None = None, isolated: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program as a file would be run, without policy or cell: the control."""
    return subprocess.run(
        [sys.executable, *(["-I"] if isolated else []), "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
    )
