"""What the managed file says of agents: it only tightens what the deployment says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from remit.deployment.closed import Closed
from remit.deployment.config import AgentConfig, SubAgentConfig

_Budgets = TypeVar("_Budgets", bound=Closed)


def tightened_agent(upper: AgentConfig, lower: AgentConfig) -> AgentConfig:
    """Return `[agent]`: the smaller budgets, and only agents that both name; `upper` counts only for what it wrote."""
    agents = lower.agents
    if upper.agents is not None:
        agents = upper.agents if agents is None else tuple(name for name in agents if name in upper.agents)
    only = upper.only_delegates or lower.only_delegates
    return _smaller(upper, lower).model_copy(update={"agents": agents, "only_delegates": only})


def tightened_agents(
    upper: Mapping[str, SubAgentConfig], lower: Mapping[str, SubAgentConfig]
) -> dict[str, SubAgentConfig]:
    """Return the deployment's agents under what the managed file says of those that it names.

    What it grants them is no part of this: grants meet where rights are made, see `remit.deployment.reach`.
    """
    return {name: _tightened(upper[name], agent) if name in upper else agent for name, agent in lower.items()}


def _tightened(upper: SubAgentConfig, lower: SubAgentConfig) -> SubAgentConfig:
    said = upper.model_fields_set
    changes: dict[str, Any] = {key: getattr(upper, key) for key in ("description", "prompt", "model") if key in said}
    if upper.skills is not None:
        changes["skills"] = upper.skills if lower.skills is None else _both(upper.skills, lower.skills)
    if "agents" in said:
        changes["agents"] = tuple(name for name in lower.agents if name in upper.agents)
    changes["only_delegates"] = upper.only_delegates or lower.only_delegates
    changes["budget"] = _smaller(upper.budget, lower.budget)
    return lower.model_copy(update=changes)


def _both(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    """Return what both lists name, where a pack stands for all of its skills."""
    met = [name for name in one if _named(name, two)] + [name for name in two if _named(name, one)]
    return tuple(dict.fromkeys(met))


def _named(name: str, names: tuple[str, ...]) -> bool:
    return name in names or name.partition(".")[0] in names


def _smaller(upper: _Budgets, lower: _Budgets) -> _Budgets:
    """Return `lower` with the smaller of both budgets, where `upper` counts only for what it wrote."""
    said = [name for name in upper.model_fields_set if name.startswith("max_") and getattr(upper, name) is not None]
    both = {name: [one for one in (getattr(upper, name), getattr(lower, name)) if one is not None] for name in said}
    return lower.model_copy(update={name: min(values) for name, values in both.items()})
