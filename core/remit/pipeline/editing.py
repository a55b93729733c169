"""Other arguments in the place of those that the model asked for: checked, decided, and asked about anew."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from remit.errors import DeniedCall, UsageError
from remit.packs.arguments import Rejected
from remit.pipeline.edited import changed
from remit.pipeline.file_changes import file_changes
from remit.pipeline.grant_skill import confirmed_again
from remit.pipeline.present import beyond_rights, contents
from remit.pipeline.resources import resolved
from remit.pipeline.validate import arguments_of
from remit.policy.decide import decide
from remit.policy.rules import Rules, Scene
from remit.skills import Skill
from remit.state.answering import StoredSignoff
from remit.state.store import State
from remit.values import VERDICTS, AskedBy, Decision
from remit_sandbox.signoff import SignoffDecision, SignoffRequest, SignoffState


def editable(request: SignoffRequest, skills: Mapping[str, Skill], rules: Rules) -> Skill:
    """Return the skill that was asked about, where nothing about it has changed since.

    Raises:
        DeniedCall: it is none of these skills, or it or the policy is another now.
    """
    action = request.action
    skill = skills.get(action.skill) or confirmed_again(action, skills)
    if skill is None:
        raise DeniedCall(f"{action.skill} is no skill of a pack of this deployment, so its calls cannot be edited here")
    if (skill.version, skill.hash, rules.digest) != (action.version, action.skill_hash, action.policy):
        raise DeniedCall(
            f"{action.skill} or the policy has changed since this was asked, so nothing that was asked then can run",
            remedy=f"remit signoff deny {request.nonce[:12]}; a run that goes on asks anew",
        )
    return skill


def edited(request: SignoffRequest, text: str, *, skill: Skill, rules: Rules, by: str) -> SignoffRequest:
    """Return the request with other arguments: checked, decided, and bound by a digest of its own.

    Args:
        request: what was asked.
        text: all arguments, as JSON.
        skill: that was asked about.
        rules: of the deployment.
        by: who edits.

    Raises:
        UsageError: the arguments do not fit the schema, or are those that were asked for.
        DeniedCall: the call cannot be edited, the verdict on it would be stricter, or its rights do not hold what the
            new arguments name.
    """
    if request.secret:
        names = ", ".join(request.secret)
        raise DeniedCall(
            f"{skill.full} has secret arguments ({names}), which are not kept, so its calls cannot be edited"
        )
    arguments = _checked(skill, text)
    if arguments == dict(request.action.arguments):
        raise UsageError("these are the arguments that were asked for", remedy="remit signoff approve ID")
    found = _decide(skill, request, arguments, rules)
    places = resolved(skill, arguments)
    _require_within_rights(skill, places)
    action = replace(request.action, arguments=arguments, resolved=places, contents=contents(skill, places))
    return replace(
        request,
        action=action,
        nonce=secrets.token_hex(16),
        source=found.source,
        reason=found.reason,
        edits=request.edits or request.nonce,
        origins=dict.fromkeys(arguments, f"{by}, who edited the call") if request.origins else {},
        changes=file_changes(skill, arguments, places, action.contents),
        remark="",
        covers="",
    )


def approve_edit(
    state: State, asked: StoredSignoff, edit: SignoffRequest, *, by: str, channel: str
) -> tuple[SignoffState, str]:
    """Deny what was asked as edited, and approve the edit in its place.

    Returns:
        The state of the edit, and why nothing was changed; empty when it was.

    Raises:
        StateError: it cannot be written.
    """
    what = "; ".join(differences(asked.rebuilt(), edit))
    refusal = SignoffDecision(
        answer="deny", digest=asked.digest, reason=f"edited: {what}"[:500], by=by, channel=channel
    )
    approval = SignoffDecision(answer="edit", digest=edit.digest, by=by, channel=channel)
    return state.give_edit(asked, refusal, edit, approval)


def differences(request: SignoffRequest, edit: SignoffRequest) -> list[str]:
    """Return what an edit changes, one line each."""
    return changed(request.action.arguments, edit.action.arguments)


def _checked(skill: Skill, text: str) -> dict[str, Any]:
    checked = arguments_of(skill.schema).check(text)
    if isinstance(checked, Rejected):
        raise UsageError(checked.message)
    return checked.value


def _require_within_rights(skill: Skill, places: Mapping[str, str]) -> None:
    """Raise DeniedCall where the call would fail whatever was approved: its rights do not hold what it names."""
    beyond = beyond_rights(skill, places)
    if beyond:
        named = "; ".join(f"{name} ({place})" for name, place in beyond.items())
        raise DeniedCall(
            f"{skill.full} may not reach what these arguments name: {named}; nothing was changed, the request waits on",
            remedy="remit audit (what it may reach)",
        )


def _decide(skill: Skill, request: SignoffRequest, arguments: Mapping[str, Any], rules: Rules) -> Decision:
    """Return what the policy says of the edited call; what the person wrote came from nowhere else.

    Raises:
        DeniedCall: it is stricter about that than about the call that was asked.
    """
    agent, above = (*request.agents[:1], "")[0], request.agents[1:]
    scene = Scene(interactive=True, agent=agent, above=above, asked_by=cast("AskedBy", request.asked_by))
    found = decide(skill, arguments, rules, scene)
    if VERDICTS.index(found.verdict) > VERDICTS.index(request.verdict):
        raise DeniedCall(
            f"with these arguments the verdict on {skill.full} is {found.verdict} ({found.source}: {found.reason}),"
            f" and the request was for {request.verdict}"
        )
    return found
