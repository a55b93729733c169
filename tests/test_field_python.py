"""Faults of other systems that run a model's Python, as their users reported them: what ours does in each case.

The rows are in tests/data/field_engines.jsonl; the programs are those of their inputs.
"""

from __future__ import annotations

import re

import pytest

from remit_sandbox.python import execute, run_python
from tests.python_parts import HOSTILE, LONG, rows

CASES = {row["id"]: row for row in rows("field_engines.jsonl") if row["area"] == "python"}

HOLDS = {
    "E137": "adding to an item in place works as in plain Python",
    "E138": "every guard that the policy writes is there, and no error names one",
    "E140": "classes work",
    "E142": "the time of the whole program is limited by the cell, not by counting operations",
    "E145": "names in comprehensions, lambdas, classes and finally are those of plain Python",
    "E148": "dates, slices, while and break work; a module that is not there names those that are",
}
"""Case to what holds here."""


def test_the_table_is_whole() -> None:
    tested = {name.removeprefix("test_").split("_")[0].upper() for name in globals() if re.match(r"test_e\d", name)}
    assert set(HOLDS) == set(CASES) == tested


def test_e137_items_in_place() -> None:
    assert execute(CASES["E137"]["input"]).value == {"bolt": 5}
    twins = (
        "m = [[1]]\nm[0][0] += 1\nd = {'a': [1]}\nd['a'] += [2]\nd['a'][0] *= 5\nclass C: n = 1\nC.n += 1\n(m, d, C.n)"
    )
    assert execute(twins).value == ([[2]], {"a": [5, 2]}, 2)


def test_e138_every_guard_is_there() -> None:
    assert execute(CASES["E138"]["input"]).value == 18
    for case in HOSTILE:
        if case["kind"] not in LONG and "cap" not in case["must_not"] and "_get" not in case["code"]:
            error = execute(case["code"]).error
            assert not re.search(
                r"_(inplacevar|getiter|getitem|getattr|write|unpack|print|apply|class)\w*_\b",
                error.replace("__class__", ""),
            )


def test_e140_classes() -> None:
    assert execute(CASES["E140"]["input"]).value == 4.5


def test_e142_one_limit_for_the_whole_program() -> None:
    result = run_python(CASES["E142"]["input"], timeout=1.5, enforcement="available")
    assert result.error.startswith("TimeoutError")
    short = CASES["E142"]["input"].replace("20000", "20") + "\nz"
    assert run_python(short, enforcement="available").value == 400


def test_e145_scopes() -> None:
    assert execute(CASES["E145"]["input"]).value == ({0: [], 1: [0], 2: [0, 2]}, [1, 2])


def test_e148_what_agents_expect() -> None:
    assert execute(CASES["E148"]["input"]).value == (29, "bd")
    error = execute("import numpy").error
    for name in ("math", "datetime", "statistics", "decimal", "fractions", "re", "json", "itertools", "collections"):
        assert name in error
    assert "import of numpy is not allowed; " in error and "allowed: " in error


@pytest.mark.parametrize("name", ["while", "break", "continue", "slices", "star", "walrus"])
def test_pieces_that_others_lack_one_by_one(name: str) -> None:
    programs = {
        "while": "n = 0\nwhile n < 3: n += 1\nn",
        "break": "for n in range(9):\n    if n == 3: break\nn",
        "continue": "n = 0\nfor i in range(6):\n    if i % 2: continue\n    n += 1\nn",
        "slices": "len('abcdef'[1:6:2])",
        "star": "a, *b = range(4)\nlen(b)",
        "walrus": "len([y for x in range(6) if (y := x) % 2])",
    }
    assert execute(programs[name]).value == 3
