"""`remit log list` and `remit log tail`."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log_filters import add_filters, wanted, why_none
from remit.cli.log_rows import Rows, facts
from remit.cli.opening import add_action, add_folder, add_json
from remit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.state.reading import Read, Wanted
    from remit.state.store import State

PAUSE = 0.25
"""Seconds between two looks for new records."""


def configure(actions: Any) -> None:
    """Describe both actions."""
    listing = add_action(
        actions,
        "list",
        "list records, newest last",
        "remit log list --since 2h\nremit log list --verdict deny --who ada --json\nremit log list --before 1200",
    )
    listing.add_argument("--limit", type=int, default=50, help="the newest so many (default: 50)")
    tailing = add_action(
        actions,
        "tail",
        "show the newest records, and with --follow those that come",
        "remit log tail\nremit log tail --follow --verdict deny\nremit log tail --follow --json",
    )
    tailing.add_argument("-f", "--follow", action="store_true", help="go on as records come; Ctrl-C ends it")
    tailing.add_argument("--limit", type=int, default=10, help="start with the newest so many (default: 10)")
    for action, run in ((listing, list_records), (tailing, tail_records)):
        add_filters(action)
        add_folder(action)
        add_json(action)
        action.set_defaults(action=run)


def list_records(options: argparse.Namespace) -> int:
    """Print the newest records that fit, oldest of them first."""
    from remit.cli.log import opened_state

    _require_limit(options.limit, least=1)
    with opened_state(options.folder) as state:
        filters = wanted(options, state)
        found = _newest(state, filters, options.limit)
        hint = "" if found or options.json else why_none(state, filters)
    if options.json:
        screen.say_json([facts(one) for one in found])
        return 0
    if not found:
        screen.say(f"no record fits{hint}")
        return 0
    Rows().show(found)
    if len(found) == options.limit:
        screen.warn(f"the newest {len(found)}; those before: --before {found[0].record.seq}")
    return 0


def tail_records(options: argparse.Namespace) -> int:
    """Print the newest records, then new ones as they come; Ctrl-C ends it quietly."""
    from remit.cli.log import opened_state

    _require_limit(options.limit, least=0)
    with opened_state(options.folder) as state:
        filters = wanted(options, state)
        found = _newest(state, filters, options.limit) if options.limit else []
        if options.json and not options.follow:
            screen.say_json([facts(one) for one in found])
            return 0
        try:
            return _tail(state, filters, found, options)
        except KeyboardInterrupt:
            return 130


def _tail(state: State, filters: Wanted, found: Sequence[Read], options: argparse.Namespace) -> int:
    from remit.state.reading import last_sequence, read

    rows = Rows()
    seen = max(filters.after, found[-1].record.seq if found else 0)
    if options.follow and not found:
        seen = max(seen, last_sequence(state.database))
    while True:
        for one in found:
            if options.json:
                screen.say(json.dumps(facts(one), default=str))
            else:
                rows.show([one])
        if not options.follow:
            return 0
        time.sleep(PAUSE)
        last = last_sequence(state.database)
        found = list(read(state.database, replace(filters, after=seen, before=last + 1))) if last > seen else []
        seen = max(seen, last)


def _newest(state: State, filters: Wanted, limit: int) -> list[Read]:
    from remit.state.reading import read

    oldest_first = bool(filters.after) and not filters.before
    found = list(read(state.database, filters, limit=limit, newest_first=not oldest_first))
    return found if oldest_first else found[::-1]


def _require_limit(limit: int, *, least: int) -> None:
    if not least <= limit < 2**31:
        raise UsageError(f"--limit takes a number of at least {least}")
