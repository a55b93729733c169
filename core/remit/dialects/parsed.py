"""What was read from a model's text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Skills = Mapping[str, Mapping[str, Any]]
"""The skills that may be called: name on the wire to the JSON Schema of its arguments.

A `description` at the root of a schema is what the model reads about the skill.
"""


@dataclass(frozen=True, kw_only=True)
class ParsedCall:
    """One call found in a text.

    Attributes:
        name: one of the names in the skills given to the parser.
        arguments: JSON text of an object: the very text that was read unless it had to be mended.
        repaired: something about the call was damaged and had to be mended; see `Parsed.repairs`.
    """

    name: str
    arguments: str
    repaired: bool = False

    @property
    def value(self) -> dict[str, Any]:
        """The arguments, parsed."""
        value: dict[str, Any] = json.loads(self.arguments, strict=False)
        return value


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """A text taken apart.

    Attributes:
        text: what is said to the user, without reasoning, calls and markers.
        reasoning: what the model thought aloud (`<think>`, `Thought:`).
        calls: the calls, in order.
        errors: what looked like a call and is none, each a message for the model: what was read, what
            was expected, how to write it. Calls beside an error are good nevertheless.
        repairs: each repair that was made to read the calls.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ParsedCall, ...] = ()
    errors: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
