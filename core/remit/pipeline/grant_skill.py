"""`remit.enable_skills`: by a call of it a model proposes what its session has, and a person confirms that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit.errors import StateError
from remit.skills import ENABLE_SKILLS, RESERVED_PACK, Skill
from remit.state.grants import grant
from remit_sandbox.canonical import digest

if TYPE_CHECKING:
    from remit.state.store import State
    from remit_sandbox.inside.context import Context
    from remit_sandbox.signoff import Action

ENABLED = "enabled"
"""What its result calls the names."""

ASKS = "it decides which skills that do more than read this session has; each of their calls is judged as ever"
"""Why a person is asked."""


def enable_skills(names: Sequence[str], description: str) -> Skill:
    """Return the skill with a closed list of names. It changes nothing but what its session has."""
    items: Mapping[str, Any] = {"type": "string", "enum": list(names)}
    return Skill(
        pack=RESERVED_PACK,
        name=ENABLE_SKILLS.partition(".")[2],
        description=description,
        schema={
            "type": "object",
            "properties": {"skills": {"type": "array", "items": items, "maxItems": len(names)}},
            "required": ["skills"],
            "additionalProperties": False,
        },
        effect="read",
        declared_effect="read",
        labels=frozenset(),
        idempotent=True,
        hash="host",
        asks=ASKS,
    )


def confirming(skills: Mapping[str, Skill], state: State | None = None) -> Skill:
    """Return the skill as a person is asked about it: with what was proposed, and what each of them may reach.

    It is another one as soon as one of the skills is, so that an old answer does not count for it.

    Args:
        skills: full name to skill, of those that were proposed.
        state: where an approved call records the grant; None for a skill that is only shown and checked.
    """
    reach = {full: (kind_of(skill), *_rights(skill)) for full, skill in skills.items()}
    about = [[full, skill.version, skill.hash, list(reach[full])] for full, skill in skills.items()]
    made = enable_skills(list(skills), "Enable these skills for this session.")
    made = replace(made, right=reach, hash=f"host-{digest({'enables': about})}")
    return made if state is None else replace(made, function=_granting(state, skills))


def confirmed_again(action: Action, skills: Mapping[str, Skill]) -> Skill | None:
    """Return the skill that a stored question is about; None where it is about another, or a named one is gone."""
    names = action.arguments.get("skills")
    if action.skill != ENABLE_SKILLS or not isinstance(names, list):
        return None
    found = {str(name): skills[str(name)] for name in names if str(name) in skills}
    return confirming(found) if len(found) == len(names) else None


def kind_of(skill: Skill) -> str:
    """Return what makes a skill one that a grant is about: its effect and impact, in words."""
    return ", ".join((skill.effect, *sorted(skill.impact)))


def _granting(state: State, known: Mapping[str, Skill]) -> Any:
    def enable(skills: list[str], *, ctx: Context) -> dict[str, list[str]]:
        try:
            grant(state, ctx.session, [known[name] for name in skills], how="confirmed")
        except StateError:
            raise ValueError("it cannot be recorded at the moment") from None
        return {ENABLED: sorted(skills)}

    return enable


def _rights(skill: Skill) -> list[str]:
    if not skill.confined:
        return ["not confined"]
    return [f"{key} {entry}" for key, entries in sorted(skill.right.items()) for entry in entries]
