"""What extensions and the host hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from remit.models.behaviour import PLAIN, Behaviour

if TYPE_CHECKING:
    from remit.memory.fact import Fact
    from remit.models.endpoint import Patience
    from remit.models.protocol import Model
    from remit.state.records import Record
    from remit.values import Status, Verdict
    from remit_sandbox.signoff import SignoffDecision, SignoffRequest


Kind = Literal[
    "model provider",
    "dialect",
    "secret provider",
    "sign-off channel",
    "audit sink",
    "memory store",
    "prompt fragment",
    "observer",
]
"""What an extension gives."""

SCHEMES = ("env", "file", "keyring")
"""Kinds of references to secrets that are Remit's own."""

OWN_PROVIDER = "openai"
"""The model provider that is Remit's own: any OpenAI-compatible endpoint."""

NO_PROVIDERS = ("ft",)
"""What stands before a colon in names of models at OpenAI itself (`ft:gpt-4o:org::id`): never a provider's name."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What an extension is told about the deployment that it was loaded for.

    Attributes:
        extension: the extension's own name.
        settings: its table `[extensions.settings.NAME]`.
        folder: the deployment's folder, absolute.
        principal: for whom the deployment is open.
    """

    extension: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path
    principal: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelWanted:
    """The model that a deployment or program asks a provider for.

    Attributes:
        name: of the model, without the provider's name in front; may be empty.
        base_url: as configured, else None.
        api_key: the key itself, else None.
        timeout: seconds without a byte from the endpoint until an attempt counts as failed.
        total_timeout: seconds for one turn with all its attempts; None for no further limit.
        behaviour: what is known of the model: configured, or by its name.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    total_timeout: float | None = None
    behaviour: Behaviour = PLAIN

    @property
    def patience(self) -> Patience:
        """How long its endpoint is waited for, for a model that is made of `remit.models.endpoint.HttpModel`."""
        from remit.models.endpoint import Patience

        return Patience.of(self.timeout, self.total_timeout)


ModelProvider = Callable[[ModelWanted], "Model"]
"""Makes a model. What it raises is told as a fault of the extension."""

SecretProvider = Callable[[str], str]
"""Gives the secret behind a reference: gets what stands after the colon. What it raises is never shown."""


class SignoffChannel(Protocol):
    """Asks a person. One that the agent's skills cannot reach says so with `apart = True`."""

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Show the request to a person and return the answer, for `request.digest`."""
        ...


class AuditSink(Protocol):
    """Takes records. Not asked to take two batches at once."""

    def write(self, records: Sequence[Record]) -> None:
        """Take records that were written to `state.db`, oldest first. To raise means that they were not taken."""
        ...

    def close(self) -> None:
        """End; nothing more will come."""
        ...


class MemoryStore(Protocol):
    """Keeps the key facts of people. May be called from several threads; what it raises is told, and ends no run."""

    def facts(self, who: str) -> Iterable[Fact]:
        """Return what is kept of one person, and of nobody else."""
        ...

    def put(self, who: str, fact: Fact) -> None:
        """Keep a fact of one person, in place of one of its name."""
        ...

    def forget(self, who: str, name: str) -> None:
        """Remove a fact of one person; one that is not there is no error."""
        ...


@runtime_checkable
class ComparingStore(MemoryStore, Protocol):
    """A store that looks and writes in one step, so that of two sessions at one fact none overwrites the other unseen.

    A fact is the one that was read when its `updated` is the same.
    """

    def replace(self, who: str, fact: Fact, *, before: Fact | None) -> bool:
        """Keep a fact where `before` is still what is there (None: nothing is); False where it is not."""
        ...

    def remove(self, who: str, fact: Fact) -> bool:
        """Remove a fact that is still there as it was read; False where another one of its name is."""
        ...


@dataclass(frozen=True, kw_only=True)
class CallStart:
    """A call that is about to run.

    Attributes:
        session, call: ids of the session and of the call.
        skill: full name.
        arguments: as JSON text, without the values of secret arguments.
        step: number of the model's turn.
        verdict, reason: of the policy; after a sign-off where it asked for one.
    """

    session: str
    call: str
    skill: str
    arguments: str
    step: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallEnd:
    """A call that has its result, whether it ran or not.

    Attributes:
        session, call: ids of the session and of the call.
        skill: full name, or the name as written when there is no such skill.
        status: how it ended.
        text: what the model reads.
        reason: why it is not `ok`, one sentence.
        duration: seconds.
        labels: of the result.
    """

    session: str
    call: str
    skill: str
    status: Status
    text: str
    reason: str
    duration: float
    labels: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class RunState:
    """A run that went from one state into another.

    Attributes:
        session: id of its session.
        step: number of the model's last turn.
        old: the state before; empty at the beginning of a run.
        new: `thinking`, `acting`, `waiting`, `answered`, `stopped`, `parked` or `failed`.
        reason: why, one sentence; empty where the state says all.
    """

    session: str
    step: int
    old: str
    new: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that an extension gives, and where it comes from.

    Attributes:
        kind: what it is.
        name: its name among its kind; for an observer the name of the hook.
        extension: the extension that gave it.
        source: its distribution and version.
        value: the thing itself.
    """

    kind: Kind
    name: str
    extension: str
    source: str
    value: Any = field(repr=False)

    @property
    def origin(self) -> str:
        """The extension with its distribution, for messages."""
        return f"{self.extension} ({self.source})"


@dataclass(frozen=True, kw_only=True)
class ExtensionProblem:
    """Why an extension, or one thing that it gives, is left out, and what to do about it.

    Attributes:
        extension: its name.
        reason: one sentence.
        remedy: what would help.
        details: lines of its own traceback, for its author.
    """

    extension: str
    reason: str
    remedy: str = ""
    details: str = ""

    def __str__(self) -> str:
        return f"extension {self.extension}: {self.reason}" + (f" ({self.remedy})" if self.remedy else "")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """An extension that failed while it was used; the call went on without it.

    Attributes:
        extension: its name.
        doing: what it was asked for: a hook, or `write of audit sink NAME`.
        error: name of the exception, and its text where that cannot hold a secret.
    """

    extension: str
    doing: str
    error: str
