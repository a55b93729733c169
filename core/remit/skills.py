"""A skill as a deployment sees it: locked, granted, ready to be decided on and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.values import Effect, Impact
from remit_sandbox.values import CellSpec

RESERVED_PACK = "remit"
"""The pack of the skills that live in the host (`remit.read_result`)."""

READ_RESULT = f"{RESERVED_PACK}.read_result"
"""Reads a result that was cut. It is no reason to call anything, and offered only once a result was cut."""


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
        permission: what the pack asks for this skill, in the manifest's words, for display.
        grant: what the deployment gives, in the same words.
        right: permission ∩ grant ∩ mode, in the same words.
        idempotent: may be retried.
        cache: seconds that an `ok` result may be reused; 0 for never.
        targets: argument to kind (`address`, `path`, `url`).
        labels: labels of every result; `untrusted` unless the deployer says otherwise.
        keep: fields of the result that the model reads; empty for all.
        secret_arguments: arguments that are never written to a record.
        examples: few-shot examples as argument objects with the question that leads to them.
        hash: of the locked skill: table, description, schema and pack files.
        version: of the pack.
        confined: False for skills that run in the host process.
        withheld: the mode of the deployment takes it away: a model never hears of it, every call is denied.
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
    confined: bool = True
    withheld: bool = False

    @property
    def full(self) -> str:
        """The name that people write: `weather.get_weather`."""
        return f"{self.pack}.{self.name}"

    @property
    def wire(self) -> str:
        """The name that models write: `weather__get_weather`."""
        return f"{self.pack}__{self.name}"
