"""A skill as a deployment sees it: locked, granted, ready to be decided on and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from remit.values import Call, Effect, Impact, Status
from remit_sandbox.values import CellSpec

RESERVED_PACK = "remit"
"""The pack of the skills that live in the host (`remit.read_result`)."""

READ_RESULT = f"{RESERVED_PACK}.read_result"
"""Reads a result that was cut. It is no reason to call anything, and offered only once a result was cut."""

FIND_SKILLS = f"{RESERVED_PACK}.find_skills"
"""Finds skills by words. It is there only where there are too many to offer a model all of them."""

DELEGATE = f"{RESERVED_PACK}.delegate"
ENABLE_SKILLS = f"{RESERVED_PACK}.enable_skills"
"""Gives a task to another agent."""


@dataclass(frozen=True, kw_only=True)
class Returned:
    """What a `Hosted` skill gives: more than a value.

    Attributes:
        value: the result, for `ok`.
        labels: of what it gives, whatever the status.
        status: how the call ended.
        text: what the model reads where it is not `ok`.
        reason: why it is not `ok`, one sentence for people.
        remedy: what a person can do about it.
        stop: a person asked to end the run.
    """

    value: Any = None
    labels: frozenset[str] = frozenset()
    status: Status = "ok"
    text: str = ""
    reason: str = ""
    remedy: str = ""
    stop: bool = False


class Hosted(Protocol):
    """A skill of the host whose result has labels and a status of its own, and which may take days."""

    async def run(self, call: Call, arguments: Mapping[str, Any]) -> Returned:
        """Do what the call asks for, or go on with it where it was begun."""
        ...

    def begun(self, call: Call, arguments: Mapping[str, Any]) -> bool:
        """Tell whether this very call was begun before, and waits: its sign-off was given then."""
        ...


@dataclass(frozen=True, kw_only=True)
class Skill:
    """One enabled skill.

    Attributes:
        pack: the pack's name; `remit` for host skills, `local` for functions of the embedding program.
        name: the skill's name within its pack.
        description: what the model reads.
        schema: JSON Schema of the arguments, accepted by `remit.packs.schema`.
        effect: the effective effect: at least what the rights imply.
        declared_effect: what the manifest says.
        impact: the manifest's impact tags.
        handler: `package.module:function` inside the pack; empty for host skills.
        after: the post-hook in the same form, or None.
        timeout: seconds until the cell is killed.
        cell: the spec of the cell that runs it, rights resolved; None for host skills.
        function: the function of a host skill; None for skills of packs.
        hosted: what runs a host skill that is no function; None for all others.
        permission: what the pack asks for this skill, in the manifest's words, for display.
        grant: what the deployment gives, in the same words.
        right: permission ∩ grant ∩ mode, in the same words.
        idempotent: may be retried.
        cache: seconds that an `ok` result may be reused; 0 for never.
        targets: argument, or way into one (`files[].path`, see `remit.argument_paths`), to kind (`address`, `path`,
            `url`).
        labels: labels of every result; `untrusted` unless the deployer says otherwise.
        keep: fields of the result that the model reads; empty for all.
        secret_arguments: arguments that are never written to a record.
        examples: few-shot examples as argument objects with the question that leads to them.
        hash: of the locked skill: table, description, schema and pack files.
        version: of the pack.
        pack_summary: what the pack says of itself, in a sentence; searched, never shown to a model.
        confined: False for skills that run in the host process.
        withheld: the mode of the deployment takes it away: a model never hears of it, every call is denied.
        asks: why a person is asked before every call of it, whatever rules and defaults say; empty for no such reason.
    """

    pack: str
    name: str
    description: str
    schema: Mapping[str, Any]
    effect: Effect = "external"
    declared_effect: Effect = "external"
    impact: frozenset[Impact] = frozenset()
    handler: str = ""
    after: str | None = None
    timeout: float = 30.0
    cell: CellSpec | None = None
    function: Callable[..., Any] | None = None
    hosted: Hosted | None = None
    permission: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    grant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    right: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    idempotent: bool = False
    cache: float = 0.0
    targets: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset({"untrusted"})
    keep: tuple[str, ...] = ()
    secret_arguments: frozenset[str] = frozenset()
    examples: tuple[Mapping[str, Any], ...] = ()
    hash: str = ""
    version: str = ""
    pack_summary: str = ""
    confined: bool = True
    withheld: bool = False
    asks: str = ""

    @property
    def full(self) -> str:
        """The name that people write: `weather.get_weather`."""
        return f"{self.pack}.{self.name}"

    @property
    def wire(self) -> str:
        """The name that models write: `weather__get_weather`."""
        return f"{self.pack}__{self.name}"
