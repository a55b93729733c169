"""Every claim of docs/security.md names a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
CLAIMED = PAGE.partition("## Claimed")[2].partition("## Who enforces")[0]


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    assert name in functions(file)


def test_every_claim_names_one() -> None:
    rows = [line for line in CLAIMED.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 20
    for row in rows:
        assert "::test_" in row, row


def test_nothing_that_is_not_claimed_is_claimed_elsewhere() -> None:
    limits = PAGE.partition("## Not claimed")[2]
    for word in ("exec", "stat", "in parts", "Exfiltration", "side channels", "flock", "learn"):
        assert word in limits
