"""Rules and defaults as they stand in `remit.toml`."""

from __future__ import annotations

from datetime import date, time
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from remit.policy.grants import SessionGrants
from remit.provenance.level import Level
from remit.values import Effect, Impact, Verdict


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


Operand = Annotated[Any, BeforeValidator(_plain)]
"""A JSON value; dates and times of TOML become their ISO text."""

Bound = Annotated[int | float | str, BeforeValidator(_plain)]
"""A number, or an ISO date, date-time or time."""


def _pattern(name: str) -> str:
    """Return a skill as its full name: packs may be written in another spelling, models write `pack__skill`."""
    folded = name.strip().lower().replace("-", "_")
    return folded if "." in folded else folded.replace("__", ".", 1)


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""One name or a list of names."""

Skills = Annotated[tuple[Annotated[str, AfterValidator(_pattern)], ...], BeforeValidator(_as_tuple)]
"""One skill or a list: full names, `pack.*`, `*`; a spelling that means the same pack counts as it."""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class OperatorConfig(_Closed):
    """What must hold for one argument; all operators that are given must hold.

    Attributes:
        eq: equals this JSON value.
        in_: is one of these JSON values (`in` in the file).
        lt: less than, for numbers and ISO dates.
        gt: greater than, for numbers and ISO dates.
        domain: an e-mail address of one of these domains; `*.acme.example` for any below it.
        host: a URL or host name of one of these hosts, `host`, `host:port` or `*.host`.
        path_under: a path that really lies in one of these folders, links resolved.
        each: holds for every item of a list; for an empty list, too.
        any: holds for at least one item of a list.
        len: holds for the number of items, keys or characters.
    """

    eq: Operand = None
    in_: tuple[Operand, ...] | None = Field(default=None, alias="in", min_length=1)
    lt: Bound | None = None
    gt: Bound | None = None
    domain: Names | None = Field(default=None, min_length=1)
    host: Names | None = Field(default=None, min_length=1)
    path_under: Names | None = Field(default=None, min_length=1)
    each: OperatorConfig | None = None
    any: OperatorConfig | None = None
    len: OperatorConfig | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> OperatorConfig:
        if not self.model_fields_set:
            raise ValueError("write at least one operator, such as { eq = ... } or { in = [...] }")
        return self

    @property
    def given(self) -> tuple[tuple[str, Any], ...]:
        """The operators that were written, as (name in the file, operand), sorted by name."""
        return tuple(sorted((name.rstrip("_"), getattr(self, name)) for name in self.model_fields_set))


class MatchConfig(_Closed):
    """Which calls are meant; everything that is given must hold.

    Attributes:
        skill: full names, `pack.*` for every skill of a pack, `*` for all.
        effect: effects, any of them.
        impact: impact tags, any of them.
        asked_by: who asked: `model`, `person`, `pack`.
        arguments: argument (dots lead into objects) to what must hold for it.
    """

    skill: Skills | None = Field(default=None, min_length=1)
    effect: Annotated[tuple[Effect, ...], BeforeValidator(_as_tuple)] | None = Field(default=None, min_length=1)
    impact: Annotated[tuple[Impact, ...], BeforeValidator(_as_tuple)] | None = Field(default=None, min_length=1)
    asked_by: Annotated[tuple[Literal["model", "person", "pack"], ...], BeforeValidator(_as_tuple)] | None = Field(
        default=None, min_length=1
    )
    arguments: dict[str, OperatorConfig] = Field(default_factory=dict)


class WhenConfig(_Closed):
    """In which scene a rule holds; everything that is given must hold.

    Attributes:
        interactive: a person can be asked.
        unattended: nobody can be asked.
        agent: names of agents.
    """

    interactive: bool | None = None
    unattended: bool | None = None
    agent: Names | None = Field(default=None, min_length=1)


class RuleConfig(_Closed):
    """One `[[rule]]`.

    Attributes:
        id: unique in the deployment, named wherever the rule decides.
        verdict: what the rule says about a call that it matches.
        match: which calls are meant; without it every call.
        unless: exceptions: a call that fits this is not meant.
        when: the scene in which the rule holds.
        reason: one sentence for people and models.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    verdict: Verdict
    match: MatchConfig = Field(default_factory=MatchConfig)
    unless: MatchConfig | None = None
    when: WhenConfig | None = None
    reason: str = Field(default="", max_length=500)


class DefaultsConfig(_Closed):
    """`[defaults]`: what holds where no rule says otherwise.

    Attributes:
        read: verdict for calls that change nothing.
        write: verdict for calls that change something inside the deployment's folders.
        external: verdict for calls that reach the world outside.
        unattended: what happens to a call that needs a person when nobody is there.
        allow_yes: `--yes-to-writes` may answer the default's question for a write.
        allow_rules: allow rules of a lower layer hold.
        enforcement: `kernel` refuses what cannot be confined, `available` runs and says so.
        provenance: how much the origin of a call's values may settle; see `remit.provenance.level.Level`.
        check_egress: a read that carries something out (a URL that the user did not name, private data) is asked
            about; None for whenever `provenance` is not `off`.
        two_person: impacts that two people must sign off, neither of them the one for whom the call is made.
        session_grants: whether a session has all skills, or beside those that read only what was granted to it;
            see `remit.policy.grants.SessionGrants`.
    """

    read: Verdict = "allow"
    write: Verdict = "ask"
    external: Verdict = "ask"
    unattended: Literal["park", "deny"] = "park"
    allow_yes: bool = False
    allow_rules: bool = False
    enforcement: Literal["kernel", "available"] = "kernel"
    provenance: Level = "off"
    check_egress: bool | None = None
    two_person: Annotated[tuple[Impact, ...], BeforeValidator(_as_tuple)] = ()
    max_depth: int = Field(default=3, ge=1, le=10)
    session_grants: SessionGrants = "off"

    @property
    def egress(self) -> bool:
        """Tell whether reads that carry something out are asked about."""
        return self.provenance != "off" if self.check_egress is None else self.check_egress

    def verdict(self, effect: Effect) -> Verdict:
        """Return the default verdict for `effect`."""
        verdicts: dict[Effect, Verdict] = {"read": self.read, "write": self.write, "external": self.external}
        return verdicts[effect]
