"""The programs of docs/context.md run, and say what the page says."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from remit.deployment.load import parse_config
from tests.test_docs import ROOT, blocks

PAGE = ROOT / "docs/context.md"


def test_the_program_runs() -> None:
    (program,) = blocks(PAGE, "python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, str(PAGE), "exec"), {"__name__": "program"})
    assert out.getvalue() == "4 degrees.\n('remit.find_skills', 'local.temperature')\n"


def test_the_settings_are_ones() -> None:
    for tables in blocks(PAGE, "toml"):
        assert parse_config(f"policy = 1\n{tables}", Path("remit.toml"))
