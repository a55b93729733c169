"""`remit signoff edit`: other arguments in the place of those that the model asked for, then approved."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, opened, whole
from remit.cli.signoff import SHOWN_ID
from remit.cli.signoff_answer import add_answering, agreed_to, answerable, decision, left, refused, tell, who_answers
from remit.errors import DeniedCall, UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.skills import Skill
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
    editing.add_argument("--arguments", required=True, metavar="JSON", help="all arguments of the call, as JSON")
    editing.set_defaults(action=edit, read_only=False)


def edit(options: argparse.Namespace) -> int:
    """Check and decide the new arguments, show what would run, ask, and approve that in the place of what was asked."""
    from remit.pipeline.edited import changed

    with opened(options, quiet=True) as deployment, opened_state(options.folder) as state:
        asked = answerable(state, options.id)
        request = asked.rebuilt()
        by, channel = who_answers(state, options.name)
        skill = _skill(deployment, request)
        edited = _edited(deployment, skill, request, whole(options.arguments), by=by)
        lines = changed(request.action.arguments, edited.action.arguments)
        if not agreed_to(asked, _shown(edited, lines), options.digest):
            return left(asked)
        refusal = decision("deny", asked, by=by, channel=channel, reason=f"edited: {'; '.join(lines)}")
        approval = replace(decision("edit", asked, by=by, channel=channel), digest=edited.digest)
        after, why_not = state.give_edit(asked, refusal, edited, approval)
        if why_not:
            raise refused(asked, why_not)
        if not options.json:
            screen.say(
                f"request {asked.nonce[:SHOWN_ID]} is denied as edited; {edited.nonce[:SHOWN_ID]} takes its place"
            )
        return tell(state, state.signoff(edited.nonce), after, as_json=options.json)


def _skill(deployment: Deployment, request: SignoffRequest) -> Skill:
    """Return the skill that was asked about, where nothing about it has changed since."""
    action = request.action
    skill = deployment.skills.get(action.skill)
    if skill is None:
        raise DeniedCall(f"{action.skill} is no skill of a pack of this deployment, so its calls cannot be edited here")
    if (skill.version, skill.hash, deployment.rules.digest) != (action.version, action.skill_hash, action.policy):
        raise DeniedCall(
            f"{action.skill} or the policy has changed since this was asked, so nothing that was asked then can run",
            remedy=f"remit signoff deny {request.nonce[:SHOWN_ID]}; a run that goes on asks anew",
        )
    return skill


def _edited(deployment: Deployment, skill: Skill, request: SignoffRequest, text: str, *, by: str) -> SignoffRequest:
    """Return the request with other arguments: checked, decided, and bound by a digest of its own."""
    from remit.pipeline.resources import resolved

    if request.secret:
        names = ", ".join(request.secret)
        raise DeniedCall(
            f"{skill.full} has secret arguments ({names}), which are not kept, so its calls cannot be edited"
        )
    arguments = _checked(skill, text)
    if arguments == dict(request.action.arguments):
        raise UsageError("these are the arguments that were asked for", remedy="remit signoff approve ID")
    _decide(deployment, skill, request, arguments)
    action = replace(request.action, arguments=arguments, resolved=resolved(skill, arguments))
    origins = dict.fromkeys(arguments, f"{by}, who edited the call") if request.origins else {}
    again = replace(request, action=action, edits=request.nonce, origins=origins)
    import secrets

    return replace(again, nonce=secrets.token_hex(16))


def _checked(skill: Skill, text: str) -> dict[str, Any]:
    from remit.packs.arguments import Rejected
    from remit.pipeline.validate import arguments_of

    checked = arguments_of(skill.schema).check(text)
    if isinstance(checked, Rejected):
        raise UsageError(checked.message)
    return checked.value


def _decide(deployment: Deployment, skill: Skill, request: SignoffRequest, arguments: Mapping[str, Any]) -> None:
    """Raise DeniedCall when the policy is stricter about the edited call than about the one that was asked."""
    from typing import cast

    from remit.policy.decide import decide
    from remit.policy.rules import Scene
    from remit.values import VERDICTS, AskedBy

    scene = Scene(interactive=True, asked_by=cast("AskedBy", request.asked_by))
    found = decide(skill, arguments, deployment.rules, scene)
    if VERDICTS.index(found.verdict) > VERDICTS.index(request.verdict):
        raise DeniedCall(
            f"with these arguments the verdict on {skill.full} is {found.verdict} ({found.source}: {found.reason}),"
            f" and the request was for {request.verdict}"
        )


def _shown(edited: SignoffRequest, lines: list[str]) -> str:
    from remit.pipeline.terminal import question

    changes = "\n".join(f"{'changed' if number == 0 else '':<10} {line}" for number, line in enumerate(lines))
    return question(edited, session_key="").strip("\n") + "\n" + changes
