"""`remit sessions`: the conversations of a deployment, and going on with one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.faults import telling_faults
from remit.cli.log import opened_state
from remit.cli.opening import add_action, add_folder, add_json, agreed
from remit.cli.run import EXIT_CODES, add_grant, add_model, agent, plain, show
from remit.cli.withheld import tell_of_withheld, with_open_list
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.loop.outcome import RunResult
    from remit.state.grants import Grants
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
    listing.add_argument("--all", action="store_true", help="those of evaluations, too")
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
    for action in (listing, showing, forking, deleting):
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
    add_grant(resuming)
    working = add_action(
        actions, "work", "go on with every parked session whose sign-off was answered", "remit sessions work"
    )
    for action, run in ((resuming, resume), (working, work)):
        add_model(action, of_new_session=False)
        add_json(action)
        action.set_defaults(action=run)


def list_sessions(options: argparse.Namespace) -> int:
    """Print the sessions that fit, newest last."""
    from remit.state.sessions import EVALUATION

    if options.limit < 1:
        raise UsageError("--limit takes a number of at least 1")
    with opened_state(options.folder) as state:
        but = "" if options.all else EVALUATION
        found = state.sessions(limit=options.limit, status=options.status, but=but)[::-1]
        left_out = 0 if options.all else state.count_sessions(of=EVALUATION)
        dead = {one.id for one in found if _is_dead(state, one)}
    if options.json:
        screen.say_json([{**_facts(one), "interrupted": one.id in dead} for one in found])
        return 0
    if found:
        rows = [
            (
                one.id,
                _moment(one),
                "interrupted" if one.id in dead else one.status,
                f"{_task(one)}{_short(_question(one))}",
            )
            for one in found
        ]
        screen.say(screen.table(("session", "changed", "status", "question"), rows, whole=(0,)))
        if dead:
            screen.warn("interrupted: its process is gone; remit sessions resume goes on with it")
    else:
        screen.say("no session fits")
    if left_out:
        screen.warn(screen.styled(f"{left_out} of evaluations are left out; --all lists them", "dim", sys.stderr))
    return 0


def _is_dead(state: State, one: SavedSession) -> bool:
    """Tell whether a session is kept as running, and no process runs it any more."""
    return one.status == "running" and not state.leased_elsewhere(state.root_of(one.id))


def _moment(one: SavedSession) -> str:
    return datetime.fromtimestamp(one.updated).strftime("%Y-%m-%d %H:%M")


def show_session(options: argparse.Namespace) -> int:
    """Print a transcript."""
    from remit.state.grants import grants_of

    with opened_state(options.folder) as state:
        found = _found(state, options.session)
        grants = grants_of(state, found.id)
        dead, root = _is_dead(state, found), state.root_of(found.id)
        tasks = state.children_of(found.id)
    if options.json:
        about = {"granted": grants.granted, "proposed": grants.proposed, "void": grants.void}
        granted = {name: None if names is None else sorted(names) for name, names in about.items()}
        given = {"tasks": [one.id for one in tasks], "transcript": list(found.transcript)}
        screen.say_json({**_facts(found), "interrupted": dead, **granted, **given})
        return 0
    screen.say(screen.visible(f"session {found.id}: {'interrupted' if dead else found.status}"))
    for line in (*_granted(grants), *_given(found, tasks)):
        screen.say(screen.hanging(line))
    for message in found.transcript:
        _show_message(message)
    if dead:
        screen.warn("interrupted: its process is gone")
        screen.next_step(f"remit sessions resume {root}")
    return 0


def _granted(grants: Grants) -> Iterator[str]:
    """Yield what a session has beside the skills that read, where that was decided for it."""
    if grants.granted is not None:
        yield f"beside what reads it has: {', '.join(sorted(grants.granted)) or 'nothing'}"
    elif grants.proposed is not None:
        names = ", ".join(sorted(grants.proposed)) or "nothing"
        yield f"it has only what reads; proposed and not confirmed: {names}"
    if grants.void:
        names = ", ".join(sorted(grants.void))
        yield f"granted and void, because they were changed or upgraded since: {names}; --grant grants them again"


def _given(found: SavedSession, tasks: Sequence[SavedSession]) -> Iterator[str]:
    """Yield where a session that is a task comes from, and the tasks that were given in it."""
    if found.parent:
        yield f"a task that an agent gave in session {found.parent}"
    for one in tasks:
        yield f"task in session {one.id}: {one.status}, {_short(_question(one))}"


def fork(options: argparse.Namespace) -> int:
    """Copy a session."""
    from remit.loop.given import free_session

    with opened_state(options.folder) as state:
        of = _found(state, options.session).id
        state.fork_session(of, free_session(options.new, ()))
    if options.json:
        screen.say_json({"session": options.new, "copy_of": of})
        return 0
    screen.say(f"{options.new} is a copy of {of}; --session {options.new} goes on with it")
    return 0


def delete(options: argparse.Namespace) -> int:
    """Remove transcripts; what waits for a sign-off in them is refused."""
    with opened_state(options.folder) as state:
        sessions = list(dict.fromkeys(_found(state, session).id for session in options.sessions))
        if not agreed(f"Delete {', '.join(sessions)}?", yes=options.yes):
            screen.warn("nothing was changed")
            return 1
        for session in sessions:
            with state.leased(session):
                state.delete_session(session)
            if not options.json:
                screen.say(f"deleted {session}")
    if options.json:
        screen.say_json({"deleted": sessions})
    return 0


def resume(options: argparse.Namespace) -> int:
    """Go on with one session, in the name of the person whose it is."""
    with opened_state(options.folder) as state:
        session = state.session_id(options.session)
        owner = state.owner_of(session)
    with agent(options, quiet=options.json, who=owner) as speaker:
        result = _resumed(speaker, session, quiet=options.json, grant=options.grant)
        if not options.json:
            show(result)
            tell_of_withheld(speaker, result)
    if options.json:
        screen.say_json(plain(result))
    return EXIT_CODES[result.status]


def work(options: argparse.Namespace) -> int:
    """Go on with each parked session whose questions are answered; 3 when some still wait, 1 when one failed."""
    done: list[RunResult] = []
    with opened_state(options.folder) as state:
        parked = [one for one in state.sessions(status="parked", limit=1_000) if not one.parent]
        waiting = {state.root_of(one.session) for one in state.pending_signoffs()}
        ready = [(state.owner_of(one.id), one.id) for one in reversed(parked) if one.id not in waiting]
    for owner in dict.fromkeys(owner for owner, _ in ready):
        with agent(options, quiet=options.json, who=owner) as speaker:
            for session in (session for whose, session in ready if whose == owner):
                try:
                    done.append(_resumed(speaker, session, quiet=options.json))
                except UsageError as error:  # another process was faster
                    screen.warn(error.message)
    wait = len(parked) - len(ready) + sum(one.status == "parked" for one in done)
    if options.json:
        screen.say_json({"done": [plain(one) for one in done], "waiting": wait})
    else:
        for one in done:
            screen.say(f"session {one.session}:")
            show(one)
        went = screen.counted(len(done), "session")
        screen.say(f"{went} went on, {wait} {'waits' if wait == 1 else 'wait'} for sign-off")
    codes = {EXIT_CODES[one.status] for one in done}
    return 1 if 1 in codes else 3 if wait else 0


def _resumed(speaker: Agent, session: str, *, quiet: bool, grant: list[str] | None = None) -> RunResult:
    from remit.cli.steps import Steps

    steps = Steps(quiet=quiet)
    try:
        with telling_faults(speaker.state):
            return with_open_list(speaker, speaker.resume(session, on_event=steps.show, grant=grant))
    except KeyboardInterrupt:
        steps.stop()
        screen.warn(f"  session {session} is saved; remit sessions resume {session} goes on with it")
        raise


def _found(state: State, session: str) -> SavedSession:
    found = state.load_session(state.session_id(session))
    assert found is not None
    return found


def _facts(one: SavedSession) -> dict[str, Any]:
    return {
        "session": one.id,
        "parent": one.parent or None,
        "status": one.status,
        "created": one.created,
        "updated": one.updated,
        "question": _question(one),
        "messages": len(one.transcript),
    }


def _question(one: SavedSession) -> str:
    said = (message.get("content", "") for message in one.transcript if message.get("origin") in ("person", "agent"))
    return str(next(said, ""))


def _task(one: SavedSession) -> str:
    """Return of which session a task is, empty for what a person asked."""
    return f"task of {one.parent}: " if one.parent else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUESTION else line[: QUESTION - 3] + "..."


def _show_message(message: Any) -> None:
    who = {"user": "you", "assistant": "model", "tool": "result"}.get(str(message.get("role")), "remit")
    who = {"loop": "remit", "memory": "memory", "agent": "task"}.get(str(message.get("origin")), who)
    mark = f" ({message['status']})" if message.get("status") else ""
    if message.get("content"):
        screen.say(screen.hanging(f"{who}{mark}: {message['content']}"))
    for call in message.get("calls", ()):
        screen.say(screen.hanging(f"{who} calls {call['name']} {call['arguments']}", words=False))
