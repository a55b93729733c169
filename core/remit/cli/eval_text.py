"""An evaluation as text: a line for each case, what failed and why, the figures, what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from remit.cli import screen

if TYPE_CHECKING:
    from remit.evaluation.baseline import Change, Comparison
    from remit.evaluation.figures import Figures, Spread
    from remit.evaluation.intervals import Interval
    from remit.evaluation.report import CaseReport, Report

MOST_REASONS = 3
"""Reasons of a failed attempt that are shown; JSON and HTML have all."""

LABELS = {
    "success": "success",
    "exact": "same calls",
    "in_order": "calls in order",
    "any_order": "calls in any order",
    "precision": "right among calls made",
    "recall": "made among calls expected",
    "argument_accuracy": "arguments right",
    "steps": "model turns",
    "tokens": "tokens",
    "cost": "cost",
    "seconds": "seconds",
}
"""Name of a figure to what people read."""


def show(report: Report) -> None:
    """Print a report."""
    screen.say(screen.styled(title(report), "bold"))
    headings = ("case", "result", "passed", "turns", "tokens", "seconds", "calls")
    screen.say(screen.table(headings, (_row(one) for one in report.cases)))
    for one in report.cases:
        _show_failures(one)
    screen.say()
    for name, value in lines(report.figures):
        screen.say(f"{name:26}{value}")
    _show_tags(report)
    if report.flaky:
        screen.say(f"{'flaky':26}{screen.visible(', '.join(report.flaky))}")
    for note in report.notes:
        screen.warn(f"note: {screen.visible(note)}")


def title(report: Report) -> str:
    """Return what was evaluated, in one line."""
    model = f", model {report.model}" if report.model else ""
    stopped = ", interrupted" if report.interrupted else ""
    return screen.visible(f"suite {report.suite}{model}, {report.mode}{stopped}")


def lines(found: Figures) -> Iterator[tuple[str, str]]:
    """Yield label and value of each figure that there is."""
    if found.success is not None:
        passed = round(found.success.value * found.attempts)
        about = f"{passed} of {_number(found.attempts, 'attempt')}, {_number(found.cases, 'case')}"
        yield LABELS["success"], f"{share(found.success)}  {about}"
    if found.k > 1 and found.pass_at is not None and found.pass_all is not None:
        yield f"one of {found.k} passes", percent(found.pass_at)
        yield f"all {found.k} pass", percent(found.pass_all)
    for name in ("exact", "in_order", "any_order"):
        if (interval := getattr(found, name)) is not None:
            yield LABELS[name], share(interval)
    for name in ("precision", "recall", "argument_accuracy"):
        if (value := getattr(found, name)) is not None:
            yield LABELS[name], percent(value)
    yield "forbidden calls", str(found.forbidden)
    for name in ("steps", "tokens", "cost", "seconds"):
        if (spread := getattr(found, name)) is not None:
            yield LABELS[name], spread_words(spread)


def percent(value: float) -> str:
    """Return a share for people; never 100% or 0% for what is not quite that."""
    shown = f"{100 * value:.1f}"
    if shown in ("100.0", "0.0") and value not in (0.0, 1.0):
        shown = "99.9" if value > 0.5 else "0.1"
    return shown.removesuffix(".0") + "%"


def share(interval: Interval) -> str:
    """Return a share with its interval."""
    if interval.low is None or interval.high is None:
        return percent(interval.value)
    return f"{percent(interval.value)} ({percent(interval.low)} to {percent(interval.high)})"


def spread_words(spread: Spread) -> str:
    """Return mean with interval, median and p95."""
    return f"mean {amount(spread.mean)}, median {spread.median:.4g}, p95 {spread.p95:.4g}"


def amount(interval: Interval) -> str:
    """Return a mean with its interval."""
    if interval.low is None or interval.high is None or interval.low == interval.high:
        return f"{interval.value:.4g}"
    return f"{interval.value:.4g} ({interval.low:.4g} to {interval.high:.4g})"


def show_comparison(found: Comparison, path: str) -> None:
    """Print what changed since a baseline."""
    screen.say()
    screen.say(screen.visible(f"against {path} ({found.before}): {found.words}"))
    for label, ids in changed_cases(found):
        screen.say(screen.visible(f"  {label}: {', '.join(ids)}"))
    for change in found.figures:
        screen.say(f"  {LABELS[change.name]}: {' -> '.join(change_words(change))}")


def changed_cases(found: Comparison) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield label and ids of the cases that changed."""
    for label, ids in (
        ("newly failing", found.worse),
        ("failing, and not compared", found.failing),
        ("newly passing", found.better),
        ("passing less often", found.shakier),
        ("asks or expects something else, not compared", found.changed),
        ("new", found.added),
        ("not run now", found.removed),
    ):
        if ids:
            yield label, ids


def change_words(change: Change) -> tuple[str, str]:
    """Return a figure before and now."""
    form = amount if change.name in ("steps", "tokens", "cost", "seconds") else share
    before, now = (_interval(one) for one in (change.before, change.now))
    return form(before) if before else "unknown", form(now) if now else "unknown"


def _interval(saved: object) -> Interval | None:
    from remit.evaluation.intervals import Interval

    if not isinstance(saved, dict) or saved.get("value") is None:
        return None
    return Interval(value=saved["value"], low=saved["low"], high=saved["high"])


def _row(one: CaseReport) -> tuple[str, ...]:
    if not one.attempts:
        return (one.case.id, "skipped", "-", "-", "-", "-", one.skipped)
    number = len(one.attempts)
    tokens = [attempt.tokens for attempt in one.attempts if attempt.tokens is not None]
    return (
        one.case.id,
        one.state,
        f"{one.passed}/{number}",
        f"{sum(attempt.steps for attempt in one.attempts) / number:.3g}",
        f"{sum(tokens) / len(tokens):.0f}" if tokens else "-",
        f"{sum(attempt.seconds for attempt in one.attempts) / number:.2f}",
        calls_of(one),
    )


def calls_of(one: CaseReport) -> str:
    """Return what the first attempt called."""
    from remit.evaluation.trajectory import counted

    return counted(one.attempts[0].calls) if one.attempts else ""


def _show_failures(one: CaseReport) -> None:
    for attempt in one.attempts:
        if attempt.passed:
            continue
        about = f" (attempt {attempt.number})" if len(one.attempts) > 1 else ""
        screen.say(screen.styled(f"\n{one.case.id}{about}", "red"))
        for reason in attempt.failures[:MOST_REASONS]:
            screen.say(f"  {screen.clipped(reason, 400)}")
        if len(attempt.failures) > MOST_REASONS:
            screen.say(f"  and {len(attempt.failures) - MOST_REASONS} more")
        if attempt.turns and attempt.turns[-1].answer:
            screen.say(f"  it said: {screen.clipped(attempt.turns[-1].answer, 200)}")
        screen.say(f"  see: remit log replay {attempt.session}")


def _show_tags(report: Report) -> None:
    for tag, found in report.by_tag.items():
        if found.success is not None:
            name = screen.visible(f"success of {tag}")
            about = f"{_number(found.attempts, 'attempt')}, {_number(found.cases, 'case')}"
            screen.say(f"{name:26}{share(found.success)}  {about}")


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
