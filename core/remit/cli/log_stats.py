"""`remit log stats`: figures over what happened."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log_filters import add_filters, wanted
from remit.cli.log_rows import at
from remit.cli.opening import add_action, add_folder, add_json
from remit.cli.waiting import waiting

if TYPE_CHECKING:
    from remit.state.figures import Figures, Spread

LONGEST = 44
"""Columns of a reason."""


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "stats",
        "show figures: calls, durations, denials, sign-offs, tokens",
        "remit log stats --since yesterday\nremit log stats --skill calc.evaluate --json",
    )
    add_filters(parser)
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=stats)


def stats(options: argparse.Namespace) -> int:
    """Print figures over the records that fit."""
    from remit.cli.log import opened_state
    from remit.state.figures import figures

    with opened_state(options.folder) as state, waiting("reading the log"):
        found = figures(state.database, wanted(options, state))
    if options.json:
        screen.say_json(asdict(found))
    elif not found.records:
        screen.say("no record fits")
    else:
        _show(found)
    return 0


def _show(found: Figures) -> None:
    assert found.first is not None and found.last is not None
    span = f"{at(found.first):%Y-%m-%d %H:%M} to {at(found.last):%Y-%m-%d %H:%M}"
    people = "1 person" if found.people == 1 else f"{found.people} people"
    counts = f"{found.records} records, {found.sessions} sessions, {people}"
    screen.say(screen.styled(f"{span}: {counts}", "bold"))
    if found.in_doubt:
        text = f"{found.in_doubt} {_calls(found.in_doubt)} in doubt (remit log list --in-doubt)"
        screen.say(screen.styled(text, "red"))
    _skills(found)
    _denials(found)
    _signoffs(found)
    _models(found)


def _skills(found: Figures) -> None:
    if not found.skills:
        return
    rows = [
        (
            screen.clipped(name, 24),
            str(one.calls),
            _seconds(one.durations.p50),
            _seconds(one.durations.p95),
            [_counted(one.statuses), _counted(one.verdicts)],
        )
        for name, one in found.skills.items()
    ]
    screen.say("\n" + screen.table(("skill", "calls", "p50", "p95", "status, verdict"), rows))
    for name, one in found.skills.items():
        if one.without_duration:
            text = f"{one.without_duration} {_calls(one.without_duration)} without duration: the clock went back"
            screen.say(f"{screen.visible(name)}: {text}")


def _denials(found: Figures) -> None:
    if found.denials:
        rows = [
            (str(one.count), screen.clipped(one.source, 24), screen.clipped(one.reason, LONGEST))
            for one in found.denials
        ]
        screen.say("\n" + screen.table(("denied", "by", "reason"), rows))


def _signoffs(found: Figures) -> None:
    if found.signoffs:
        screen.say("\n" + screen.styled("sign-offs", "bold"))
        screen.say(f"{_counted(found.signoffs)}; {_spread('a person took', found.waiting)}")


def _models(found: Figures) -> None:
    if found.models:
        rows = [
            (
                screen.clipped(name, 28),
                str(one.turns),
                str(one.failed),
                _number(one.input_tokens),
                _number(one.output_tokens),
                _seconds(one.durations.p50),
                _seconds(one.durations.p95),
            )
            for name, one in found.models.items()
        ]
        headings = ("model", "turns", "failed", "tokens in", "out", "p50", "p95")
        screen.say("\n" + screen.table(headings, rows))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _spread(what: str, spread: Spread) -> str:
    if not spread.count:
        return "no time is known"
    return f"{what} {_seconds(spread.p50)} (half), {_seconds(spread.p95)} (95%), at most {_seconds(spread.longest)}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1:
        return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _calls(count: int) -> str:
    return "call" if count == 1 else "calls"
