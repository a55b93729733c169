"""`remit sessions`: the conversations of a deployment, and going on with one."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, add_folder, add_json, agreed
from remit.cli.run import EXIT_CODES, add_model, agent, plain, show
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.loop.outcome import RunResult
    from remit.state.sessions import SavedSession
    from remit.state.store import State

QUESTION = 48
"""Columns of the question in the list."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit sessions list --status parked
  remit sessions resume 1f3a5b7c9d0e2f4a
  remit sessions work
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="sessions_action", metavar="action", required=True)
    listing = add_action(actions, "list", "list sessions, newest last", "remit sessions list --status parked --json")
    listing.add_argument("--status", choices=("answered", "stopped", "parked", "failed", "running"), help="only these")
    listing.add_argument("--limit", type=int, default=50, help="the newest so many (default: 50)")
    showing = add_action(actions, "show", "show what was said in a session", "remit sessions show 1f3a5b7c9d0e2f4a")
    forking = add_action(
        actions,
        "fork",
        "copy a session, to try something else from there",
        "remit sessions fork 1f3a5b7c9d0e2f4a try-2",
    )
    forking.add_argument("session", help="its id")
    forking.add_argument("new", help="id of the copy")
    deleting = add_action(
        actions,
        "delete",
        "remove transcripts; the log keeps its records",
        "remit sessions delete 1f3a5b7c9d0e2f4a --yes",
    )
    deleting.add_argument("sessions", nargs="+", metavar="SESSION")
    deleting.add_argument("--yes", action="store_true", help="do not ask")
    showing.add_argument("session", help="its id")
    for action, run in ((listing, list_sessions), (showing, show_session), (forking, fork), (deleting, delete)):
        add_folder(action)
        action.set_defaults(action=run)
    for action in (listing, showing):
        add_json(action)
    _configure_resume(actions)


def _configure_resume(actions: Any) -> None:
    resuming = add_action(
        actions,
        "resume",
        "go on with a session that waited for a sign-off or was interrupted",
        "remit sessions resume 1f3a5b7c9d0e2f4a",
    )
    resuming.add_argument("session", help="its id")
    working = add_action(
        actions, "work", "go on with every parked session whose sign-off was answered", "remit sessions work"
    )
    for action, run in ((resuming, resume), (working, work)):
        add_model(action, of_new_session=False)
        add_json(action)
        action.set_defaults(action=run)


def list_sessions(options: argparse.Namespace) -> int:
    """Print the sessions that fit, newest last."""
    if options.limit < 1:
        raise UsageError("--limit takes a number of at least 1")
    with opened_state(options.folder) as state:
        found = state.sessions(limit=options.limit, status=options.status)[::-1]
    if options.json:
        screen.say_json([_facts(one) for one in found])
    elif not found:
        screen.say("no session fits")
    for one in () if options.json else found:
        moment = datetime.fromtimestamp(one.updated).strftime("%Y-%m-%d %H:%M")
        screen.say(screen.visible(f"{one.id:18} {moment}  {one.status:9} {_short(_question(one))}"))
    return 0


def show_session(options: argparse.Namespace) -> int:
    """Print a transcript."""
    with opened_state(options.folder) as state:
        found = _found(state, options.session)
    if options.json:
        screen.say_json({**_facts(found), "transcript": list(found.transcript)})
        return 0
    screen.say(screen.visible(f"session {found.id}: {found.status}"))
    for message in found.transcript:
        _show_message(message)
    return 0


def fork(options: argparse.Namespace) -> int:
    """Copy a session."""
    with opened_state(options.folder) as state:
        _found(state, options.session)
        state.fork_session(options.session, options.new)
    screen.say(f"{options.new} is a copy of {options.session}; --session {options.new} goes on with it")
    return 0


def delete(options: argparse.Namespace) -> int:
    """Remove transcripts; what waits for a sign-off in them is refused."""
    with opened_state(options.folder) as state:
        for session in options.sessions:
            _found(state, session)
        if not agreed(f"Delete {', '.join(options.sessions)}?", yes=options.yes):
            screen.warn("nothing was changed")
            return 1
        for session in options.sessions:
            with state.leased(session):
                state.delete_session(session)
            screen.say(f"deleted {session}")
    return 0


def resume(options: argparse.Namespace) -> int:
    """Go on with one session."""
    with agent(options, quiet=options.json) as speaker:
        result = _resumed(speaker, options.session, quiet=options.json)
    if options.json:
        screen.say_json(plain(result))
    else:
        show(result)
    return EXIT_CODES[result.status]


def work(options: argparse.Namespace) -> int:
    """Go on with each parked session whose questions are answered; 3 when some still wait, 1 when one failed."""
    done: list[RunResult] = []
    with agent(options, quiet=options.json) as speaker:
        parked = speaker.state.sessions(status="parked", limit=1_000)
        waiting = {one.session for one in speaker.state.pending_signoffs()}
        ready = [one.id for one in reversed(parked) if one.id not in waiting]
        for session in ready:
            try:
                done.append(_resumed(speaker, session, quiet=options.json))
            except UsageError as error:  # another process was faster
                screen.warn(error.message)
    if options.json:
        screen.say_json({"done": [plain(one) for one in done], "waiting": len(parked) - len(ready)})
    else:
        for one in done:
            screen.say(f"session {one.session}:")
            show(one)
        screen.say(f"{len(done)} sessions went on, {len(parked) - len(ready)} wait for sign-off")
    codes = {EXIT_CODES[one.status] for one in done}
    return 1 if 1 in codes else 3 if 3 in codes or len(parked) > len(ready) else 0


def _resumed(speaker: Agent, session: str, *, quiet: bool) -> RunResult:
    from remit.cli.steps import Steps

    steps = Steps(quiet=quiet)
    try:
        return speaker.resume(session, on_event=steps.show)
    except KeyboardInterrupt:
        steps.stop()
        raise


def _found(state: State, session: str) -> SavedSession:
    found = state.load_session(session)
    if found is None:
        raise UsageError(f"there is no session {session}", remedy="remit sessions list")
    return found


def _facts(one: SavedSession) -> dict[str, Any]:
    return {
        "session": one.id,
        "status": one.status,
        "created": one.created,
        "updated": one.updated,
        "question": _question(one),
        "messages": len(one.transcript),
    }


def _question(one: SavedSession) -> str:
    said = (message.get("content", "") for message in one.transcript if message.get("role") == "user")
    return str(next(said, ""))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUESTION else line[: QUESTION - 3] + "..."


def _show_message(message: Any) -> None:
    who = {"user": "you", "assistant": "model", "tool": "result"}.get(str(message.get("role")), "remit")
    if message.get("origin") == "loop":
        who = "remit"
    mark = f" ({message['status']})" if message.get("status") else ""
    if message.get("content"):
        screen.say(screen.visible(f"{who}{mark}: ") + screen.visible(str(message["content"])))
    for call in message.get("calls", ()):
        screen.say(screen.visible(f"{who} calls {call['name']} {call['arguments']}"))
