"""What an agent opens and holds: its deployment, state, skills and rules."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.errors import StateError, UsageError
from remit.policy.rules import Rules
from remit.skills import Skill
from remit.state.store import State
from remit.values import ReadOnly

if TYPE_CHECKING:
    from remit.deployment.config import Config
    from remit.deployment.deployment import Deployment

_STRICTNESS: Sequence[ReadOnly] = (False, True, "strict")

Closing = list[Callable[[], object]]
"""What closes, last first, what was opened."""


def opened_deployment(
    deployment: Deployment | str | Path | None, read_only: ReadOnly, closing: Closing
) -> Deployment | None:
    """Return the deployment of an agent, opened where only its folder is given.

    Raises:
        UsageError: it is open with more rights than the agent may have.
        DeploymentError: it cannot be opened.
    """
    if deployment is None:
        return None
    if isinstance(deployment, (str, Path)):
        from remit.deployment.deployment import Deployment

        opened = Deployment.open(deployment, read_only=read_only)
        closing.append(opened.close)
        return opened
    if _STRICTNESS.index(read_only) > _STRICTNESS.index(deployment.read_only):
        raise UsageError(
            "the deployment is open with more rights than this agent may have",
            remedy=f"open it with read_only={read_only!r}",
        )
    return deployment


def state_for(owner: object, deployment: Deployment | None, closing: Closing) -> State:
    """Return the deployment's state; without a deployment one that is gone when `owner` is."""
    if deployment is not None:
        state = State(deployment.state_folder)
        closing.append(state.close)
        return state
    folder = tempfile.mkdtemp(prefix="remit-")
    state = State(Path(folder))
    closing.append(weakref.finalize(owner, _discard, state, folder))
    return state


def all_skills(
    deployment: Deployment | None, functions: Sequence[Callable[..., Any]], config: Config
) -> dict[str, Skill]:
    """Return the skills of the deployment and of the program, by full name.

    Raises:
        UsageError: two functions have one name.
        DeploymentError: the deployment does not allow a function.
    """
    skills = dict(deployment.skills) if deployment is not None else {}
    if not functions:
        return skills
    from remit.local_skills import local_skill, require_allowed

    for function in functions:
        local = local_skill(function)
        if local.full in skills:
            raise UsageError(f"two functions are called {local.name}", remedy='rename one: @skill(name="...")')
        if deployment is not None:
            require_allowed(local, config.host_skills.allow)
        skills[local.full] = local
    return skills


def rules_for(deployment: Deployment | None, config: Config, skills: dict[str, Skill]) -> Rules:
    """Return the deployment's rules, or the standard ones for an agent in code."""
    return deployment.rules if deployment is not None else Rules.load((), config.defaults, skills=skills)


def _discard(state: State, folder: str) -> None:
    try:
        state.close()
    except StateError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
