"""What is held without a refused call is tried with cells, too, and a failing one is told as not enforced."""

from __future__ import annotations

import pytest

from remit.cli.main import run
from remit_sandbox import rehearsal
from remit_sandbox.errors import SupervisorError
from remit_sandbox.probe import SUCCEEDED, probe
from remit_sandbox.values import Enforced

RIGHTS = {"network by name", "programs granted", "time", "secrets", "environment", "disk"}


@pytest.mark.confinement
def test_each_is_held_and_its_control_works() -> None:
    rows = {row.right: row for row in rehearsal.rehearse()}
    assert rows.keys() == RIGHTS
    for row in rows.values():
        assert row.by != "not enforced" and row.detail.endswith("the control succeeded"), row
    assert {row.right: row.by for row in probe().rows if row.right in RIGHTS} == {r: row.by for r, row in rows.items()}


def test_one_that_is_not_held_is_told_and_changes_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Enforced(right="time", by="not enforced", detail=f"{SUCCEEDED} (x)")
    monkeypatch.setattr(rehearsal, "rehearse", lambda: (broken,))
    assert run(["doctor"]) == 1
    assert f"time: {SUCCEEDED} (x)" in capsys.readouterr().out


def test_a_control_that_fails_proves_nothing() -> None:
    assert rehearsal._row("time", "process", True, False, "x").by == "not enforced"
    assert "cannot be tested" in rehearsal._row("time", "process", True, False, "x").detail


def test_where_no_cell_can_be_started_that_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> tuple[Enforced, ...]:
        raise SupervisorError("no Python")

    monkeypatch.setattr(rehearsal, "rehearse", refuse)
    rows = list(rehearsal.with_rehearsal(()))
    assert [(row.right, row.by) for row in rows] == [("cells", "not enforced")] and "no Python" in rows[0].detail
