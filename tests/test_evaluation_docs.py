"""What docs/eval.md shows is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from examples.eval import __main__ as example

from remit.cli.eval_text import LABELS
from remit.evaluation.attempt import Attempt
from remit.evaluation.case import AnswerCheck, Case
from remit.evaluation.reading import parse_suite
from remit.evaluation.report import CaseReport, Report
from tests.test_docs import blocks

PAGE = Path(__file__).parent.parent / "docs/eval.md"


def test_suites_of_the_page_are_suites(tmp_path: Path) -> None:
    ids = [case.id for text in blocks(PAGE, "yaml") for case in parse_suite(text, tmp_path / "suite.yaml").cases]
    assert ids == ["percent", "conversation", "notes", "writes"]


def test_the_python_example_of_the_page_runs(tmp_path: Path) -> None:
    (program,) = blocks(PAGE, "python")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "The sum is 5.\n1.0 1.0 passed\n", done.stderr


def test_the_page_names_every_key_figure_and_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for model in (Case, AnswerCheck):
        for name, field in model.model_fields.items():
            assert f"`{field.alias or name}`" in page or f"`{name}:" in page, name
    assert all(label in page for label in LABELS.values() if label not in ("cost", "seconds"))
    source = (PAGE.parent.parent / "core/remit/cli/eval.py").read_text(encoding="utf-8")
    known = {"--model", "--base-url", "--api-key", "--dialect", "--filter"}
    for option in set(re.findall(r'"(--[a-z-]+)"', source)) - known:
        assert option in page, option


def test_what_the_page_says_of_a_report_is_there() -> None:
    (rows,) = re.findall(r"^\| of a `Report` \| is \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE.read_text("utf-8"), re.M)
    case, attempt = CaseReport(case=Case(id="a", question="b")), Attempt(number=1)
    report = Report(suite="s", model="m", mode="asked", made=0.0, repeat=1, cases=(replace(case, attempts=(attempt,)),))
    own, of_case, of_attempt, whole = rows.splitlines()
    assert all(hasattr(report, name) for name in re.findall(r"`(\w+)`", own.split("|")[1]))
    for line, value in ((of_case, report.cases[0]), (of_attempt, report.cases[0].attempts[0])):
        names = set(re.findall(r"`(\w+)`", line.split("|")[2])) - {"passed", "failed", "flaky", "skipped"}
        assert names and all(hasattr(value, name) for name in names), line
    assert "`to_json()`" in whole and type(report.to_json()) is dict


@pytest.mark.parametrize("there", [False, True], ids=["without PyYAML", "control"])
def test_the_example_says_in_a_line_what_it_lacks(
    there: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "REMIT_STATE", "")  # what the example sets ends with this test
    if not there:
        monkeypatch.setitem(sys.modules, "yaml", None)
    assert example.main() == (0 if there else 2)
    said = capsys.readouterr()
    assert ("needs PyYAML" in said.err) is not there and "Traceback" not in said.err
    assert ("remit[eval]" in said.err) is not there
