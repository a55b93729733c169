"""`remit signoff`: calls that wait for a person, shown whole and answered from another terminal."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, add_folder, add_json

if TYPE_CHECKING:
    from remit.state.answering import StoredSignoff

SHOWN_ID = 12
"""Characters of an id that lists show; six are enough to type."""

WIDE = 110
"""Columns of a terminal in which a request has a column for each fact."""

_HEADINGS = ("id", "skill", "effect", "because", "asked", "state", "session")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    from remit.cli import signoff_answer, signoff_edit, signoff_people, signoff_standing

    parser.epilog = """\
examples:
  remit signoff list
  remit signoff show 4f1c09
  remit signoff approve 4f1c09
  remit signoff deny 4f1c09 --reason "wrong address"
  remit signoff edit 4f1c09 --arguments '{"to": "ann@acme.example", "text": "Hi"}'
  remit signoff approve 4f1c09 --standing --uses 5 --for 2d
  remit signoff revoke 9b2e44

exit codes: 0 answered, 1 refused or left unanswered, 2 wrong usage
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="signoff_action", metavar="action", required=True)
    listing = add_action(
        actions, "list", "list calls that wait for a person", "remit signoff list\nremit signoff list --all --json"
    )
    listing.add_argument("--all", action="store_true", help="those that were answered or lapsed, too")
    listing.set_defaults(action=list_requests)
    showing = add_action(
        actions, "show", "show one request whole, as its approver must see it", "remit signoff show 4f1c09"
    )
    showing.add_argument("id", help="its id, or the beginning of it")
    showing.set_defaults(action=show)
    for action in (listing, showing):
        add_folder(action)
        add_json(action)
    for topic in (signoff_answer, signoff_edit, signoff_standing, signoff_people):
        topic.configure(actions)


def list_requests(options: argparse.Namespace) -> int:
    """Print what waits, oldest first."""
    with opened_state(options.folder) as state:
        found = state.signoffs(everything=options.all)
    if options.json:
        screen.say_json([facts(one) for one in found])
        return 0
    if not found:
        screen.say("nothing waits for a sign-off")
        return 0
    narrow = 0 < screen.columns(sys.stdout) < WIDE
    headings = ("id", "skill", "because", "asked", "session") if narrow else _HEADINGS
    screen.say(screen.table(headings, [_row(one, narrow=narrow) for one in found], whole=(0,)))
    if any(one.state == "pending" for one in found):
        screen.warn("  next: remit signoff show ID, then approve or deny it")
    return 0


def _row(one: StoredSignoff, *, narrow: bool) -> tuple[screen.Cell, ...]:
    """Return the cells of one request; in a narrow terminal two facts share a column, one below the other."""
    from remit.pipeline.render import visible

    id_, skill = one.nonce[:SHOWN_ID], visible(one.skill) or "(erased)"
    effect = visible(", ".join((str(one.request.get("effect", "-")), *one.request.get("impact", ()))))
    source, session = visible(str(one.request.get("source", "-"))), visible(one.session)
    asked, state = _asked_at(one.created), progress(one)
    if narrow:
        return (id_, [skill, effect], source, [asked[5:], state], session)
    return (id_, skill, effect, source, asked, state, session)


def show(options: argparse.Namespace) -> int:
    """Print one request with everything that an approver must know."""
    with opened_state(options.folder) as state:
        one = state.signoff(options.id)
    if options.json:
        screen.say_json(facts(one, whole=True))
        return 0
    screen.say(described(one, columns=screen.columns(sys.stdout)))
    if one.state == "pending":
        short = one.nonce[:SHOWN_ID]
        screen.next_step(f"remit signoff approve {short} --digest {one.digest}\nor: remit signoff deny {short}")
    return 0


def described(one: StoredSignoff, *, columns: int = 0) -> str:
    """Return a request as text: the question itself, then where it came from, how long it waits, and its digest.

    Args:
        one: the request.
        columns: of the terminal; 0 breaks no lines.

    Raises:
        StateError: it was erased, or changed after it was asked.
    """
    from remit.pipeline.question import question
    from remit.pipeline.render import visible
    from remit.pipeline.rows import rows

    request = one.rebuilt()
    told = {
        "for": f"{visible(one.who)}, session {visible(one.session)}, call {visible(one.call)}",
        "needs": "a channel that the agent cannot reach" if request.verdict == "ask-apart" else "a person",
        "until": f"{datetime.fromtimestamp(one.expires).astimezone():%Y-%m-%d %H:%M %Z}",
        "state": visible(progress(one)),
        **({"answer": _answer(one)} if one.decision is not None else {}),
        "id": one.nonce,
        "digest": one.digest,
    }
    text = question(request, columns=columns, session_key="--session" if request.verdict == "ask" else "")
    lines = [line for name, value in told.items() for line in rows(name, [value], columns)]
    return "\n".join((text.strip("\n"), *lines))


def progress(one: StoredSignoff) -> str:
    """Return how far a request has come, in a few words."""
    if one.state == "pending":
        people = f"{len(one.people)} of {one.approvers} people, " if one.approvers > 1 else ""
        return f"{people}{lasting(one.expires - time.time())} left"
    if (one.decision or {}).get("reason", "").startswith("edited") and one.state == "denied":
        return "denied as edited"
    return {"consumed": "approved and used", "approved": "approved, not used yet"}.get(one.state, one.state)


def lasting(seconds: float) -> str:
    """Return a length of time in its largest unit: `6 d`, `23 h`, `5 min`; what lacks seconds of a unit is one."""
    seconds += 30
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "a minute"


def facts(one: StoredSignoff, *, whole: bool = False) -> dict[str, Any]:
    """Return a request for JSON; `whole` adds everything that was asked, under `request`."""
    from remit_sandbox.canonical import restored

    kept = restored(one.request)
    told: dict[str, Any] = {
        "id": one.nonce,
        "digest": one.digest,
        "skill": one.skill,
        "session": one.session,
        "call": one.call,
        "principal": one.who,
        "state": one.state,
        "created": one.created,
        "expires": one.expires,
        "approvers": one.approvers,
        "people": list(one.people),
        "answer": one.decision,
        **{name: kept.get(name) for name in ("verdict", "source", "reason", "effect", "impact")},
    }
    return {**told, "request": kept} if whole else told


def _answer(one: StoredSignoff) -> str:
    from remit.pipeline.render import visible

    said = one.decision or {}
    who = f"{said.get('answer')} by {said.get('by') or 'nobody'}" + (
        f" ({said['channel']})" if said.get("channel") else ""
    )
    return visible(who + (f": {said['reason']}" if said.get("reason") else ""))


def _asked_at(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"
