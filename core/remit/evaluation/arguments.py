"""What must hold for one argument of an expected call: the operators of policy, and some that only tests need."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from remit.evaluation.answers import require_telling
from remit.evaluation.texts import finds, folded
from remit.policy.config import OperatorConfig
from remit.policy.operators import Condition, Places, prepare
from remit.policy.shapes import Missing, argument_value
from remit.skills import Skill

OWN = ("near", "contains", "equals_text", "pattern")
"""Operators that policy does not have."""


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class Operators(OperatorConfig):
    """What must hold for one argument; all operators that are given must hold.

    Attributes:
        near: a number, or a text that is one, at most `within` away from this one.
        within: see `near`.
        contains: texts that are all in it, upper and lower case alike; an argument that is no text counts as its JSON.
        equals_text: the same text, upper and lower case and runs of spaces alike.
        pattern: a regular expression that is found in it, in linear time.
    """

    near: float | None = Field(default=None, allow_inf_nan=False)
    within: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    contains: Annotated[tuple[str, ...] | None, BeforeValidator(_as_tuple)] = None
    equals_text: str | None = None
    pattern: str | None = Field(default=None, max_length=1_000)

    @model_validator(mode="after")
    def _can_be_asked(self) -> Operators:
        if "within" in self.model_fields_set and self.near is None:
            raise ValueError("within needs near")
        if self.contains is not None:
            require_telling("contains", self.contains)
        if self.pattern is not None:
            require_telling("pattern", self.pattern)
            finds(self.pattern, "")
        self._conditions("/")
        return self

    @property
    def given(self) -> tuple[tuple[str, Any], ...]:
        """The operators of policy that were written."""
        own = (*OWN, "within")
        named = (name for name in self.model_fields_set if name not in own)
        return tuple(sorted((name.rstrip("_"), getattr(self, name)) for name in named))

    def _conditions(self, workspace: str | None) -> tuple[Condition, ...]:
        anchors = {"workspace": workspace} if workspace else {}
        return prepare(self, Places(folder=workspace, anchors=anchors))

    def holds(self, value: Any, base: str | None) -> bool:
        """Tell whether all operators hold; what cannot be told does not."""
        own = (self._near(value), self._contains(value), self._equals(value), self._finds(value))
        return all(own) and all(condition.holds(value, base) is True for condition in self._conditions(base))

    def _near(self, value: Any) -> bool:
        if self.near is None:
            return True
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            return False
        return abs(number - self.near) <= self.within

    def _contains(self, value: Any) -> bool:
        return all(folded(part) in folded(_text(value)) for part in self.contains or ())

    def _equals(self, value: Any) -> bool:
        return self.equals_text is None or folded(_text(value)) == folded(self.equals_text)

    def _finds(self, value: Any) -> bool:
        return self.pattern is None or finds(self.pattern, _text(value))


def _operators(value: Any) -> Any:
    """A value that is no table of operators is what the argument must equal."""
    return value if isinstance(value, (dict, Operators)) else {"eq": value}


ArgumentMatch = Annotated[Operators, BeforeValidator(_operators)]
"""A table of operators; or a value, which the argument must equal."""


def held(wanted: Mapping[str, Operators], skill: Skill | None, arguments: Mapping[str, Any]) -> int:
    """Return how many of the conditions on arguments hold.

    Args:
        wanted: argument to what must hold for it.
        skill: the skill, for defaults of its schema and the folder of relative paths; None where it is not known.
        arguments: as they were given.
    """
    schema = skill.schema if skill is not None else {}
    base = skill.cell.workspace if skill is not None and skill.cell is not None else None
    found = 0
    for path, operators in wanted.items():
        value = argument_value(schema, arguments, path) if skill is not None else arguments.get(path, Missing(False))
        found += not isinstance(value, Missing) and operators.holds(value, base)
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
