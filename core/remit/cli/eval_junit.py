"""An evaluation as JUnit XML, which CI systems show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from remit.cli import screen

if TYPE_CHECKING:
    from remit.evaluation.report import CaseReport, Report


def junit(report: Report) -> str:
    """Return a report as JUnit XML: a test for each case, failed when an attempt did."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    states = [one.state for one in report.cases]
    failed, skipped = sum(state in ("failed", "flaky") for state in states), states.count("skipped")
    seconds = sum(map(_seconds, report.cases))
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    counts = f'tests="{len(states)}" failures="{failed}" errors="0" skipped="{skipped}" time="{seconds:.3f}"'
    yield f"<testsuites><testsuite name={_attribute(report.suite)} {counts}>"
    for one in report.cases:
        yield from _case(report, one)
    yield "</testsuite></testsuites>"


def _case(report: Report, one: CaseReport) -> Iterator[str]:
    name = f'classname={_attribute(report.suite)} name={_attribute(one.case.id)} time="{_seconds(one):.3f}"'
    if one.state == "passed":
        yield f"<testcase {name}/>"
        return
    yield f"<testcase {name}>"
    if one.state == "skipped":
        yield f"<skipped message={_attribute(one.skipped)}/>"
    else:
        passed = _attribute(f"{one.passed} of {len(one.attempts)} attempts passed")
        yield f"<failure message={passed}>{_why(one)}</failure>"
    yield "</testcase>"


def _why(one: CaseReport) -> str:
    reasons = [f"attempt {attempt.number}: {reason}" for attempt in one.attempts for reason in attempt.failures]
    return escape(screen.visible("\n".join(reasons)))


def _attribute(words: str) -> str:
    return quoteattr(screen.visible(words).replace("\n", " "))


def _seconds(one: CaseReport) -> float:
    return sum(attempt.seconds for attempt in one.attempts)
