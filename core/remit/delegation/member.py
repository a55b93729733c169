"""An agent at its place in a chain: what it may reach there, how its models are asked, which limits it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit.delegation.roster import Known
from remit.deployment.reach import Reach
from remit.extensions.extensions import NO_EXTENSIONS, Extensions
from remit.loop.guards import Limits
from remit.loop.prompt import Fragment, joined
from remit.loop.speakers import OF_PROGRAM, Given, prompt_of, require_prices, speakers_of
from remit.loop.voices import Choir, Speaker
from remit.skills import RESERVED_PACK, Skill

if TYPE_CHECKING:
    from remit.deployment.config import Config
    from remit.loop.running import Running
    from remit.loop.showing import Showing
    from remit.pipeline.pipeline import Pipeline
    from remit.pipeline.redact import Redactor
    from remit.state.store import State
    from remit.telemetry.telemetry import Telemetry

_DUTY = (
    "You are the agent {name}: {description}\n"
    "Another agent gives you a task and reads your answer. Nobody can answer a question of yours: do what can be done, "
    "answer with the result, and say plainly what could not be done and why."
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where models and prompts of agents come from.

    Attributes:
        config: of the deployment.
        folder: that references in it are relative to.
        extensions: what they provide.
    """

    config: Config
    folder: Path = Path()
    extensions: Extensions = NO_EXTENSIONS


@dataclass(frozen=True, kw_only=True)
class Means:
    """What an agent shares with those that it delegates to.

    Attributes:
        site: where models and prompts come from.
        state: where sessions and records are kept.
        redactor: what must not be stored.
        telemetry: what is exported.
        showing: what models are shown.
        speakers: the models of the agent that a person asks.
        given: what the program says about them: a model that it only names is asked at the same endpoint.
        limits: of its runs.
        pipeline: makes a pipeline like its own; takes what is to be another way.
        running: session to the run that is going on in it.
        keep_raw: keep the raw request and response of every model turn.
    """

    site: Site
    state: State
    redactor: Redactor
    telemetry: Telemetry
    showing: Showing
    speakers: Sequence[Speaker]
    given: Given
    limits: Limits
    pipeline: Callable[..., Pipeline]
    running: dict[str, Running]
    keep_raw: bool = False


@dataclass(frozen=True, kw_only=True)
class Member:
    """An agent in a chain.

    Attributes:
        chain: who asked whom, its own name first.
        reach: what it may reach.
        skills: full name to skill: what it may call, those of the host included.
        speakers: its models.
        choir: the same, offered these skills.
        limits: of its runs.
        pipeline: that its calls go through.
        prompt: the fragments of its system prompt.
    """

    chain: tuple[str, ...]
    reach: Reach
    skills: Mapping[str, Skill]
    speakers: Sequence[Speaker]
    choir: Choir
    limits: Limits
    pipeline: Pipeline
    prompt: tuple[Fragment, ...]

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.chain[0]


def member_of(
    chain: tuple[str, ...],
    known: Known,
    reach: Reach,
    own: Mapping[str, Skill],
    speakers: Sequence[Speaker],
    means: Means,
) -> Member:
    """Return an agent at its place.

    Args:
        chain: who asked whom, its own name first.
        known: what is said of it.
        reach: what it may reach.
        own: its `remit.delegate`, where it may delegate.
        speakers: its models.
        means: what it shares with the agent that a person asks.
    """
    skills = means.showing.searchable({**called_by(reach.skills, known.config.only_delegates), **own})
    pipeline = means.pipeline(skills=skills, agent=chain[0], agents=chain)
    return Member(
        chain=chain,
        reach=reach,
        skills=pipeline.skills,
        speakers=speakers,
        choir=Choir(speakers, pipeline.skills),
        limits=limits_for(known, means.limits),
        pipeline=pipeline,
        prompt=prompt_for(chain[0], known, means),
    )


def called_by(skills: Mapping[str, Skill], only_delegates: bool) -> dict[str, Skill]:
    """Return what of its reach an agent calls itself: all, or nothing but skills of the host."""
    return {full: skill for full, skill in skills.items() if not only_delegates or skill.pack == RESERVED_PACK}


def speakers_for(name: str, known: Known, above: Sequence[Speaker], means: Means) -> list[Speaker]:
    """Return the models of an agent: its own, or those of the one that asks it; with its own prompt in any case.

    Raises:
        UsageError: a cost limit has no price to count with.
        DeploymentError: an endpoint, a key or a provider cannot be used.
    """
    site, prompt = means.site, prompt_for(name, known, means)
    table = known.config.model
    apart = _apart(known, means)
    given = Given(model=known.model, prompt=known.config.prompt)
    if isinstance(known.model, str) and table is None:
        given = replace(given, base_url=means.given.base_url, api_key=means.given.api_key)
    if not has_own_model(known):
        return [replace(one, speech=replace(one.speech, prompt=joined(prompt))) for one in above]
    speakers = speakers_of(given, prompt, apart, site.folder, site.extensions)
    require_prices(speakers, limits_for(known, means.limits).cost)
    return speakers


def prompt_for(name: str, known: Known, means: Means) -> tuple[Fragment, ...]:
    """Return the fragments of an agent's system prompt, what it has to know of its place last."""
    given = Given(prompt=known.config.prompt)
    found = prompt_of(given, _apart(known, means), means.site.extensions)
    own = [replace(one, source=f"agent {name}") if one.source == OF_PROGRAM else one for one in found]
    return (*own, _duty(name, known))


def _apart(known: Known, means: Means) -> Config:
    """Return the configuration as it is for an agent: with its own model, and no prompt that a person's agent has."""
    config = means.site.config
    agent = config.agent.model_copy(update={"prompt": None})
    return config.model_copy(update={"agent": agent, "model": known.config.model or config.model})


def has_own_model(known: Known) -> bool:
    """Tell whether an agent has another model than who asks it."""
    return known.model is not None or known.config.model is not None


def limits_for(known: Known, standard: Limits) -> Limits:
    """Return the limits of an agent's runs: its own, before those of the agent that a person asks."""
    if known.limits is not None:
        return known.limits
    budget = known.config.budget
    return replace(
        standard,
        steps=budget.max_steps or standard.steps,
        tokens=budget.max_tokens,
        cost=budget.max_cost,
        seconds=budget.max_seconds,
    )


def _duty(name: str, known: Known) -> Fragment:
    text = _DUTY.format(name=name, description=" ".join(known.config.description.split()))
    return Fragment(name="delegation", text=text, source="Remit")
