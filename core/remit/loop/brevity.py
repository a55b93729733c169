"""How much is said about the skills where a model's context is short."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from remit.loop.shots import MOST_SHOTS

SHARE = 0.6
"""Most of a context that prompt, skills and examples may take before less is said."""

LONGEST_SENTENCE = 200
"""Characters of a description that is cut to its first sentence."""

_SENTENCE = re.compile(r".*?[.!?。](?=\s|$)", re.DOTALL)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to show skills: how many few-shot examples, and whether only the first sentences."""

    shots: int = MOST_SHOTS
    terse: bool = False


FORMS = (Form(), Form(shots=3), Form(shots=3, terse=True), Form(shots=1, terse=True))
"""From the most that is said to the least."""


def longest_that_fits(make: Callable[[Form], T], cost: Callable[[T], int], context: int | None) -> T:
    """Return what `make` makes of the first form whose tokens leave room in `context`, else of the last."""
    made = make(FORMS[0])
    for form in FORMS[1:]:
        if context is None or cost(made) <= context * SHARE:
            return made
        made = make(form)
    return made


def first_sentence(text: str) -> str:
    """Return the first sentence of a description."""
    found = _SENTENCE.match(text)
    return (found[0] if found else text)[:LONGEST_SENTENCE]


def bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a wire schema without descriptions; what they say about limits stays enforced."""
    return {key: _bare(key, value) for key, value in schema.items() if key != "description"}


def _bare(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: bare(inner) for name, inner in value.items()}
    if key in ("anyOf", "oneOf", "allOf"):
        return [bare(branch) for branch in value]
    return bare(value) if key in ("items", "additionalProperties") and isinstance(value, Mapping) else value
