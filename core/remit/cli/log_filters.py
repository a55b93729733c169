"""The filters that the actions of `remit log` share."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from remit.cli import screen
from remit.cli.log_times import FORMS, moment
from remit.cli.opening import whole
from remit.errors import UsageError
from remit.values import EFFECTS, VERDICTS

if TYPE_CHECKING:
    from remit.state.reading import Wanted
    from remit.state.store import State

STATUSES = ("ok", "invalid", "denied", "timeout", "failed", "parked", "cancelled", "lost")
SHORTEST = 4
"""Characters of the beginning of a session's id that stand for the whole of it."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the filters; all that are given must fit."""
    add = parser.add_argument_group("filters").add_argument
    add("--since", metavar="TIME", help=f"from this time on: {FORMS}")
    add("--until", metavar="TIME", help="up to this time; a day counts whole")
    add("--session", metavar="ID", help="only this session; the beginning of its id will do")
    add("--skill", metavar="PACK.SKILL", help="only this skill")
    add("--call", metavar="ID", help="only this call")
    add("--who", metavar="PRINCIPAL", help="only what was done for this person")
    add("--verdict", choices=VERDICTS, help="only calls with this verdict")
    add("--status", choices=STATUSES, help="only calls that ended so")
    add("--effect", choices=EFFECTS, help="only calls with this effect")
    add("--event", action="append", default=[], help="only this event (may be repeated); `call.` for all that start so")
    add("--trace", metavar="ID", help="only this trace, as your OpenTelemetry backend shows it")
    add("--in-doubt", action="store_true", help="only calls that were started and never ended")
    add("--after", type=int, default=0, metavar="N", help="only records after this number")
    add("--before", type=int, default=0, metavar="N", help="only records before this number")


def wanted(options: argparse.Namespace, state: State) -> Wanted:
    """Return the filters of a command line.

    Raises:
        UsageError: a time that is none, or the beginning of several sessions.
    """
    from remit.state.reading import Wanted

    now = datetime.now().astimezone()
    return Wanted(
        session=session_of(state, options.session) if options.session else "",
        skill=whole(options.skill or "").replace("__", "."),
        call=whole(options.call or ""),
        who=whole(options.who or ""),
        verdict=options.verdict or "",
        status=options.status or "",
        effect=options.effect or "",
        trace=whole(options.trace or "").lower(),
        events=tuple(whole(event) for event in options.event),
        since=None if options.since is None else moment(options.since, now=now),
        until=None if options.until is None else moment(options.until, now=now, end=True),
        after=_number(options.after, "--after"),
        before=_number(options.before, "--before"),
        in_doubt=options.in_doubt,
    )


def why_none(state: State, filters: Wanted) -> str:
    """Say which skill or event no record at all is of, with the nearest that there is; empty when it is not that."""
    from remit.deployment.load import nearest
    from remit.state.reading import distinct

    column: Literal["skill", "event"]
    for column, names in (("skill", (filters.skill,)), ("event", filters.events)):
        for name in names:
            known = distinct(state.database, column) if name and not name.endswith(".") else [name]
            if name not in known:
                close = nearest(name, known)
                hint = f"; did you mean {screen.visible(close)}?" if close else ""
                return f": none is of the {column} {screen.clipped(name, 60)!r}{hint}"
    return ""


def session_of(state: State, written: str) -> str:
    """Return the id of the session that `written` is, or that alone begins so; as it is where there is none.

    Raises:
        UsageError: several sessions begin so.
    """
    from remit.state.reading import sessions_like

    start = whole(written)
    found = sessions_like(state.database, start, most=4)
    if start in found or not found or len(start) < SHORTEST:
        return start
    if len(found) > 1:
        raise UsageError(
            f"several sessions begin with {start}: {', '.join(found[:3])}{', ...' if len(found) > 3 else ''}",
            remedy="write more of the id",
        )
    return found[0]


def _number(value: int, name: str) -> int:
    if not 0 <= value < 2**63:
        raise UsageError(f"{name} takes the number of a record, as `remit log list` shows it")
    return value
