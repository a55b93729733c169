"""`remit signoff standing|revoke`: sign-offs for calls to come, and taking approvals back."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, add_folder, add_json, opened
from remit.cli.signoff import SHOWN_ID, lasting
from remit.errors import DeniedCall, RemitError

if TYPE_CHECKING:
    from remit.state.standing import StandingSignoff


def configure(actions: Any) -> None:
    """Describe the actions."""
    listing = add_action(
        actions, "standing", "list standing sign-offs", "remit signoff standing\nremit signoff standing --all --json"
    )
    listing.add_argument("--all", action="store_true", help="those that cover nothing any more, too")
    listing.set_defaults(action=list_standing, read_only=False)
    revoking = add_action(
        actions,
        "revoke",
        "take back a standing sign-off, an answer for a session, or an approval that was not used yet",
        "remit signoff revoke 9b2e44",
    )
    revoking.add_argument("id", help="the id of the standing sign-off or the request, or the beginning of it")
    revoking.set_defaults(action=revoke)
    for action in (listing, revoking):
        add_folder(action)
        add_json(action)


def list_standing(options: argparse.Namespace) -> int:
    """Print standing sign-offs, and which of them an upgrade or another policy has made void."""
    with opened_state(options.folder) as state:
        found = state.standing_signoffs(everything=options.all)
    void = _void(options, found)
    if options.json:
        from remit.pipeline.covering import facts_of

        screen.say_json([facts_of(one, void[one.id]) for one in found])
        return 0
    if not found:
        screen.say("there are no standing sign-offs")
        return 0
    rows = [
        (
            one.id[:SHOWN_ID],
            one.pattern.skill,
            _fixed(one),
            f"{one.uses} of {one.given}",
            f"void: {void[one.id]}" if void[one.id] else _left(one),
            one.by,
        )
        for one in found
    ]
    screen.say(screen.table(("id", "skill", "with", "uses left", "state", "by"), rows))
    return 0


def revoke(options: argparse.Namespace) -> int:
    """Take back what the id names."""
    from remit.pipeline.terminal import person

    with opened_state(options.folder) as state:
        standing = state.standing_signoff(options.id)
        if standing is not None:
            if not state.revoke_standing(standing, by=person()):
                raise DeniedCall(f"standing sign-off {standing.id[:SHOWN_ID]} was revoked before")
            skill = standing.pattern.skill
            return _revoked(options, standing.id, skill, f"{skill} is asked about again")
        asked = state.signoff(options.id)
        if not state.withdraw_approval(asked, by=person()):
            raise DeniedCall(
                f"request {asked.nonce[:SHOWN_ID]} has no approval that could be taken back: it is {asked.state}"
            )
    if (asked.decision or {}).get("answer") == "session":
        return _revoked(
            options, asked.nonce, asked.skill, f"{asked.skill} is asked about again in session {asked.session}"
        )
    return _revoked(options, asked.nonce, asked.skill, f"{asked.skill} does not run on that approval")


def _revoked(options: argparse.Namespace, id_: str, skill: str, line: str) -> int:
    """Print what was taken back, as a line or as JSON."""
    if options.json:
        screen.say_json({"revoked": id_, "skill": skill})
    else:
        screen.say(screen.visible(f"revoked: {line}"))
    return 0


def _void(options: argparse.Namespace, found: tuple[StandingSignoff, ...]) -> dict[str, str]:
    """Return why each covers nothing any more, as the deployment is now; empty texts where it cannot be opened."""
    from remit.pipeline.covering import void_of

    if not found:
        return {}
    try:
        with opened(options, quiet=True) as deployment:
            skills, policy = deployment.skills, deployment.rules.digest
    except RemitError:
        return {one.id: "" for one in found}
    return {one.id: void_of(one, skills, policy) for one in found}


def _fixed(one: StandingSignoff) -> str:
    from remit.argument_paths import LEFT_OUT
    from remit.pipeline.render import visible, visible_json

    values = json.loads(one.pattern.fixed)
    shown = [
        visible(name) if name.endswith(LEFT_OUT) else f"{visible(name)}={visible_json(value)}"
        for name, value in values.items()
    ]
    nothing = ", ".join(map(visible, one.pattern.fields)) or "any arguments"
    return screen.clipped(", ".join(shown) or nothing, 48)


def _left(one: StandingSignoff) -> str:
    return f"{lasting(one.expires - time.time())} left" if one.state == "active" else one.state
