"""A suite as its author writes it: cases with questions, checks of answers, and calls that are expected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from remit.evaluation.arguments import ArgumentMatch
from remit.policy.config import Skills

Expected = Literal["answered", "parked", "stopped", "denied"]
"""How a turn has to end: with an answer; with a call that waits for sign-off; by a guard; or, however the run ended,
with a call that policy or a person denied."""

Match = Literal["exact", "in_order", "any_order", "none"]
"""How the calls must fit the reference: the same calls and no others; all of it in its order, others between; all of it
in any order; or only measured."""


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""One text or a list."""


class Closed(BaseModel):
    """A table in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NumberCheck(Closed):
    """A number that the answer must hold.

    Attributes:
        value: the number.
        within: how far off it may be; with `relative`, as a share of the value.
        relative: `within` is a share.
    """

    value: Annotated[float, Field(allow_inf_nan=False)]
    within: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    relative: bool = False


def _number(value: Any) -> Any:
    return {"value": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


class AnswerCheck(Closed):
    """What an answer must be like; everything that is given must hold.

    Attributes:
        contains: texts that are all in it.
        contains_any: texts of which one is in it.
        not_contains: texts of which none is in it.
        equals: the whole answer, without space around it.
        one_of: texts of which one is the whole answer.
        pattern: a regular expression that is found in it, in the syntax of Rust's engine: linear time, without
            look-around and back-references.
        number: a number that is in it.
        json_schema: JSON Schema that the JSON in the answer fits (`schema` in the file).
        ignore_case: compare texts without upper and lower case.
    """

    contains: Texts = ()
    contains_any: Texts = ()
    not_contains: Texts = ()
    equals: str | None = None
    one_of: Texts = ()
    pattern: Annotated[str | None, Field(max_length=1_000)] = None
    number: Annotated[NumberCheck | None, BeforeValidator(_number)] = None
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    ignore_case: bool = True

    @model_validator(mode="after")
    def _can_be_checked(self) -> AnswerCheck:
        from remit.evaluation.answers import require_usable

        require_usable(self)
        return self


def _call(value: Any) -> Any:
    return {"skill": value} if isinstance(value, str) else value


class ReferenceCall(Closed):
    """A call that is expected.

    Attributes:
        skill: full name; `pack.*` for any skill of a pack, where several would do.
        arguments: argument (dots lead into objects) to a value, or to what must hold for it.
    """

    skill: Skills = Field(min_length=1)
    arguments: dict[str, ArgumentMatch] = Field(default_factory=dict)


Reference = Annotated[ReferenceCall, BeforeValidator(_call)]
"""A call, or the name of its skill alone."""


class Turn(Closed):
    """A question that goes on with the conversation.

    Attributes:
        question: what the user says next.
        attached: texts that come with it, as data.
        answer: what the answer must be like.
        status: how the turn must end.
    """

    question: str = Field(min_length=1, max_length=200_000)
    attached: Texts = ()
    answer: AnswerCheck = AnswerCheck()
    status: Expected = "answered"


class Workspace(Closed):
    """Files that a case finds in a workspace of its own.

    Attributes:
        folder: copied into it; relative to the suite.
        files: name to text.
    """

    folder: str = ""
    files: dict[str, str] = Field(default_factory=dict)


class Case(Turn):
    """One case: a conversation in a session of its own.

    Attributes:
        id: unique in the suite.
        then: further turns of the same session.
        trajectory: the calls that are expected over all turns; None where nothing is said about them.
        match: how they must fit.
        required: skills (or `pack.*`) of which each must be called.
        forbidden: calls that must not be made.
        max_steps: most model turns of each turn.
        max_cost: most that the case may cost.
        max_seconds: most seconds of each turn.
        workspace: files in a workspace of its own; None for the deployment's.
        approve: calls that need sign-off and may run when `--approve-listed` is given; never one with an impact.
        tags: for results by kind.
        skip: why the case is not run; empty to run it.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")]
    then: tuple[Turn, ...] = ()
    trajectory: tuple[Reference, ...] | None = None
    match: Match = "in_order"
    required: Skills = ()
    forbidden: Annotated[tuple[Reference, ...], BeforeValidator(_as_tuple)] = ()
    max_steps: Annotated[int | None, Field(ge=1)] = None
    max_cost: Annotated[float | None, Field(ge=0)] = None
    max_seconds: Annotated[float | None, Field(gt=0)] = None
    workspace: Workspace | None = None
    approve: Annotated[tuple[Reference, ...], BeforeValidator(_as_tuple)] = ()
    tags: Texts = ()
    skip: str = ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn, the first one included."""
        return (self, *self.then)

    @property
    def named_skills(self) -> frozenset[str]:
        """Names and patterns of the skills that this case is about; what it forbids need not be there."""
        called = (*(self.trajectory or ()), *self.approve)
        return frozenset({name for call in called for name in call.skill} | set(self.required))


class Defaults(Closed):
    """What holds for every case that does not say otherwise; see `Case`."""

    match: Match = "in_order"
    forbidden: Annotated[tuple[Reference, ...], BeforeValidator(_as_tuple)] = ()
    max_steps: Annotated[int | None, Field(ge=1)] = None
    max_cost: Annotated[float | None, Field(ge=0)] = None
    max_seconds: Annotated[float | None, Field(gt=0)] = None
    workspace: Workspace | None = None
    tags: Texts = ()


class Suite(Closed):
    """A suite.

    Attributes:
        suite: version of the form.
        name: shown in reports; the file's name where it is empty.
        defaults: what holds for every case; its tags and forbidden calls are added to a case's own.
        cases: in their order.
    """

    suite: Literal[1] = 1
    name: str = ""
    defaults: Defaults = Defaults()
    cases: Annotated[tuple[Case, ...], Field(min_length=1)]

    def with_defaults(self) -> tuple[Case, ...]:
        """Return the cases as they are run."""
        return tuple(self._completed(case) for case in self.cases)

    def _completed(self, case: Case) -> Case:
        own = self.defaults
        changes: dict[str, Any] = {
            name: getattr(own, name)
            for name in ("match", "max_steps", "max_cost", "max_seconds", "workspace")
            if name not in case.model_fields_set and name in own.model_fields_set
        }
        changes["forbidden"] = (*own.forbidden, *case.forbidden)
        changes["tags"] = tuple(dict.fromkeys((*own.tags, *case.tags)))
        return case.model_copy(update=changes)
