"""All agents that can be asked, of the deployment and of the program, and who may ask whom."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit.delegation.spec import AgentSpec
from remit.deployment.agents import TOP, check_calls
from remit.deployment.config import Config, SubAgentConfig
from remit.errors import UsageError
from remit.skills import DELEGATE, RESERVED_PACK, Skill

if TYPE_CHECKING:
    from remit.loop.guards import Limits
    from remit.models.protocol import Model


@dataclass(frozen=True, kw_only=True)
class Known:
    """An agent that can be asked.

    Attributes:
        config: what is said of it.
        model: what a program says of its model, before `config` does.
        limits: what a program says of its limits, before `config` does.
    """

    config: SubAgentConfig
    model: Model | str | None = None
    limits: Limits | None = None


@dataclass(frozen=True, kw_only=True)
class Roster:
    """Who there is.

    Attributes:
        name: of the agent that a person asks.
        agents: all others, by name.
        top: names of those that it may delegate to.
        max_depth: see `DefaultsConfig`.
    """

    name: str = TOP
    agents: Mapping[str, Known] = field(default_factory=dict)
    top: tuple[str, ...] = ()
    max_depth: int = 3

    def callable_by(self, chain: Sequence[str]) -> tuple[str, ...]:
        """Return the names of those that the first agent of a chain may delegate to, none where it is too long."""
        if len(chain) > self.max_depth:
            return ()
        return self.top if len(chain) == 1 else self.agents[chain[0]].config.agents


def roster_of(config: Config, specs: Sequence[AgentSpec], *, name: str) -> Roster:
    """Return the agents of the deployment and those of the program.

    Args:
        config: of the deployment.
        specs: of the program.
        name: of the agent that a person asks; empty for none.

    Raises:
        UsageError: two have one name, a spec is wrong, a name in it is unknown, or they delegate in a circle.
    """
    agents = {one: Known(config=agent) for one, agent in config.agents.items()}
    for spec in specs:
        if spec.name in agents:
            raise UsageError(f"two agents are called {spec.name}", remedy="give one of them another name")
        agents[spec.name] = Known(config=_config(spec), model=spec.model, limits=spec.limits)
    configs = {one: known.config for one, known in agents.items()}
    top, depth = config.agent.agents, config.defaults.max_depth
    if top is not None:
        top = (*top, *(spec.name for spec in specs))
    check_calls(configs, top, depth, wrong=UsageError, name=name or TOP)
    return Roster(name=name or TOP, agents=agents, top=tuple(agents) if top is None else top, max_depth=depth)


def check_skills(roster: Roster, known: Mapping[str, Skill], config: Config) -> None:
    """Check the names of skills that agents are given, now that the program's functions are known, too.

    Raises:
        UsageError: a name that no skill and no pack of the agent has.
    """
    packs = {skill.pack for skill in known.values()} | {RESERVED_PACK, *config.packs}
    spelled = {*known, *(skill.wire for skill in known.values()), *packs, DELEGATE}
    for name, agent in roster.agents.items():
        for written in agent.config.skills or ():
            pack = written.partition(".")[0].replace("-", "_").lower()
            if written in spelled or pack in config.packs:  # of those, the deployment has checked the names
                continue
            close = difflib.get_close_matches(written, sorted(spelled), n=1, cutoff=0.5)
            raise UsageError(
                f"agent {name} may use {written!r}, and there is no such skill or pack"
                + (f"; did you mean {close[0]!r}?" if close else ""),
                remedy=f"there are {', '.join(sorted(known)) or 'none'}",
            )


def _config(spec: AgentSpec) -> SubAgentConfig:
    """Return what a spec says in the form of a file's table."""
    from pydantic import ValidationError

    table: dict[str, Any] = {
        "description": spec.description,
        "prompt": spec.prompt,
        "skills": None if spec.skills is None else _names(spec.skills),
        "agents": _names(spec.agents),
        "only_delegates": spec.only_delegates,
        "grant": {pack: _nested(grant) for pack, grant in spec.grant.items()},
    }
    try:
        Config.model_validate({"agents": {spec.name: {"description": "x"}}})
        return SubAgentConfig.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part not in ("agents", "[key]"))
        raise UsageError(f"AgentSpec {spec.name!r}: {where}: {first['msg'].removeprefix('Value error, ')}") from None


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _nested(grant: Mapping[str, Any]) -> dict[str, Any]:
    """Return a grant with `fs.read` as a table in a table, as a file has it."""
    nested: dict[str, Any] = {}
    for key, value in grant.items():
        plain = list(value) if isinstance(value, tuple) else value
        if key.startswith("fs."):
            nested.setdefault("fs", {})[key.removeprefix("fs.")] = plain
        else:
            nested[key] = plain
    return nested
