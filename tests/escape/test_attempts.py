"""Every attempt to escape: it works without confinement and is stopped in cells of every isolation.

`python -m remit_sandbox.escape` prints the table. Races repeat 2,000 times here and as often as REMIT_ESCAPE_REPEATS
says; 10,000 is what a release is tried with.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remit_sandbox.escape.attempts import ATTEMPTS
from remit_sandbox.escape.cells import ISOLATIONS
from remit_sandbox.escape.table import Row, summary

pytestmark = [pytest.mark.confinement, pytest.mark.timeout(600)]

NEEDS_ANOTHER_MACHINE = {
    "open_memory",
    "open_disk",
    "command_own_terminal_raw",
    "sctp",
    "socket_alg",
    "socket_alg_raw",
    "socket_bluetooth",
    "socket_bluetooth_raw",
    "socket_by_x32_raw",
    "fork_by_x32_raw",
    "raise_limit",
    "raise_limit_raw",
    "broker_line_break",
    "broker_nat",
}
"""Attempts that fail on many machines whatever holds them; where they work they count as all others do."""


@pytest.mark.parametrize("name", ATTEMPTS)
def test_it_is_stopped(rows: Mapping[str, Row], name: str) -> None:
    row = rows[name]
    if row.control == "vacuous" and name in NEEDS_ANOTHER_MACHINE:
        pytest.skip("vacuous: it fails without confinement, too")
    assert row.control == "works", row.details["control"]
    wanted = {"documented"} if ATTEMPTS[name].documented else {"stopped"}
    for isolation in ISOLATIONS:
        granted = {"granted"} if ATTEMPTS[name].granted == isolation else set()
        assert row.verdicts[isolation] in wanted | granted, row.details[isolation]


def test_the_suite_is_large_enough_and_what_it_says_is_true(rows: Mapping[str, Row]) -> None:
    working = [row for row in rows.values() if row.control == "works"]
    assert len(working) >= 100
    assert not [row.name for row in rows.values() if "broke" in row.verdicts.values()]
    assert "leaks: none" in summary(list(rows.values()))


def test_each_layer_alone_is_not_enough(rows: Mapping[str, Row]) -> None:
    """Else the columns would not tell the layers apart, and the attempts would be too weak."""
    working = [row for row in rows.values() if row.control == "works"]
    for layer in ("Landlock", "seccomp"):
        passed = sum(row.verdicts[layer] == "works" for row in working)
        assert 0 < passed < len(working), layer


def test_only_information_is_documented_as_a_limit() -> None:
    documented = {attempt.sees for attempt in ATTEMPTS.values() if attempt.documented}
    assert documented == {"size", "existence", "target", "machine name", "process exists"}


def test_most_kinds_are_tried_by_raw_calls_as_well() -> None:
    assert sum(name.endswith("_raw") for name in ATTEMPTS) >= 100
