"""The skills of an agent without a run: for the audit, and for verdicts that are only explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.delegation.member import called_by
from remit.delegation.team import team_of
from remit.deployment.agents import TOP
from remit.deployment.audit_agents import reach_of
from remit.skills import Skill

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment


def skills_of(deployment: Deployment, agent: str = "") -> dict[str, Skill]:
    """Return what an agent may call, `remit.delegate` included where it may delegate; other host skills are not here.

    Args:
        deployment: the deployment; functions of a program are not known.
        agent: name of one of its agents; empty for the one that a person asks.

    Raises:
        UsageError: there is no such agent, or nobody may ask it.
    """
    team = team_of(deployment.config, (), deployment.skills, deployment, "", programs=False)
    if not agent:
        return {**deployment.skills, **team.delegate((TOP,))}
    chain, reach = reach_of(deployment, agent)
    own = called_by(reach.skills, deployment.config.agents[agent].only_delegates)
    return {**own, **team.delegate(chain)}
