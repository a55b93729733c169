"""`remit.toml` as values. An unknown key is an error; a secret is a reference, never a value."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from remit.deployment.behaviour import BehaviourConfig
from remit.deployment.closed import Closed, Reference, Texts, as_tuple
from remit.deployment.keeping import CellsConfig, LogConfig, NotifyConfig, TelemetryConfig
from remit.policy.config import DefaultsConfig, RuleConfig

TokenizerFile = Annotated[str, Field(pattern=r"^(file:\S.*)?$")]
"""Where a model's tokenizer is: `file:PATH`, or nothing."""


class PriceConfig(Closed):
    """`price`: what a million tokens cost, in whatever currency the deployment counts in; see `remit.models.price`."""

    input: Annotated[float, Field(strict=False, ge=0)]
    output: Annotated[float, Field(strict=False, ge=0)]
    cache_read: Annotated[float | None, Field(strict=False, ge=0)] = None
    cache_write: Annotated[float | None, Field(strict=False, ge=0)] = None


class BreakerConfig(Closed):
    """`breaker`: after how many failures in a row an endpoint is left alone, and for how many seconds."""

    failures: int = Field(default=3, ge=1)
    seconds: Annotated[float, Field(strict=False, gt=0)] = 60.0


class FallbackConfig(Closed):
    """`[[model.fallback]]`: a model that answers when those before it are down; see `ModelConfig`."""

    name: str = Field(min_length=1)
    provider: str = ""
    base_url: str = ""
    api_key: Reference | None = None
    dialect: str = "native"
    context_length: int | None = Field(default=None, ge=256)
    tokenizer: TokenizerFile = ""
    timeout: Annotated[float, Field(strict=False, gt=0)] = 120.0
    total_timeout: Annotated[float | None, Field(strict=False, gt=0)] = None
    price: PriceConfig | None = None
    behaviour: BehaviourConfig = Field(default_factory=BehaviourConfig)


