"""`remit signoff edit`: other arguments in the place of those that the model asked for, then approved."""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, opened, typed, whole
from remit.cli.signoff import SHOWN_ID
from remit.cli.signoff_answer import add_answering, agreed_to, answerable, left, refused, tell, who_answers
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit_sandbox.signoff import SignoffRequest


def configure(actions: Any) -> None:
    """Describe the action."""
    editing = add_action(
        actions,
        "edit",
        "change the arguments of a call, and let it run so",
        """remit signoff edit 4f1c09 --arguments '{"to": "ann@acme.example", "text": "Hi"}'""",
    )
    add_answering(editing)
    editing.add_argument(
        "--arguments", metavar="JSON", help="all arguments of the call, as JSON (default: edit them on this terminal)"
    )
    editing.set_defaults(action=edit, read_only=False)


def edit(options: argparse.Namespace) -> int:
    """Check and decide the new arguments, show what would run, ask, and approve that in the place of what was asked."""
    from remit.deployment.viewing import view_of
    from remit.pipeline.editing import approve_edit, differences, editable, edited

    with opened(options, quiet=True) as deployment, opened_state(options.folder) as state:
        asked = answerable(state, options.id)
        request = asked.rebuilt()
        by, channel = who_answers(state, options.name)
        with view_of(deployment, asked.who) as view:
            skill = editable(request, view.skills, view.rules)
            found = edited(request, _wanted(options.arguments, request), skill=skill, rules=view.rules, by=by)
        if not agreed_to(asked, _shown(found, differences(request, found)), options.digest):
            return left(asked)
        after, why_not = approve_edit(state, asked, found, by=by, channel=channel)
        if why_not:
            raise refused(asked, why_not)
        if not options.json:
            screen.say(
                f"request {asked.nonce[:SHOWN_ID]} is denied as edited; {found.nonce[:SHOWN_ID]} takes its place"
            )
        return tell(state, state.signoff(found.nonce), after, as_json=options.json)


def _wanted(given: str | None, request: SignoffRequest) -> str:
    """Return the new arguments as JSON: those that were given, or what the person makes of the old ones.

    Raises:
        UsageError: none were given and there is no terminal, or nothing was edited.
    """
    if given is not None:
        return whole(given)
    from remit.pipeline.terminal_edit import NotEdited, as_text, editor, in_editor, one_by_one

    if not sys.stdin.isatty():
        raise UsageError("without a terminal the new arguments must be given", remedy="--arguments JSON")
    old, command = request.action.arguments, editor()
    try:
        if command:
            return in_editor(command, as_text(old), terminal=sys.stdin.fileno(), given_up=threading.Event())
        return one_by_one(old, _line, columns=screen.columns(sys.stdout))
    except NotEdited as error:
        raise UsageError(str(error), remedy="--arguments JSON") from None


def _line(prompt: str) -> str | None:
    try:
        return typed(prompt).strip()
    except EOFError:
        return None


def _shown(edited: SignoffRequest, lines: list[str]) -> str:
    from remit.pipeline.question import question
    from remit.pipeline.rows import rows

    columns = screen.columns(sys.stdout)
    text = question(edited, columns=columns, session_key="").strip("\n")
    return "\n".join((text, *rows("changed", lines, columns)))
