"""`remit.toml` as values. An unknown key is an error; a secret is a reference, never a value."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from remit.policy.config import DefaultsConfig, RuleConfig

REFERENCE = re.compile(r"(env|file|keyring):\S.*")


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _reference(value: str) -> str:
    if not REFERENCE.fullmatch(value):
        raise ValueError(
            "write where the secret is kept (env:NAME, file:/path or keyring:service/name), never the secret"
        )
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""A list of text."""

Reference = Annotated[str, AfterValidator(_reference)]
"""Where a secret is kept: `env:NAME`, `file:/absolute/path`, `keyring:service/name`."""


class Closed(BaseModel):
    """A table in which an unknown key is an error and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ModelConfig(Closed):
    """`[model]`: which language model answers, and how it is spoken to.

    Attributes:
        name: the model's name at the endpoint.
        base_url: any OpenAI-compatible endpoint.
        api_key: reference to the key; None for endpoints that need none.
        dialect: `native`, `auto`, or a text protocol such as `tagged` or `react`.
        text_calls: whether a call that a native endpoint left in the text counts: only when it is
            the whole reply, anywhere, never.
        tag: tag of the tagged dialect.
        examples: show few-shot examples to text dialects.
        context_length: tokens that fit into the model; None for unknown.
        max_tokens: most tokens of one reply; None for the endpoint's own limit, in text dialects for
            2048 or half of the context.
        temperature: sampling temperature.
        timeout: seconds that one request may take.
    """

    name: str = ""
    base_url: str = ""
    api_key: Reference | None = None
    dialect: str = "native"
    text_calls: Literal["whole", "any", "off"] = "whole"
    tag: str = Field(default="tool_call", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")
    examples: bool = True
    context_length: int | None = Field(default=None, ge=256)
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: Annotated[float, Field(strict=False, ge=0, le=2)] = 0.0
    timeout: Annotated[float, Field(strict=False, gt=0)] = 120.0


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
        from_: the distribution to take it from, where two have one name (`from` in the file).
    """

    enabled: bool = False
    required: bool = False
    skills: Texts | None = None
    grant: GrantConfig = Field(default_factory=GrantConfig)
    settings: dict[str, Any] = Field(default_factory=dict)
    secrets: dict[str, Reference] = Field(default_factory=dict)
    accept_read: Texts = ()
    from_: str | None = Field(default=None, alias="from")


class ExtensionsConfig(Closed):
    """`[extensions]`: trusted host code that may load."""

    enabled: Texts = ()
    pydantic_plugins: Texts = ()


class HostSkillsConfig(Closed):
    """`[host_skills]`: functions of the embedding program that may be called; they are not confined."""

    allow: Texts = ()


class LogConfig(Closed):
    """`[log]`: keep the raw request and response of every model turn."""

    keep_raw: bool = False


class AgentConfig(Closed):
    """`[agent]`: the system prompt and the most steps of one run."""

    prompt: str | None = None
    max_steps: int = Field(default=12, ge=1, le=1000)


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
    defaults: DefaultsConfig = Field(default_factory=DefaultsConfig)
    packs: dict[str, PackConfig] = Field(default_factory=dict)
    extensions: ExtensionsConfig = Field(default_factory=ExtensionsConfig)
    host_skills: HostSkillsConfig = Field(default_factory=HostSkillsConfig)
    log: LogConfig = Field(default_factory=LogConfig)
    rules: Annotated[tuple[RuleConfig, ...], BeforeValidator(_as_tuple)] = Field(default=(), alias="rule")
    trust: Texts = ()