class ModelConfig(Closed):
    """`[model]`: which language model answers, and how it is spoken to.

    Attributes:
        name: the model's name at the endpoint; `PROVIDER:NAME` for one of an extension's provider.
        provider: an extension's model provider; empty for the endpoint at `base_url`.
        base_url: any OpenAI-compatible endpoint.
        api_key: reference to the key; None for endpoints that need none.
        dialect: `native`, `auto`, or a text protocol such as `tagged` or `react`.
        text_calls: whether a call that a native endpoint left in the text counts: only when it is
            the whole reply, anywhere, never.
        tag: tag of the tagged dialect.
        examples: show few-shot examples to text dialects.
        context_length: tokens that fit into the model; None for what is known of it by its name, if anything.
        tokenizer: `file:PATH` of the model's `tokenizer.json`, relative to the deployment's folder, to count tokens
            with; empty for an estimate that the endpoint's own figures set right.
        max_tokens: most tokens of one reply; None for the endpoint's own limit, in text dialects for
            2048 or half of the context.
        temperature: sampling temperature.
        timeout: seconds without a byte from the endpoint until an attempt counts as failed.
        total_timeout: seconds that one turn may take with all its attempts; None for no further limit.
        price: what a million tokens cost; None for what `prices` says, if anything.
        prices: `file:PATH` of a list of prices by model, as LiteLLM publishes it.
        breaker: when the endpoints of this deployment are left alone.
        behaviour: what the model takes and does.
        fallback: the models that are asked, in order, when this one is down.
    """

    name: str = ""
    provider: str = ""
    base_url: str = ""
    api_key: Reference | None = None
    dialect: str = "native"
    text_calls: Literal["whole", "any", "off"] = "whole"
    tag: str = Field(default="tool_call", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")
    examples: bool = True
    context_length: int | None = Field(default=None, ge=256)
    tokenizer: TokenizerFile = ""
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: Annotated[float, Field(strict=False, ge=0, le=2)] = 0.0
    timeout: Annotated[float, Field(strict=False, gt=0)] = 120.0
    total_timeout: Annotated[float | None, Field(strict=False, gt=0)] = None
    price: PriceConfig | None = None
    prices: Annotated[str | None, Field(pattern=r"^file:\S.*$")] = None
    breaker: BreakerConfig = Field(default_factory=BreakerConfig)
    behaviour: BehaviourConfig = Field(default_factory=BehaviourConfig)
    fallback: Annotated[tuple[FallbackConfig, ...], BeforeValidator(as_tuple)] = ()


class FilesGrant(Closed):
    """`grant.fs`: path patterns, `${workspace}/docs/**` or a single file."""

    read: Texts | None = None
    write: Texts | None = None


class GrantConfig(Closed):
    """`grant`: what the deployment gives. A key that is absent gives what the pack asks for."""

    fs: FilesGrant = Field(default_factory=FilesGrant)
    net: Texts | None = None
    exec: Texts | None = None
    env: Texts | None = None
    secrets: Texts | None = None
    shm: bool | None = None
    limits: dict[str, int | float | str] | None = None

    def given(self) -> dict[str, Any]:
        """Return what was written, with flat keys (`fs.read`, `net`), for `Permission.granted`."""
        entries: dict[str, Any] = {
            "fs.read": self.fs.read,
            "fs.write": self.fs.write,
            "net": self.net,
            "exec": self.exec,
            "env": self.env,
            "secrets": self.secrets,
            "shm": self.shm,
            "limits": self.limits,
        }
        return {key: value for key, value in entries.items() if value is not None}


class PackConfig(Closed):
    """`[packs.NAME]`: one pack in this deployment.

    Attributes:
        enabled: its skills can be called.
        required: without it nothing starts.
        skills: names of the skills that can be called; None for all.
        grant: what it is given.
        settings: values for the settings that its manifest declares.
        secrets: logical name to reference.
        accept_read: skills whose declared effect `read` is accepted although they reach the network.
        shared: one cell may serve several sessions in turn; only for a pack that keeps nothing between calls.
        describe: what a model reads of a skill (`SKILL`) or of one of its arguments (`SKILL.ARGUMENT`), instead of
            what the pack says.
        from_: the distribution to take it from, where two have one name (`from` in the file).
    """

    enabled: bool = False
    required: bool = False
    skills: Texts | None = None
    grant: GrantConfig = Field(default_factory=GrantConfig)
    settings: dict[str, Any] = Field(default_factory=dict)
    secrets: dict[str, Reference] = Field(default_factory=dict)
    accept_read: Texts = ()
    shared: bool = False
    describe: dict[str, Annotated[str, Field(min_length=1, max_length=1024)]] = Field(default_factory=dict)
    from_: str | None = Field(default=None, alias="from")


class ExtensionsConfig(Closed):
    """`[extensions]`: trusted host code that may load.

    Attributes:
        enabled: extensions, in the order in which they load.
        required: without these nothing starts, and their audit sinks take every record or stop the call.
        blocked: extensions that never load, whoever enables them.
        signoff: the sign-off channel of an extension that is asked instead of the terminal.
        settings: extension to its own settings.
        pydantic_plugins: entry points of pydantic that may load.
    """

    enabled: Texts = ()
    required: Texts = ()
    blocked: Texts = ()
    signoff: str = ""
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    pydantic_plugins: Texts = ()


class HostSkillsConfig(Closed):
    """`[host_skills]`: functions of the embedding program that may be called; they are not confined."""

    allow: Texts = ()


class AgentConfig(Closed):
    """`[agent]`: the system prompt, and what one run may use up.

    Attributes:
        prompt: instead of the standard fragments of the system prompt.
        fragments: name of a fragment to what stands in its place; empty text leaves it out.
        fallback: what is answered when the model or the host failed; None for the last that the model said.
        max_steps: model turns.
        max_tokens: of all turns, in and out.
        max_seconds: from the question to the outcome.
        max_cost: of all turns, in the currency of `model.price`.
        agents: names of the `[agents.NAME]` that it may delegate to; None for all of them.
        only_delegates: it calls no skill itself; what it may reach is what those that it asks can be given.
        summaries: fold old history that no longer fits into a summary by the model, which takes a request of its own
            now and then, instead of leaving it out.
        large_results: what the model reads of a result that is too large: `cut` for its beginning and end, `summary`
            for a summary by the model, a request each.
        search_skills_over: skills beyond which the model is offered some of them, and `remit.find_skills` for the
            others.
    """

    prompt: str | None = None
    agents: Texts | None = None
    only_delegates: bool = False
    fragments: dict[str, str] = Field(default_factory=dict)
    fallback: str | None = None
    max_steps: int = Field(default=12, ge=1, le=1000)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: Annotated[float | None, Field(strict=False, gt=0)] = None
    max_cost: Annotated[float | None, Field(strict=False, gt=0)] = None
    summaries: bool = False
    large_results: Literal["cut", "summary"] = "cut"
    search_skills_over: int = Field(default=40, ge=1)


class SlotConfig(Closed):
    """`[memory.slots.NAME]`: a fact that may be remembered.

    Attributes:
        type: what it holds; a date is written as 2026-11-30.
        description: what the model reads about it.
    """

    type: Literal["text", "number", "boolean", "date", "list"] = "text"
    description: str = Field(default="", max_length=200)


def _slot(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


class MemoryConfig(Closed):
    """`[memory]`: what is remembered of a person from one session to the next.

    Attributes:
        facts: key facts are told at the start of a session, and the model may write them.
        store: an extension's memory store that keeps them; empty for `state.db`.
        budget: tokens that they may take at the start of a session.
        most: facts of one person.
        longest: characters of one value.
        slots: the only facts that there are, by name; empty lets the model choose names.
    """

    facts: bool = False
    store: str = ""
    budget: int = Field(default=500, ge=50, le=100_000)
    most: int = Field(default=100, ge=1, le=1_000)
    longest: int = Field(default=500, ge=10, le=10_000)
    slots: dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=48)],
        Annotated[SlotConfig, BeforeValidator(_slot)],
    ] = Field(default_factory=dict)


