"""Is an answer as it must be? Every check that does not hold says so in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from remit.evaluation.texts import LONGEST, finds, folded, numbers, plain

if TYPE_CHECKING:
    from remit.evaluation.case import AnswerCheck, NumberCheck

_FENCE = "```"
_SLACK = 1e-9
"""Share of a number that does not count: 0.1 + 0.2 is within 0 of 0.3."""


def require_usable(check: AnswerCheck) -> None:
    """Raise ValueError for a pattern or schema that cannot be used, and for what says nothing about any answer."""
    for name in ("contains", "contains_any", "not_contains", "one_of"):
        if name in check.model_fields_set:
            require_telling(name, getattr(check, name), parts=name != "one_of")
    if check.pattern is not None:
        require_telling("pattern", check.pattern)
        finds(check.pattern, "")
    if check.json_schema is not None:
        _schema(check.json_schema)


def require_telling(name: str, texts: str | Iterable[str], *, parts: bool = True) -> None:
    """Raise ValueError where texts are too few, or too empty, to say anything.

    Args:
        name: of what they are for.
        texts: one or several.
        parts: each is looked for in another text: one with nothing but space is found in every text.
    """
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed or (parts and not all(map(plain, listed))):
        raise ValueError(f"{name} says nothing: {listed!a} holds for any text, or for none")


def misses(check: AnswerCheck, answer: str) -> Iterator[str]:
    """Yield what of a check does not hold for an answer."""
    answer = answer[:LONGEST]
    form = folded if check.ignore_case else plain
    said = form(answer)
    for text in check.contains:
        if form(text) not in said:
            yield f"the answer lacks {_quoted(text)}"
    if check.contains_any and not any(form(text) in said for text in check.contains_any):
        yield f"the answer has none of {', '.join(map(_quoted, check.contains_any))}"
    for text in check.not_contains:
        if form(text) in said:
            yield f"the answer has {_quoted(text)}"
    if check.equals is not None and said != form(check.equals):
        yield f"the answer is not {_quoted(check.equals)}"
    if check.one_of and said not in map(form, check.one_of):
        yield f"the answer is none of {', '.join(map(_quoted, check.one_of))}"
    if check.pattern is not None and not _found(check.pattern, answer, ignore_case=check.ignore_case):
        yield f"the pattern {check.pattern!r} is not in the answer"
    if check.number is not None:
        yield from _number_misses(check.number, answer)
    if check.json_schema is not None:
        yield from _schema_misses(check.json_schema, answer)


def _found(pattern: str, answer: str, *, ignore_case: bool) -> bool:
    return finds(f"(?i){pattern}" if ignore_case else pattern, answer)


def _number_misses(check: NumberCheck, answer: str) -> Iterator[str]:
    within = abs(check.value) * check.within if check.relative else check.within
    within += abs(check.value) * _SLACK
    if not any(abs(number - check.value) <= within for number in numbers(answer)):
        about = f" (within {check.within:g}{' of itself' if check.relative else ''})" if check.within else ""
        yield f"the number {check.value:.12g}{about} is not in the answer"


def _schema_misses(schema: dict[str, Any], answer: str) -> Iterator[str]:
    validator = _schema(schema)
    values = list(_values(answer))
    if not values:
        yield "the answer holds no JSON"
    elif not any(validator.is_valid(value) for value in values):
        error = next(iter(validator.iter_errors(values[0])))
        where = "/".join(map(str, error.instance_path)) or "the whole"
        yield f"the JSON of the answer does not fit the schema at {where}: {str(error.message)[:200]}"


def _values(answer: str) -> Iterator[Any]:
    """Yield the JSON in an answer: all of it, or the blocks that are fenced."""
    for text in (answer, *_blocks(answer)):
        try:
            yield json.loads(text.strip())
        except (ValueError, RecursionError):
            continue


def _blocks(answer: str) -> Iterator[str]:
    """Yield what is fenced as JSON, or as nothing in particular; a block without an end is none."""
    for block in answer.split(_FENCE)[1:-1:2]:
        name, line, body = block.partition("\n")
        if line and name.strip().lower() in ("", "json"):
            yield body


def _schema(schema: dict[str, Any]) -> Any:
    from remit.errors import SchemaError
    from remit.packs.validator import compile_schema

    try:
        return compile_schema(schema)
    except SchemaError as error:
        raise ValueError(error.message) from error


def _quoted(text: str) -> str:
    return json.dumps(text if len(text) <= 80 else f"{text[:77]}...", ensure_ascii=False)
