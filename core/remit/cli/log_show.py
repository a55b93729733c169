"""`remit log show`: one record or one call, whole."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log_filters import session_of
from remit.cli.log_rows import at, erased_on, facts, line
from remit.cli.opening import add_action, add_folder, add_json, whole
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.state.reading import Read
    from remit.state.store import State

MOST = 200
"""Records of one call that are shown."""


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "show",
        "show one record, or all records of one call, whole",
        "remit log show 42\nremit log show call_9f2c --session 1f3a\nremit log show 42 --json",
    )
    parser.add_argument("which", metavar="N|CALL", help="the number of a record, or the id of a call")
    parser.add_argument("--session", metavar="ID", help="of the call, where several sessions have one with this id")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=show)


def show(options: argparse.Namespace) -> int:
    """Print a record or the records of a call; texts of the raw turns as they are kept."""
    from remit.cli.log import opened_state

    with opened_state(options.folder) as state:
        found, single = _found(state, whole(options.which), options.session)
    if options.json:
        values = [facts(one) for one in found]
        screen.say_json(values[0] if single else values)
        return 0
    for place, one in enumerate(found):
        if place:
            screen.say()
        show_record(one)
    return 0


def _found(state: State, which: str, session: str | None) -> tuple[Sequence[Read], bool]:
    from remit.state.reading import Wanted, read

    if which.lstrip("-").isdecimal():
        number = int(which)
        if 0 < number < 2**63:
            found = list(read(state.database, Wanted(after=number - 1, before=number + 1)))
            if found:
                return found, True
        raise UsageError(f"there is no record {number}", remedy="remit log list")
    filters = Wanted(call=which, session=session_of(state, session) if session else "")
    found = list(read(state.database, filters, limit=MOST))
    sessions = sorted({one.record.session for one in found})
    if len(sessions) > 1:
        remedy = f"remit log show {which} --session {sessions[0]}"
        raise UsageError(f"{len(sessions)} sessions have a call {which}", remedy=remedy)
    if not found:
        raise UsageError(f"there is no record and no call {which[:100]!r}", remedy="remit log list")
    return found, False


def show_record(one: Read) -> None:
    """Print a record under its number: what it is, who, then what it says."""
    record = one.record
    day = f"{at(record.time):%Y-%m-%d %H:%M:%S.%f}"[:-3]
    screen.say(screen.styled(f"record {record.seq}  {line(record.event)}  {day}", "bold"))
    for name in ("session", "who", "skill", "call", "effect", "verdict", "status", "trace"):
        value = getattr(record, name)
        if value:
            _say(name, value)
    for name, value in one.facts.items():
        if value not in (None, "", [], {}) and getattr(record, name, None) != value:
            _say(name, value)
    for name, value in (one.payload or {}).items():
        if value not in (None, "", [], {}):
            _say(name, value)
    if one.erased is not None:
        _say("payload", f"{one.size} bytes, {erased_on(one)}")
    _say("leaf", record.leaf)


def _say(name: str, value: Any) -> None:
    text = value if isinstance(value, str) else _pretty(value)
    screen.say(screen.hanging(text, start=f"  {line(name):<12} ", indent=15, words=False))


def _pretty(value: Any) -> str:
    flat = json.dumps(value, ensure_ascii=False, default=str)
    if len(flat) <= 64 or not isinstance(value, (Mapping, list, tuple)):
        return flat
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
