"""The vocabulary of `pack.toml` as pydantic models: closed, strict, typed."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from remit.values import Effect, Impact

NAME = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
"""Names of packs, skills and settings: also fits a model's function name once joined by `__`."""

PackName = Annotated[str, StringConstraints(pattern=NAME, max_length=24)]
SkillName = Annotated[str, StringConstraints(pattern=NAME, max_length=36)]
SettingName = Annotated[str, StringConstraints(pattern=NAME, max_length=64)]
_WORD = "[A-Za-z_][A-Za-z0-9_]*"
HANDLER = rf"^{_WORD}(\.{_WORD})*:{_WORD}$"
"""`package.module:function`."""

LINE = r"^[^\x00-\x1f\x7f]*$"
"""One line of text."""

Handler = Annotated[str, StringConstraints(pattern=HANDLER, max_length=256)]
Argument = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200, pattern=LINE)]
Text = Annotated[str, StringConstraints(max_length=4096)]
Entry = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
Entries = Annotated[list[Entry], Field(max_length=256)]
Setting = bool | int | float | str | list[str]
"""A setting's value; the type of its default is its type."""


def _setting(value: Any) -> Setting:
    fits = isinstance(value, bool)
    fits = fits or (isinstance(value, int) and abs(value) < 2**53)
    fits = fits or (isinstance(value, float) and math.isfinite(value))
    fits = fits or (isinstance(value, str) and len(value) <= 4096)
    if isinstance(value, list) and len(value) <= 256:
        fits = all(isinstance(entry, str) and len(entry) <= 4096 for entry in value)
    if not fits:
        raise ValueError("must be a text, a number, true or false, or a list of texts, and not too large")
    chosen: Setting = value
    return chosen


_SETTING_TYPES = [{"type": kind} for kind in ("boolean", "integer", "number", "string")]
Default = Annotated[
    Any,
    AfterValidator(_setting),
    WithJsonSchema({"anyOf": [*_SETTING_TYPES, {"type": "array", "items": {"type": "string"}}]}),
]
Count = Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0})]
Seconds = Annotated[Any, WithJsonSchema({"type": "number", "minimum": 0})]
Size = Annotated[
    Any,
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+ ?([KMG]iB)?$"}]}
    ),
]
"""Limits are checked by `remit.packs.limits`; these types are for editors."""

Isolation = Literal["auto", "warm", "fresh", "process"]
TargetKind = Literal["account", "address", "id", "name", "path", "url"]
Label = Literal["untrusted", "private"]


class Table(BaseModel):
    """Base of every table: unknown keys and bent types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PackTable(Table):
    """`[pack]`.

    Attributes:
        name: the pack's name; equals the entry point's.
        summary: one line for people.
        requires_remit: version specifier such as `>=0.1`.
    """

    name: PackName
    summary: Line = ""
    requires_remit: Line = ""


class FilesTable(Table):
    """`[permissions.fs]`: path patterns to read and to write."""

    read: Entries = []
    write: Entries = []


class LimitsTable(Table):
    """Limits of a cell: sizes as bytes or `"64MiB"`, cpu in seconds, the others are counts."""

    memory: Size = None
    cpu: Seconds = None
    open_files: Count = None
    file_size: Size = None
    disk: Size = None
    output: Size = None
    result: Size = None
    processes: Count = None

    def given(self) -> dict[str, Any]:
        """Return what is said."""
        return self.model_dump(exclude_none=True)


class PermissionsTable(Table):
    """`[permissions]`: the ceiling of the pack."""

    fs: FilesTable = FilesTable()
    net: Entries = []
    exec: Entries = []
    env: Entries = []
    secrets: Entries = []
    shm: bool = False
    limits: LimitsTable = LimitsTable()


class Example(Table):
    """A few-shot example: a person's `question`, and the `arguments` of the call that it leads to."""

    question: Text
    arguments: dict[str, Any]


class SkillTable(Table):
    """One `[[skill]]`.

    Attributes:
        name: the skill's name within its pack.
        handler: `package.module:function`, inside the pack's own package.
        effect: what it can change, as its author declares.
        impact: what makes it dangerous whatever its effect.
        uses: permission keys that it needs, or `key:value` for a part of one.
        after: the post-hook, in the form of `handler`.
        timeout: seconds, hard.
        reversible: what it does can be undone.
        undo: the skill of this pack that undoes it.
        idempotent: it may be retried.
        cache: seconds that an `ok` result may be used again; needs effect read and idempotent.
        isolation: how cells are shared; see `remit_sandbox.values.Isolation`.
        returns: labels of its results.
        targets: argument, or way into one (`files[].path`), to the kind of place that it names; see
            `remit.argument_paths`.
        show: arguments that a sign-off shows first.
        keep: fields of the result that the model reads.
        secret_arguments: arguments that are never written to a record.
        examples: few-shot examples.
        limits: limits of its cells, at most what the pack asks for.
    """

    name: SkillName
    handler: Handler
    effect: Effect = "external"
    impact: Annotated[list[Impact], Field(max_length=5)] = []
    uses: Entries = []
    after: Handler | None = None
    timeout: Annotated[FiniteFloat, Field(gt=0, le=86_400)] = 30
    reversible: bool = False
    undo: SkillName | None = None
    idempotent: bool = False
    cache: Annotated[FiniteFloat, Field(ge=0, le=31_536_000)] = 0
    isolation: Isolation = "auto"
    returns: Annotated[list[Label], Field(max_length=2)] = []
    targets: dict[Argument, TargetKind] = {}
    show: Annotated[list[Argument], Field(max_length=64)] = []
    keep: Annotated[list[Argument], Field(max_length=64)] = []
    secret_arguments: Annotated[list[Argument], Field(max_length=64)] = []
    examples: Annotated[list[Example], Field(max_length=16)] = []
    limits: LimitsTable = LimitsTable()

    @model_validator(mode="after")
    def _cache_is_safe(self) -> SkillTable:
        if self.cache and not (self.effect == "read" and self.idempotent):
            raise ValueError('cache needs effect = "read" and idempotent = true')
        return self


class Document(Table):
    """A whole `pack.toml`."""

    manifest: Literal[1]
    pack: PackTable
    settings: dict[SettingName, Default] = {}
    permissions: PermissionsTable = PermissionsTable()
    skill: Annotated[list[SkillTable], Field(min_length=1, max_length=256)]

    @model_validator(mode="after")
    def _skills_fit_together(self) -> Document:
        names = [skill.name for skill in self.skill]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two skills have the name {twice[0]}")
        for skill in self.skill:
            if skill.undo is not None and skill.undo not in names:
                raise ValueError(f"skill {skill.name}: undo names {skill.undo}, which is no skill of this pack")
        return self
