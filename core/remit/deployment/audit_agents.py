"""The agents in the permission matrix: who may ask them, and what each may reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from remit.deployment.agents import TOP
from remit.deployment.config import Config
from remit.deployment.deployment import Deployment
from remit.deployment.load import nearest
from remit.deployment.reach import Reach, deployment_reach
from remit.errors import UsageError
from remit.skills import Skill


@dataclass(frozen=True, kw_only=True)
class AgentRow:
    """One agent at one place: the same agent may reach less where another one asks it.

    Attributes:
        agent: its name.
        chain: who asks whom, its own name first.
        description: what the models of those that ask it read.
        model: name of its model; empty for that of who asks it.
        agents: names of those that it may delegate to.
        skills: full names of the skills of packs that it may call; none for one that only delegates.
        right: what it may reach through any of them, in the manifest's words.
        budget: what one run of it may use up; what is left above is a ceiling in any case.
    """

    agent: str
    chain: tuple[str, ...]
    description: str
    model: str
    agents: tuple[str, ...]
    skills: tuple[str, ...]
    right: Mapping[str, tuple[str, ...]]
    budget: Mapping[str, float] = field(default_factory=dict)


def agent_rows(deployment: Deployment) -> tuple[AgentRow, ...]:
    """Return the agents of a deployment in every place in which they can be asked, sorted by chain."""
    rows = (_row(chain, reach, deployment.config) for chain, reach in _places(deployment))
    return tuple(sorted(rows, key=lambda row: row.chain[::-1]))


def reach_of(deployment: Deployment, agent: str) -> tuple[tuple[str, ...], Reach]:
    """Return the shortest chain that leads to an agent, its own name first, and what it may reach there.

    Raises:
        UsageError: there is no such agent, or nobody may ask it.
    """
    found = [(chain, reach) for chain, reach in _places(deployment) if chain[0] == agent]
    if found:
        return min(found, key=lambda one: len(one[0]))
    known = sorted(deployment.config.agents)
    if agent in known:
        raise UsageError(f"nobody may delegate to agent {agent}", remedy="name it under [agent] agents in remit.toml")
    close = nearest(agent, known)
    raise UsageError(
        f"this deployment has no agent {agent!r}" + (f"; did you mean {close!r}?" if close else ""),
        remedy=f"its agents: {', '.join(known) or 'none'}",
    )


def above(deployment: Deployment, agent: str) -> tuple[str, ...]:
    """Return the names of those that lead to an agent on the shortest chain; none where it is no agent of the file.

    Raises:
        UsageError: nobody may ask it.
    """
    return reach_of(deployment, agent)[0][1:] if agent in deployment.config.agents else ()


def _places(deployment: Deployment) -> Iterator[tuple[tuple[str, ...], Reach]]:
    config = deployment.config
    top = tuple(config.agents) if config.agent.agents is None else config.agent.agents

    def below(names: tuple[str, ...], chain: tuple[str, ...], reach: Reach) -> Iterator[tuple[tuple[str, ...], Reach]]:
        for name in names:
            here = (name, *chain)
            own = reach.of(name, config.agents[name])
            yield here, own
            if len(here) <= config.defaults.max_depth:
                yield from below(config.agents[name].agents, here, own)

    yield from below(top, (TOP,), deployment_reach(deployment))


def _row(chain: tuple[str, ...], reach: Reach, config: Config) -> AgentRow:
    agent = config.agents[chain[0]]
    skills = [skill for skill in reach.skills.values() if not (skill.withheld or agent.only_delegates)]
    return AgentRow(
        agent=chain[0],
        chain=chain,
        description=agent.description,
        model=agent.model.name if agent.model is not None else "",
        agents=agent.agents if len(chain) <= config.defaults.max_depth else (),
        skills=tuple(sorted(skill.full for skill in skills)),
        right=_together(skills),
        budget={name: value for name, value in agent.budget.model_dump().items() if value is not None},
    )


def _together(skills: list[Skill]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for skill in skills:
        for key, entries in skill.right.items():
            if key != "limits":
                found.setdefault(key, set()).update(entries)
    return {key: tuple(sorted(entries)) for key, entries in sorted(found.items())}
