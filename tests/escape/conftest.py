"""The attempts are made once for all tests of them, whichever process of pytest-xdist runs a test."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from remit_sandbox.escape.arena import run, run_all
from remit_sandbox.escape.table import Row, rows_of

OLD = tuple(str(level) for level in range(1, 8))
"""Every version of Landlock that there is, made by leaving out newer rights."""


def _once(name: str, make: Callable[[], Mapping[str, Any]], factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What `make` gives, made by the first process that asks while the others wait."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return make()
    path = factory.getbasetemp().parent / f"escape-{name}.json"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_text(json.dumps(make()), "utf-8")
    return dict(json.loads(path.read_text("utf-8")))


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What all attempts came to, without confinement, with one layer, and in cells."""
    return _once("all", run_all, tmp_path_factory)


@pytest.fixture(scope="session")
def rows(found: Mapping[str, Any]) -> Mapping[str, Row]:
    """The same, judged, by name."""
    if not found["contained"]:
        pytest.skip(f"no control can be run where it harms nothing: {found['why']}")
    return {row.name: row for row in rows_of(found)}


@pytest.fixture(scope="session")
def old_rows(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Row]:
    """What the quick attempts came to with older Landlocks."""
    found = _once("old", lambda: run("old", *OLD), tmp_path_factory)
    if not found["contained"]:
        pytest.skip(f"no attempt can be made where it harms nothing: {found['why']}")
    return {row.name: row for row in rows_of(found)}
