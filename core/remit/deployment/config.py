"""`remit.toml` as values. An unknown key is an error; a secret is a reference, never a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from remit.policy.config import DefaultsConfig, RuleConfig

REFERENCE = re.compile(r"(env|file|keyring):\S.*")
_OF_EXTENSION = re.compile(r"[a-z][a-z0-9_]{1,31}:\S.*")


def is_reference(text: str, *, extensions: bool = False) -> bool:
    """Say whether `text` is a reference to a secret.

    Args:
        text: what is written.
        extensions: some are enabled, which may resolve references of kinds of their own; whether one really
            does turns out when they are loaded.
    """
    return (_OF_EXTENSION if extensions else REFERENCE).fullmatch(text) is not None


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _reference(value: str, info: ValidationInfo) -> str:
    enabled = isinstance(info.context, Mapping) and bool(info.context.get("extensions"))
    if not is_reference(value, extensions=enabled):
        raise ValueError(
            "write where the secret is kept (env:NAME, file:/path or keyring:service/name), never the secret"
        )
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""A list of text."""

Reference = Annotated[str, AfterValidator(_reference)]
"""Where a secret is kept: `env:NAME`, `file:/absolute/path`, `keyring:service/name`, or an extension's kind.

The last counts only when the context of validation has `extensions`, the names of those that are enabled.
"""


class Closed(BaseModel):
    """A table in which an unknown key is an error and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PriceConfig(Closed):
    """`price`: what a million tokens cost, in whatever currency the deployment counts in."""

    input: Annotated[float, Field(strict=False, ge=0)]
    output: Annotated[float, Field(strict=False, ge=0)]


class FallbackConfig(Closed):
    """`[[model.fallback]]`: a model that answers when those before it are down; see `ModelConfig`."""

    name: str = Field(min_length=1)
    provider: str = ""
    base_url: str = ""
    api_key: Reference | None = None
    dialect: str = "native"
    context_length: int | None = Field(default=None, ge=256)
    timeout: Annotated[float, Field(strict=False, gt=0)] = 120.0
    price: PriceConfig | None = None


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
        context_length: tokens that fit into the model; None for unknown.
        max_tokens: most tokens of one reply; None for the endpoint's own limit, in text dialects for
            2048 or half of the context.
        temperature: sampling temperature.
        timeout: seconds that one request may take.
        price: what a million tokens cost; None for unknown.
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
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: Annotated[float, Field(strict=False, ge=0, le=2)] = 0.0
    timeout: Annotated[float, Field(strict=False, gt=0)] = 120.0
    price: PriceConfig | None = None
    fallback: Annotated[tuple[FallbackConfig, ...], BeforeValidator(_as_tuple)] = ()


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


def _shape(value: str) -> str:
    if not 4 <= len(value) <= 64 or not set(value) & set("#@*"):
        raise ValueError("write 4 to 64 characters, # for a digit, @ for a letter, * for either, such as EMP-######")
    return value


RedactKind = Literal["key", "card", "email", "iban", "phone"]
"""What is recognised in a text and not kept; see docs/log.md."""


class LogConfig(Closed):
    """`[log]`: what is kept, what is not, and for how long.

    Attributes:
        keep_raw: keep the raw request and response of every model turn.
        reads: `durable` puts the records of reads, too, on the disk before the skill runs; `normal` leaves that
            to the operating system, and a power cut can take the newest of them.
        key: where the key that signs checkpoints is kept, `file:/PATH` or `keyring:SERVICE/NAME`; None for the
            one in the state folder.
        checkpoint_every: records after which a signed checkpoint is written; 0 for never.
        redact: names of fields whose values are not kept, in arguments and results at any depth;
            `PACK.SKILL.FIELD` for one skill's argument.
        redact_kinds: what is recognised in texts and not kept.
        redact_shapes: texts of a fixed shape that are not kept, such as `EMP-######`.
        keep_days: days after which `remit log prune` removes payloads and transcripts; None for never.
        keep_mb: megabytes of payloads, transcripts and results beyond which it removes the oldest.
    """

    keep_raw: bool = False
    reads: Literal["durable", "normal"] = "normal"
    key: Annotated[str, Field(pattern=r"^(file|keyring):\S.*$")] | None = None
    checkpoint_every: Annotated[int, Field(ge=0)] = 1000
    redact: Texts = ()
    redact_kinds: Annotated[tuple[RedactKind, ...], BeforeValidator(_as_tuple)] = ("key", "card")
    redact_shapes: Annotated[tuple[Annotated[str, AfterValidator(_shape)], ...], BeforeValidator(_as_tuple)] = ()
    keep_days: Annotated[float | None, Field(strict=False, gt=0)] = None
    keep_mb: Annotated[float | None, Field(strict=False, gt=0)] = None


class TelemetryConfig(Closed):
    """`[telemetry]`: what OpenTelemetry is told, where the program has configured it.

    Attributes:
        export: let Remit configure OpenTelemetry itself: `console` (standard error) or `otlp` (the standard
            `OTEL_*` variables say where to); `none` leaves that to the program around it.
        content: export arguments, results, messages and reasons, too; they hold personal data.
        older_metrics: also write the metrics whose names the GenAI conventions had up to 1.41.
    """

    export: Literal["none", "console", "otlp"] = "none"
    content: bool = False
    older_metrics: bool = True


def _web_address(value: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(value)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise ValueError('write an address such as "https://host.example/path" (http only to this machine)')
    return value


class NotifyConfig(Closed):
    """`[notify]`: who is told when a call waits for a person and nobody is there.

    Attributes:
        command: a program and its arguments; gets one JSON object on standard input. It runs with the rights of
            this program, outside of any cell, in the deployment's folder.
        webhook: an address to which the same JSON object is posted.
        arguments: tell the arguments of the call, too; they can hold personal data.
        timeout: seconds that each of the two may take.
    """

    command: Texts = ()
    webhook: Annotated[str, AfterValidator(_web_address)] | None = None
    arguments: bool = False
    timeout: Annotated[float, Field(strict=False, gt=0, le=60)] = 10.0


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
    """

    prompt: str | None = None
    fragments: dict[str, str] = Field(default_factory=dict)
    fallback: str | None = None
    max_steps: int = Field(default=12, ge=1, le=1000)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: Annotated[float | None, Field(strict=False, gt=0)] = None
    max_cost: Annotated[float | None, Field(strict=False, gt=0)] = None


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
    notify: NotifyConfig = Field(default_factory=NotifyConfig)
    telemetry: TelemetryConfig = Field(default_factory=TelemetryConfig)
    rules: Annotated[tuple[RuleConfig, ...], BeforeValidator(_as_tuple)] = Field(default=(), alias="rule")
    trust: Texts = ()
