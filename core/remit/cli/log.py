"""`remit log`: what happened."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json
from remit.errors import NotTrusted, UsageError

if TYPE_CHECKING:
    from remit.state.records import Record
    from remit.state.store import State

DETAIL = 50
"""Columns of the last column of the list."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit log list --limit 20
  remit log list --session 1f3a --event call.finished --json
  remit log show 42
"""
    actions = parser.add_subparsers(dest="log_action", metavar="action", required=True)
    listing = add_action(
        actions,
        "list",
        "list records, newest last",
        "remit log list --limit 20\nremit log list --session 1f3a --event call.finished --json",
    )
    listing.add_argument("--session", help="only this session")
    listing.add_argument("--event", help="only this event; `call.` for all that start so")
    listing.add_argument("--skill", help="only this skill, as PACK.SKILL")
    listing.add_argument("--limit", type=int, default=50, help="the newest so many (default: 50)")
    showing = add_action(actions, "show", "show one record, whole", "remit log show 42")
    showing.add_argument("number", type=int, help="its number, as `remit log list` shows it")
    for action, run in ((listing, list_records), (showing, show_record)):
        add_folder(action)
        add_json(action)
        action.set_defaults(action=run)


def list_records(options: argparse.Namespace) -> int:
    """Print the newest records that fit, oldest of them first."""
    if options.limit < 1:
        raise UsageError("--limit takes a number of at least 1")
    with opened_state(options.folder) as state:
        found = list(
            state.records(
                session=options.session,
                event=options.event,
                skill=options.skill,
                limit=options.limit,
                newest_first=True,
            )
        )
    found.reverse()
    if options.json:
        screen.say_json([facts(record) for record in found])
    elif not found:
        screen.say("no record fits")
    else:
        show_records(found)
    return 0


def show_record(options: argparse.Namespace) -> int:
    """Print one record."""
    with opened_state(options.folder) as state:
        record = next(state.records(after=options.number - 1, limit=1), None)
    if record is None or record.seq != options.number:
        raise UsageError(f"there is no record {options.number}", remedy="remit log list")
    screen.say_json(facts(record))
    return 0


def facts(record: Record) -> dict[str, Any]:
    """Return a record for JSON, with its time (seconds since 1970) as local ISO 8601, too."""
    return {"at": _moment(record).isoformat(timespec="milliseconds"), **asdict(record)}


def opened_state(folder: str) -> State:
    """Return the state of the deployment in `folder`; it can be read after the files are gone.

    Raises:
        DeploymentError: there is neither a state nor a deployment, or nobody has used it yet.
    """
    from remit.deployment.files import read_files, real_folder
    from remit.state.store import State
    from remit.state_folder import find_state

    place = find_state(real_folder(folder))
    if place is None:
        read_files(folder)
        raise NotTrusted(f"nothing has happened in {folder} yet", remedy="read remit.toml, then run `remit trust`")
    return State(place.path)


def show_records(records: Sequence[Record]) -> None:
    """Print records as a table, under a heading for each change of day and session."""
    for (day, session), part in groupby(records, key=lambda record: (f"{_moment(record):%Y-%m-%d}", record.session)):
        screen.say(screen.styled(f"{day}, session {screen.visible(session)}", "bold"))
        rows = [cells(record) for record in part]
        screen.say("\n".join("  ".join(row).rstrip() for row in rows))


def cells(record: Record) -> tuple[str, ...]:
    """Return one line of the list; its columns are as wide as what they mostly hold."""
    event, skill = screen.visible(record.event), screen.visible(record.skill or "-")
    return (f"{record.seq:>6}", f"{_moment(record):%H:%M:%S}", f"{event:<14}", f"{skill:<20}", about(record.body))


def _moment(record: Record) -> datetime:
    return datetime.fromtimestamp(record.time).astimezone()


def about(body: Mapping[str, Any]) -> str:
    """Return the most telling part of a record's body on one short line."""
    if body.get("status"):
        told = body.get("reason") or (body.get("text") if body["status"] == "ok" else "")
        return screen.clipped(f"{body['status']}: {told}" if told else str(body["status"]), DETAIL)
    if body.get("verdict"):
        return screen.clipped(f"{body['verdict']}: {body.get('reason') or body.get('source') or ''}", DETAIL)
    for key in ("answer", "error", "arguments", "calls", "text", "question", "finish", "reason"):
        if body.get(key):
            value = body[key]
            return screen.clipped(value if isinstance(value, str) else as_json(value), DETAIL)
    return ""


def as_json(value: Any) -> str:
    """Return a value on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)
