"""The attempts are made once for all tests of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.escape.arena import run, run_all
from tests.escape.table import Row, rows_of

OLD = tuple(str(level) for level in range(1, 8))
"""Every version of Landlock that there is, made by leaving out newer rights."""


@pytest.fixture(scope="session")
def found() -> Mapping[str, Any]:
    """What all attempts came to, without confinement, with one layer, and in cells."""
    return run_all()


@pytest.fixture(scope="session")
def rows(found: Mapping[str, Any]) -> Mapping[str, Row]:
    """The same, judged, by name."""
    if not found["contained"]:
        pytest.skip(f"no control can be run where it harms nothing: {found['why']}")
    return {row.name: row for row in rows_of(found)}


@pytest.fixture(scope="session")
def old_rows() -> Mapping[str, Row]:
    """What the quick attempts came to with older Landlocks."""
    found = run("old", *OLD)
    if not found["contained"]:
        pytest.skip(f"no attempt can be made where it harms nothing: {found['why']}")
    return {row.name: row for row in rows_of(found)}
