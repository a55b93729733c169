"""`remit doctor`: says what this machine enforces, and its exit code tells whether it can confine."""

from __future__ import annotations

from pathlib import Path

from remit_sandbox.probe import probe
from tests.command import remit


def test_it_says_what_is_enforced_by_what(tmp_path: Path) -> None:
    missing = probe().missing
    ran = remit("doctor", folder=tmp_path, expect=1 if missing else 0)
    rows = ran.out.splitlines()
    assert rows[0].split() == ["right", "enforced", "by", "how"]
    assert any(row.startswith("files: read") for row in rows)
    assert ("This machine cannot confine skills" in ran.out) is bool(missing)


def test_json_is_the_whole_probe(tmp_path: Path) -> None:
    found = probe()
    told = remit("doctor", "--json", folder=tmp_path, expect=1 if found.missing else 0).json
    assert told["missing"] == list(found.missing) and told["landlock_abi"] == found.landlock_abi
    assert [row["right"] for row in told["rows"]] == [row.right for row in found.rows]
