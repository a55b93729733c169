"""Agents that others may delegate to, checked before anything runs: names, loops, depth."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.deployment.config import Config, SubAgentConfig
from remit.deployment.layers import canonical
from remit.deployment.load import nearest
from remit.errors import DeploymentError, RemitError
from remit.skills import RESERVED_PACK

if TYPE_CHECKING:
    from remit.deployment.assemble import Assembled

TOP = "assistant"
"""What the agent that a person asks is called in a chain, where it has no name."""

_HOST = (RESERVED_PACK, "local")
"""Packs whose skills are not the deployment's: what they hold is known once there is an agent."""


def chain_words(chain: Sequence[str]) -> str:
    """Return who asked whom, the one that acts first: `reader <- researcher <- assistant`."""
    return " <- ".join(chain)


def checked_agents(config: Config, assembled: Assembled) -> tuple[str, ...]:
    """Check the agents of a deployment, and return what of them gives nothing here.

    Raises:
        DeploymentError: a name that nobody knows, a loop, or a chain that is too long.
        PolicyError: a grant that is none, or wider than what its pack asks for.
    """
    from remit.deployment.reach import check_grant

    check_calls(config.agents, config.agent.agents, config.defaults.max_depth, wrong=DeploymentError)
    notes: list[str] = []
    for name, agent in sorted(config.agents.items()):
        for written in agent.skills or ():
            notes += _checked_skill(name, written, config, assembled)
        for pack, grant in sorted(agent.grant.items()):
            notes += _checked_pack(name, canonical(pack), config, "grant")
            if canonical(pack) in assembled.packs:
                check_grant(name, assembled.packs[canonical(pack)], grant)
    return tuple(notes)


def check_calls(
    agents: Mapping[str, SubAgentConfig],
    top: Sequence[str] | None,
    max_depth: int,
    *,
    wrong: type[RemitError],
    name: str = TOP,
) -> None:
    """Check who may delegate to whom.

    Args:
        agents: all of them, by name.
        top: those that the agent which a person asks may delegate to; None for all.
        max_depth: see `DefaultsConfig`.
        wrong: the error to raise: its family says whose mistake it is.
        name: of the agent which a person asks.

    Raises:
        RemitError: of class `wrong`: an unknown name, a loop, or a chain that is too long.
    """
    if agents and name in agents:
        raise wrong(f"two agents are called {name}", remedy="give one of them another name")
    for caller, called in ((name, top or ()), *((one, agents[one].agents) for one in sorted(agents))):
        for other in called:
            if other not in agents:
                raise wrong(*_unknown(caller, other, agents))
    _refuse_loops(agents, wrong)
    known: dict[str, tuple[str, ...]] = {}
    longest = max((_longest(one, agents, known) for one in (agents if top is None else top)), key=len, default=())
    if len(longest) > max_depth:
        raise wrong(
            f"agents may delegate {max_depth} deep, and {' -> '.join((name, *longest))} is {len(longest)} deep",
            remedy=f"shorten the chain, or write max_depth = {len(longest)} under [defaults]",
        )


def _unknown(caller: str, other: str, agents: Collection[str]) -> tuple[str]:
    close = nearest(other, tuple(agents))
    hint = f"; did you mean {close!r}?" if close else f"; there are {', '.join(sorted(agents)) or 'none'}"
    return (f"agent {caller} may delegate to {other!r}, and there is no such agent{hint}",)


def _refuse_loops(agents: Mapping[str, SubAgentConfig], wrong: type[RemitError]) -> None:
    """Raise for agents that could ask each other for ever, with the way round."""
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise wrong(
                f"agents delegate in a circle: {' -> '.join((*path[path.index(name) :], name))}",
                remedy=f"take {name} out of the agents of {path[-1]}",
            )
        if name not in done:
            for other in agents[name].agents:
                visit(other, (*path, name))
            done.add(name)

    for name in sorted(agents):
        visit(name, ())


def _longest(name: str, agents: Mapping[str, SubAgentConfig], known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the longest chain that begins with an agent; `known` remembers what was found before."""
    if name not in known:
        below = (_longest(other, agents, known) for other in agents[name].agents)
        known[name] = (name, *max(below, key=len, default=()))
    return known[name]


def _checked_skill(agent: str, written: str, config: Config, assembled: Assembled) -> Iterator[str]:
    """Yield why a name in `skills` gives nothing here; a name that nobody knows raises DeploymentError."""
    written_pack, dot, skill = written.partition(".")
    pack = canonical(written_pack)
    if pack in _HOST:
        return
    yield from _checked_pack(agent, pack, config, "skills")
    parts = assembled.packs.get(pack)
    if not dot or parts is None:
        return
    if skill not in parts.manifest.skills:
        close = nearest(skill, tuple(parts.manifest.skills))
        hint = f"; did you mean '{pack}.{close}'?" if close else f"; it has {', '.join(parts.manifest.skills)}"
        raise DeploymentError(
            f"[agents.{agent}] names {written!r}, and pack {pack} has no such skill{hint}",
            remedy="correct the name in remit.toml",
        )
    if skill not in parts.chosen():
        yield f"agent {agent}: {pack}.{skill} gives nothing: it is not among the skills of [packs.{pack}]"


def _checked_pack(agent: str, pack: str, config: Config, key: str) -> Iterator[str]:
    known = config.packs.get(pack)
    if known is None:
        close = nearest(pack, (*config.packs, *_HOST))
        hint = f"; did you mean {close!r}?" if close else f"; it has {', '.join(sorted(config.packs)) or 'none'}"
        raise DeploymentError(
            f"[agents.{agent}] {key} names pack {pack!r}, which this deployment does not have{hint}",
            remedy=f"correct the name, or run `remit packs enable {pack}`",
        )
    if not known.enabled:
        yield f"agent {agent}: {key} of pack {pack} gives nothing: the pack is not enabled"
