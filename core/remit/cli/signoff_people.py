"""`remit signoff people`: approvers who answer under a name of their own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, add_folder, add_json
from remit.cli.signoff_answer import TOKEN
from remit.errors import UsageError


def configure(actions: Any) -> None:
    """Describe the action."""
    people = add_action(
        actions,
        "people",
        "list people who have a token, make one for an approver or void one",
        "remit signoff people\nremit signoff people --add ann\nremit signoff people --remove ann",
    )
    change = people.add_mutually_exclusive_group()
    change.add_argument("--add", metavar="NAME", help="make a token for this person, in place of an earlier one")
    change.add_argument("--remove", metavar="NAME", help="make the token of this person void")
    add_folder(people)
    add_json(people)
    people.set_defaults(action=people_of)


def people_of(options: argparse.Namespace) -> int:
    """List, add or remove approvers."""
    from remit.cli.serve import tell_taken_over
    from remit.pipeline.terminal import person
    from remit_sandbox.signoff import same_person

    with opened_state(options.folder) as state:
        tell_taken_over(state.take_over_tokens())
        if options.add:
            before = [one.name for one in state.tokens() if same_person(one.name, options.add.strip())]
            return _added(options, state.add_token(options.add, by=person()), before)
        if options.remove:
            if not state.remove_token(options.remove, by=person()):
                raise UsageError(f"{options.remove} has no token", remedy="remit signoff people")
            if options.json:
                screen.say_json({"removed": options.remove})
            else:
                screen.say(screen.visible(f"{options.remove} has no token any more"))
            return 0
        found = state.tokens()
    if options.json:
        screen.say_json([{**asdict(one), "roles": sorted(one.roles)} for one in found])
    elif not found:
        screen.say("nobody has a token: approvers answer under the name of their account")
    else:
        rows = [(o.name, ", ".join(sorted(o.roles)), _since(o.created), o.by or "-") for o in found]
        screen.say(screen.table(("name", "may", "since", "made by"), rows))
    return 0


def _since(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def _added(options: argparse.Namespace, token: str, before: Sequence[str]) -> int:
    """Show a token that was made, and in place of which it is; `before` are the names under which there was one."""
    if options.json:
        screen.say_json({"name": options.add, "token": token, "replaced": list(before)})
        return 0
    screen.say(token)
    for name in before:
        screen.warn(screen.visible(f"note: it is in place of the token that {name} had: that one is void from now on"))
    screen.warn(screen.visible(f"this is the token of {options.add}; it is not shown again. Give it to nobody else."))
    screen.next_step(f"{TOKEN}=... remit signoff approve ID --as {options.add}")
    return 0
