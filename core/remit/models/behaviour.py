"""How models behave, as data: a small table that comes with Remit, under whatever a deployment says itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

TABLE = "behaviours.toml"
"""The file beside this one that holds the table."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What a model takes and does; None where nobody said, which leaves a request as it always was.

    Attributes:
        native_calls: it was made for function calling; one that was not is spoken to in a text dialect.
        parallel_calls: it may ask for several calls in one turn; False asks the endpoint for one at a time.
        context_length: tokens that fit into it.
        images: it reads images.
        documents: it reads PDF documents.
        cache_marks: it takes marks for what its endpoint is to keep for the next request.
        temperature, tool_choice, response_format: it takes these fields; what it does not take is not sent.
        strict: offer skills with `strict` schemas where theirs can be.
        reasoning_back: its reasoning has to come back with the message that it belongs to.
        result_names: results must name the skill beside the call's id.
        output_field: what the limit of a reply is called.
    """

    native_calls: bool | None = None
    parallel_calls: bool | None = None
    context_length: int | None = None
    images: bool | None = None
    documents: bool | None = None
    cache_marks: bool | None = None
    temperature: bool | None = None
    tool_choice: bool | None = None
    response_format: bool | None = None
    strict: bool | None = None
    reasoning_back: bool | None = None
    result_names: bool | None = None
    output_field: Literal["max_tokens", "max_completion_tokens"] | None = None

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of chat completions that the model does not take."""
        refused = {name for name in ("temperature", "tool_choice", "response_format") if getattr(self, name) is False}
        return frozenset(refused | ({"max_tokens"} if self.output_field == "max_completion_tokens" else set()))

    def under(self, said: Mapping[str, Any]) -> Behaviour:
        """Return this behaviour with `said` in place of what it names; None in `said` says nothing."""
        return replace(self, **{name: value for name, value in said.items() if value is not None})


PLAIN = Behaviour()
"""What is taken for a model that nothing is known of."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One row of the table.

    Attributes:
        names: patterns of names (`*` and `?`), in lower case.
        behaviour: how models with such a name behave.
        source: where that was read.
        checked: when, `YYYY-MM-DD`.
    """

    names: tuple[str, ...]
    behaviour: Behaviour
    source: str
    checked: str


def family_of(name: str) -> Family | None:
    """Return the row for a model's name, None for one that is not known.

    The name is taken in lower case and without what stands before the last slash (`openai/gpt-5-mini`); if no row has
    it, also without a provider in front (`anthropic:claude-opus-5-5`). Of several rows that fit, the first one counts.
    """
    bare = name.lower().rpartition("/")[2]
    return _row_for(bare) or _row_for(bare.partition(":")[2])


def _row_for(bare: str) -> Family | None:
    return next((row for row in table() if any(fnmatchcase(bare, pattern) for pattern in row.names)), None)


def behaviour_of(name: str, said: Mapping[str, Any] | None = None) -> Behaviour:
    """Return how a model behaves.

    Args:
        name: of the model.
        said: what the deployment says itself, which always counts before the table.
    """
    row = family_of(name)
    return (row.behaviour if row is not None else PLAIN).under(said or {})


@cache
def table() -> tuple[Family, ...]:
    """Return the rows of the table that comes with Remit."""
    import tomllib

    body = tomllib.loads(Path(__file__).with_name(TABLE).read_text(encoding="utf-8"))
    return tuple(_row(row) for row in body["family"])


def _row(row: Mapping[str, Any]) -> Family:
    known = {field.name for field in fields(Behaviour)}
    behaviour = Behaviour(**{name: value for name, value in row.items() if name in known})
    unknown = set(row) - known - {"names", "source", "checked"}
    if unknown:
        raise ValueError(f"{TABLE}: {row['names']} has unknown keys {sorted(unknown)}")
    return Family(names=tuple(row["names"]), behaviour=behaviour, source=row["source"], checked=row["checked"])
