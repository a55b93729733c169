"""The agents that one agent can delegate to, directly or through others, and the runs that come of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from remit.delegation.delegating import Delegating
from remit.delegation.member import Means, Member, Site, called_by, has_own_model, member_of, speakers_for
from remit.delegation.roster import Roster, check_skills, roster_of
from remit.deployment.delegate import delegate_skill
from remit.deployment.reach import Reach, deployment_reach, named
from remit.errors import UsageError
from remit.loop.guards import Limits
from remit.loop.preview import Preview, preview
from remit.loop.running import Running
from remit.loop.speakers import Given
from remit.loop.voices import Speaker
from remit.skills import DELEGATE, Skill

if TYPE_CHECKING:
    from remit.delegation.spec import AgentSpec
    from remit.deployment.config import Config
    from remit.deployment.deployment import Deployment
    from remit.loop.showing import Showing
    from remit.pipeline.pipeline import Pipeline
    from remit.pipeline.redact import Redactor
    from remit.state.store import State
    from remit.telemetry.telemetry import Telemetry


def team_of(
    config: Config,
    specs: Sequence[AgentSpec],
    known: Mapping[str, Skill],
    deployment: Deployment | None,
    name: str,
    *,
    only_delegates: bool = False,
    programs: bool = True,
) -> Team:
    """Return the agents that an agent can delegate to.

    Args:
        config: of the deployment.
        specs: agents of the program.
        known: full name to skill, of the agent that a person asks.
        deployment: None for an agent in code.
        name: of the agent that a person asks; empty for none.
        only_delegates: that agent calls no skill itself; so it is, too, where the deployment says so.
        programs: `known` has the functions of the program, too, so that names of them can be checked.

    Raises:
        UsageError: two agents have one name, or a name or a chain of agents is wrong.
    """
    known = {full: skill for full, skill in known.items() if full != DELEGATE}  # each agent has one of its own, or none
    only = only_delegates or config.agent.only_delegates
    roster = roster_of(config, specs, name=name)
    if programs:
        check_skills(roster, known, config)
    if deployment is None:
        with_grant = next((spec.name for spec in specs if spec.grant), None)
        if with_grant is not None:
            raise UsageError(
                f"agent {with_grant} is granted something, and there is no deployment to narrow",
                remedy="name the skills that it may use instead",
            )
        return Team(roster, Reach(skills=known), Site(config=config), only_delegates=only)
    site = Site(config=config, folder=deployment.folder, extensions=deployment.extensions)
    return Team(roster, deployment_reach(deployment, known), site, only_delegates=only)


class Team:
    """Knows every agent by the chain that leads to it, makes them when they are asked, and runs them.

    Args:
        roster: who there is.
        reach: what the agent that a person asks may reach.
        site: where models and prompts of agents come from.
        only_delegates: the agent that a person asks calls no skill itself.

    Attributes:
        skills: full name to skill, of what the agent that a person asks calls: with `remit.delegate`, where there is
            somebody to ask.
    """

    def __init__(self, roster: Roster, reach: Reach, site: Site, *, only_delegates: bool = False) -> None:
        self._roster = roster
        self._reach = reach
        self._site = site
        self._members: dict[tuple[str, ...], Member] = {}
        self._own: dict[str, list[Speaker]] = {}
        self._means: Means | None = None
        self.skills = {**called_by(reach.skills, only_delegates), **self.delegate((roster.name,))}

    def start(
        self,
        pipeline: Callable[..., Pipeline],
        speakers: Sequence[Speaker],
        given: Given,
        limits: Limits,
        state: State,
        redactor: Redactor,
        telemetry: Telemetry,
        showing: Showing,
        running: dict[str, Running],
        *,
        keep_raw: bool,
    ) -> None:
        """Take what the agents share, see `Means`. Their models are made now, so that what is wrong with one shows.

        Raises:
            UsageError, DeploymentError: a model or prompt of an agent cannot be used.
        """
        self._means = Means(
            site=self._site,
            state=state,
            redactor=redactor,
            telemetry=telemetry,
            showing=showing,
            speakers=speakers,
            given=given,
            limits=limits,
            pipeline=pipeline,
            running=running,
            keep_raw=keep_raw,
        )
        for name, known in self._roster.agents.items():
            made = speakers_for(name, known, speakers, self._means)
            if has_own_model(known):
                self._own[name] = made

    def member(self, chain: tuple[str, ...]) -> Member:
        """Return the agent that a chain leads to, its own name first.

        Raises:
            UsageError, DeploymentError: its models cannot be used.
            PolicyError: its grant is none.
        """
        if chain not in self._members:
            self._members[chain] = self._made(chain)
        return self._members[chain]

    async def aclose(self) -> None:
        """Close what the models have open on the running event loop."""
        for member in self._members.values():
            await member.choir.aclose()

    def preview(self, name: str, question: str = "") -> Preview:
        """Return what the model of an agent gets where it is asked, by the shortest chain that leads to it.

        Raises:
            UsageError: no chain leads to an agent of this name.
            DeploymentError, PolicyError: as `member`.
        """
        chains: list[tuple[str, ...]] = [(self._roster.name,)]
        for chain in chains:
            if chain[0] == name and len(chain) > 1:
                member = self.member(chain)
                return preview(member.choir, member.prompt, self.means.showing, question=question, agent=name)
            chains += [(one, *chain) for one in self._roster.callable_by(chain)]
        known = sorted({one for chain in chains for one in chain[:-1]})
        raise UsageError(f"nobody asks an agent {name}", remedy=f"there are {', '.join(known) or 'none'}")

    def below(self) -> dict[str, Skill]:
        """Return the skills that agents which are asked by the first one, or by those, call, by full name."""
        found: dict[str, Skill] = {}
        waiting, seen = list(self._roster.top), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                config = self._roster.agents[name].config
                own = self._reach.skills if config.skills is None else dict(named(config.skills, self._reach.skills))
                found |= called_by(own, config.only_delegates)
                waiting += config.agents
        return found

    def callable_by(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of those that the first agent of a chain may delegate to."""
        return self._roster.callable_by(chain)

    @property
    def means(self) -> Means:
        """What its agents share."""
        assert self._means is not None, "start comes first"
        return self._means

    def _made(self, chain: tuple[str, ...]) -> Member:
        name, *above = chain
        known = self._roster.agents[name]
        if len(above) > 1:
            caller = self.member(tuple(above))
            reach, speakers = caller.reach, caller.speakers
        else:
            reach, speakers = self._reach, self.means.speakers
        return member_of(
            chain,
            known,
            reach.of(name, known.config),
            self.delegate(chain),
            self._own.get(name) or speakers_for(name, known, speakers, self.means),
            self.means,
        )

    def delegate(self, chain: tuple[str, ...]) -> dict[str, Skill]:
        """Return `remit.delegate` by its full name for the first agent of a chain, nothing where it has nobody."""
        agents = {name: self._roster.agents[name].config.description for name in self._roster.callable_by(chain)}
        return {DELEGATE: delegate_skill(Delegating(self, chain), agents)} if agents else {}
