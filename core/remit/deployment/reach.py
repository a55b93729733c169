"""What an agent may reach: what the agent that asks it may reach, and of that what it is given itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from remit.deployment.assemble import Ground, site_of
from remit.deployment.config import GrantConfig, SubAgentConfig
from remit.deployment.layers import canonical
from remit.deployment.skills import PackParts, pack_skills
from remit.errors import PolicyError
from remit.packs.permissions import Permission
from remit.skills import Skill

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What an agent may use.

    Attributes:
        skills: full name to skill, with the rights that it has for this agent.
        packs: name to pack, granted what this agent is given.
        ground: what packs are assembled on; None where there is no deployment.
        ceilings: agent to what the managed file says of it.
    """

    skills: Mapping[str, Skill]
    packs: Mapping[str, PackParts] = field(default_factory=dict)
    ground: Ground | None = None
    ceilings: Mapping[str, SubAgentConfig] = field(default_factory=dict)

    def of(self, name: str, agent: SubAgentConfig) -> Reach:
        """Return what `agent` may reach where the agent with this reach asks it: never more.

        Raises:
            PolicyError: one of its grants is none.
        """
        skills = dict(self.skills) if agent.skills is None else dict(named(agent.skills, self.skills))
        packs = dict(self.packs)
        upper = self.ceilings.get(name)
        for grants in ((upper.grant if upper is not None else {}), agent.grant):
            for written, grant in grants.items():
                pack = canonical(written)
                if pack in packs:
                    packs[pack] = _granted(packs[pack], grant)
                    skills = dict(self._made_anew(packs[pack], skills))
        return replace(self, skills=skills, packs=packs)

    def _made_anew(self, parts: PackParts, skills: Mapping[str, Skill]) -> Iterator[tuple[str, Skill]]:
        """Yield the skills with those of one pack made for another grant; one that cannot be made is left out.

        What the mode takes from the agent that asks, it takes from this one, whatever it would be here.
        """
        assert self.ground is not None
        found = {skill.full: skill for skill in pack_skills(parts, site_of(parts.name, self.ground)).skills}
        for full, skill in skills.items():
            if skill.pack != parts.name or skill.withheld:
                yield full, skill
            elif full in found:
                yield full, found[full]


def deployment_reach(deployment: Deployment, skills: Mapping[str, Skill] | None = None) -> Reach:
    """Return what the agent that a person asks may reach; `skills` are its own where it has others."""
    return Reach(
        skills=deployment.skills if skills is None else skills,
        packs=deployment.assembled.packs,
        ground=deployment.ground,
        ceilings=deployment.upper_agents,
    )


def named(names: Iterable[str], skills: Mapping[str, Skill]) -> Iterator[tuple[str, Skill]]:
    """Yield the skills that `names` mean, by full or wire name, or by their pack."""
    meant = {_spelled(name) for name in names}
    for full, skill in skills.items():
        if meant & {full, skill.wire, skill.pack}:
            yield full, skill


def check_grant(agent: str, parts: PackParts, grant: GrantConfig) -> None:
    """Check what an agent is granted of a pack.

    Raises:
        PolicyError: it is no grant, or wider than what the pack asks for.
    """
    wider = Permission.granted(grant.given(), parts.grant.permission).beyond(parts.grant.permission)
    if wider:
        raise PolicyError(
            f"agent {agent} is granted more of pack {parts.name} than the pack asks for: {'; '.join(wider)}",
            remedy=f"narrow [agents.{agent}.grant.{parts.name}]",
        )


def _granted(parts: PackParts, grant: GrantConfig) -> PackParts:
    own = Permission.granted(grant.given(), parts.grant.grant)
    return replace(parts, grant=replace(parts.grant, grant=parts.grant.grant.by_key(own)))


def _spelled(name: str) -> str:
    pack, dot, skill = name.partition(".")
    return f"{canonical(pack)}{dot}{skill}" if dot or "__" not in name else name