class BudgetConfig(Closed):
    """`budget`: what one run of an agent may use up; what is left of the run that asked it is a ceiling in any case.

    Attributes:
        max_steps, max_tokens, max_seconds, max_cost: as in `AgentConfig`; None for what is left.
    """

    max_steps: int | None = Field(default=None, ge=1, le=1000)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: Annotated[float | None, Field(strict=False, gt=0)] = None
    max_cost: Annotated[float | None, Field(strict=False, gt=0)] = None


class SubAgentConfig(Closed):
    """`[agents.NAME]`: an agent that others may delegate to. What it may do is never more than they may.

    Attributes:
        description: what it is for; the models of those that may delegate to it read this.
        prompt: instead of the standard fragments of the system prompt.
        skills: names of the skills or packs that it may use; None for all that who asks it may use.
        agents: names of the agents that it may delegate to in its turn.
        only_delegates: as in `AgentConfig`.
        model: which model answers; None for the one of who asks it.
        budget: what one run of it may use up.
        grant: pack to what of it this agent is given, in the form of `[packs.NAME] grant`.
    """

    description: str = Field(min_length=1, max_length=500)
    prompt: str | None = None
    skills: Texts | None = None
    agents: Texts = ()
    only_delegates: bool = False
    model: ModelConfig | None = None
    budget: BudgetConfig = Field(default_factory=BudgetConfig)
    grant: dict[str, GrantConfig] = Field(default_factory=dict)


AgentName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*([_-][a-z0-9]+)*$", max_length=36)]
"""Lower case letters and digits, single `_` or `-` between them."""


class Config(Closed):
    """The whole of one `remit.toml`.

    Attributes:
        policy: version of the file's form.
        workspace: folder that `${workspace}` stands for, relative to the deployment's folder.
        rules: the `[[rule]]` tables in their order.
        trust: digests of deployments that are accepted on this machine; only in the managed file.
    """

    policy: Literal[1] = 1
    workspace: str = "workspace"
    model: ModelConfig = Field(default_factory=ModelConfig)
    agent: AgentConfig = Field(default_factory=AgentConfig)
    agents: dict[AgentName, SubAgentConfig] = Field(default_factory=dict)
    defaults: DefaultsConfig = Field(default_factory=DefaultsConfig)
    packs: dict[str, PackConfig] = Field(default_factory=dict)
    extensions: ExtensionsConfig = Field(default_factory=ExtensionsConfig)
    host_skills: HostSkillsConfig = Field(default_factory=HostSkillsConfig)
    log: LogConfig = Field(default_factory=LogConfig)
    notify: NotifyConfig = Field(default_factory=NotifyConfig)
    telemetry: TelemetryConfig = Field(default_factory=TelemetryConfig)
    cells: CellsConfig = Field(default_factory=CellsConfig)
    memory: MemoryConfig = Field(default_factory=MemoryConfig)
    rules: Annotated[tuple[RuleConfig, ...], BeforeValidator(as_tuple)] = Field(default=(), alias="rule")
    trust: Texts = ()
