from __future__ import annotations

import sys

import pytest

from remit_sandbox.probe import probe


def test_every_right_has_a_row_and_a_reason() -> None:
    found = probe()
    assert len({row.right for row in found.rows}) == len(found.rows)
    assert all(row.detail for row in found.rows)
    assert {"files: read", "network: TCP", "processes: fork", "time"} <= {row.right for row in found.rows} or (
        sys.platform != "linux"
    )


def test_the_answer_is_kept_until_asked_anew() -> None:
    assert probe() is probe()
    assert probe(refresh=True) == probe()


@pytest.mark.confinement
def test_a_machine_that_can_confine_refuses_every_attempt() -> None:
    found = probe()
    assert found.landlock_abi > 0
    tried = [row for row in found.rows if ":" in row.right]
    assert len(tried) >= 10
    assert all(row.by == "kernel" for row in tried)
