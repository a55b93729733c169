"""The quick attempts with every version of Landlock: what an older one lacks, the filter makes up for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remit_sandbox.escape.arena import run
from remit_sandbox.escape.attempts import ATTEMPTS
from remit_sandbox.escape.table import Row
from tests.escape.conftest import OLD

pytestmark = [pytest.mark.confinement, pytest.mark.timeout(600)]

QUICK = [name for name, attempt in ATTEMPTS.items() if attempt.quick]


@pytest.mark.parametrize("name", QUICK)
def test_it_is_stopped_with_every_landlock(old_rows: Mapping[str, Row], name: str) -> None:
    row = old_rows[name]
    granted = {"granted"} if ATTEMPTS[name].granted == "process" else set()
    for level in OLD:
        assert row.verdicts[f"ABI {level}"] == "stopped", (level, row.details)
        assert row.verdicts[f"ABI {level} process"] in {"stopped"} | granted, (level, row.details)
    assert [row.verdicts[column] for column in row.verdicts if column.endswith("fresh")] == ["stopped"], row.details


def test_the_quick_part_is_no_small_one(old_rows: Mapping[str, Row]) -> None:
    assert len(old_rows) >= 80


def test_the_control_without_landlock_the_same_cells_let_it_happen() -> None:
    """What is seen of a cell that is held by less: else the harness might see nothing anywhere."""
    wanted = {"read": "loot", "append": "files", "read_sibling": "loot"}
    found = run("old", "0", names=[*wanted])
    if not found["contained"]:
        pytest.skip(f"no attempt can be made where it harms nothing: {found['why']}")
    for name, seen in wanted.items():
        assert seen in found["found"][name]["ABI 0"]["seen"], found["found"][name]
