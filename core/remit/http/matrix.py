"""The permission matrix over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from remit.deployment.audit import audit_rows
from remit.loop.remembering import writing_skills
from remit.loop.showing import Showing
from remit.pipeline.host_skills import host_skills

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.state.store import State


def matrix(deployment: Deployment, state: State) -> dict[str, Any]:
    """Return what every skill may do and who holds it to that: the rows of `remit audit --json`.

    Raises:
        StateError: the log cannot be read.
    """
    skills = {**deployment.skills, **host_skills(state), **writing_skills(deployment, state)}
    skills = Showing.of(deployment.config, state).searchable(skills, read_only=deployment.read_only)
    return {
        "skills": [asdict(row) for row in audit_rows(deployment, skills=skills.values())],
        "problems": [{"pack": one.pack, "reason": one.reason, "remedy": one.remedy} for one in deployment.problems],
    }
