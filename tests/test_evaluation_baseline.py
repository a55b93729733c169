"""Comparing with an earlier report: what changed, case by case, and whether it may be chance."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from remit.errors import UsageError
from remit.evaluation import Baseline, Case, Report, compare, read_baseline
from remit.evaluation.attempt import Attempt, TurnOutcome
from remit.evaluation.report import CaseReport

NAMES = [f"c{number}" for number in range(6)]


def report(cases: dict[str, str], *, question: str = "q", tags: tuple[str, ...] = ()) -> Report:
    """Return a report of cases whose attempts passed (`+`) or not (`-`)."""
    return Report(
        suite="s",
        model="m",
        mode="asked",
        made=0.0,
        repeat=1,
        cases=tuple(
            CaseReport(
                case=Case.model_validate({"id": name, "question": question, "tags": tags}),
                attempts=tuple(attempt(number, outcome) for number, outcome in enumerate(outcomes, 1)),
                skipped="" if outcomes else "later",
            )
            for name, outcomes in cases.items()
        ),
    )


def attempt(number: int, outcome: str) -> Attempt:
    turn = TurnOutcome(answer="", status="answered", steps=2 if outcome == "+" else 3)
    return Attempt(number=number, turns=(turn,), failures=() if outcome == "+" else ("no",))


@pytest.fixture
def before(tmp_path: Path) -> Baseline:
    saved = tmp_path / "baseline.json"
    saved.write_text(json.dumps(report({**dict.fromkeys(NAMES, "+"), "gone": "+", "later": ""}).to_json()))
    return read_baseline(saved)


def test_one_loss_is_named_and_may_be_chance(before: Baseline) -> None:
    found = compare(before, report({**dict.fromkeys(NAMES, "+"), "c1": "-", "new": "+", "later": ""}))
    assert (found.worse, found.added, found.removed) == (("c1",), ("new",), ("gone",))
    assert found.noise and found.regressed() and not found.regressed(tolerate_noise=True)
    assert found.words == "1 newly failing, 0 newly passing: within noise (McNemar exact p = 1 over 6 cases)"


def test_many_losses_are_no_chance(before: Baseline) -> None:
    found = compare(before, report(dict.fromkeys(NAMES, "-")))
    assert found.worse == tuple(NAMES) and found.p == pytest.approx(0.03125)
    assert not found.noise and found.regressed(tolerate_noise=True) and "more than noise" in found.words
    assert [change.name for change in found.figures] == ["success", "steps"]
    assert (found.figures[0].before["value"], found.figures[0].now["value"]) == (1.0, 0.0)


def test_nothing_changed_and_gains_are_no_loss(before: Baseline) -> None:
    same = compare(before, report(dict.fromkeys(NAMES, "+"), tags=("own",)))
    assert not same.regressed() and same.words == "no case changed, of 6 compared"
    saved = report(dict.fromkeys(NAMES, "-"))
    better = compare(_read(saved), report(dict.fromkeys(NAMES, "+")))
    assert better.better == tuple(NAMES) and not better.regressed() and not better.regressed(tolerate_noise=True)


def test_a_case_that_asks_something_else_is_not_compared(before: Baseline) -> None:
    found = compare(before, report({"c0": "-"}, question="another"))
    assert found.changed == ("c0",) and found.compared == 0 and not found.worse


def test_a_case_that_fails_and_was_not_compared_is_no_green_light(before: Baseline) -> None:
    same = dict.fromkeys(NAMES, "+")
    new = compare(before, report({**same, "new": "-", "half": "+-"}))
    assert (new.worse, new.failing, new.added) == ((), ("new",), ("new", "half"))
    assert new.regressed() and new.regressed(tolerate_noise=True)
    assert new.words == "no case changed, of 6 compared; 1 failing that could not be compared"
    changed = Case.model_validate({"id": "c0", "question": "another"})
    other = CaseReport(case=changed, attempts=(attempt(1, "-"),))
    rest = report(dict.fromkeys(NAMES[1:], "+"))
    expects = compare(before, replace(rest, cases=(other, *rest.cases)))
    assert (expects.changed, expects.failing, expects.regressed()) == (("c0",), ("c0",), True)
    fine = compare(before, report({**same, "new": "+"}))
    assert fine.failing == () and not fine.regressed(), "a new case that passes is a gain"


def test_half_of_the_attempts_make_a_case_pass_and_fewer_than_before_are_named() -> None:
    before = _read(report({"a": "++++", "b": "+-", "c": "----"}))
    found = compare(before, report({"a": "++--", "b": "---+", "c": "-+--"}))
    assert (found.shakier, found.worse, found.better) == (("a",), ("b",), ())
    assert compare(before, report({"a": "+++-"})).shakier == ("a",)


def _read(saved: Report) -> Baseline:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "b.json")
        path.write_text(json.dumps(saved.to_json()))
        return read_baseline(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"remit_evaluation": 9}', "[" * 100_000])
def test_a_file_that_is_no_report_is_no_baseline(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match="cannot be read"):
        read_baseline(tmp_path / "b.json")
