"""Reads a suite; every mistake names its line, and the nearest name that is known."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from remit.errors import UsageError
from remit.evaluation.case import Case, Suite
from remit.evaluation.located import Located, Malformed, read_json, read_yaml
from remit.evaluation.located import Path as Where

LARGEST = 8 * 1024 * 1024
"""Bytes of a suite."""

MOST_MISTAKES = 10
"""Mistakes of one suite that are named at once."""


def read_suite(path: str | Path) -> Suite:
    """Read a suite from a file that ends in `.yaml`, `.yml`, `.json` or `.jsonl` (a case a line).

    Raises:
        UsageError: it cannot be read, or something in it is wrong; the message has the lines.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(LARGEST + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"the suite {place} cannot be read: {why}", remedy="remit eval --example") from error
    if len(data) > LARGEST:
        raise UsageError(f"the suite {place} has more than {LARGEST // 1024 // 1024} MiB", remedy="split it")
    return parse_suite(text, place)


def parse_suite(text: str, place: Path) -> Suite:
    """Return the suite that a text is.

    Args:
        text: of the file.
        place: the file; its ending says how the text is written, and its name is that of a suite without one.

    Raises:
        UsageError: as `read_suite`.
    """
    readers = {".yaml": read_yaml, ".yml": read_yaml, ".json": read_json, ".jsonl": _read_lines}
    reader = readers.get(place.suffix.lower())
    if reader is None:
        raise UsageError(f"{place} does not say how it is written", remedy="name it .yaml, .json or .jsonl")
    try:
        found = reader(text)
    except Malformed as error:
        raise UsageError(f"{place}: {error}") from error
    if isinstance(found.value, list):
        found = Located({"cases": found.value}, {("cases", *path): line for path, line in found.lines.items()})
    if not isinstance(found.value, dict) or not found.value.get("cases"):
        raise UsageError(f"{place} holds no case", remedy="remit eval --example shows what a suite looks like")
    try:
        suite = Suite.model_validate(found.value)
    except ValidationError as error:
        raise UsageError("\n".join(_mistakes(error, found, place))) from None
    _require_distinct(suite, found, place)
    return suite if suite.name else suite.model_copy(update={"name": place.stem})


def _read_lines(text: str) -> Located:
    cases: list[Any] = []
    lines: dict[Where, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                value = read_json(line).value
            except Malformed as error:
                raise Malformed(f"line {number}: {error}") from None
            lines[(len(cases),)] = number
            cases.append(value)
    return Located(cases, lines)


def _mistakes(error: ValidationError, found: Located, place: Path) -> Iterator[str]:
    mistakes = error.errors(include_url=False)
    mistakes = [one for one in mistakes if one["type"] != "too_short"] or mistakes
    for mistake in mistakes[:MOST_MISTAKES]:
        path = _path(mistake["loc"], found.value)
        line = found.line(path)
        yield f"{place}{f', line {line}' if line else ''}: {_words(mistake, path, found.value)}"
    if len(mistakes) > MOST_MISTAKES:
        yield f"and {len(mistakes) - MOST_MISTAKES} more"


def _path(loc: tuple[int | str, ...], value: Any) -> Where:
    """Return the part of pydantic's location that leads to a value of the file, and the first step behind it."""
    path: list[int | str] = []
    for step in loc:
        path.append(step)
        if not isinstance(value, (Mapping, list)):
            break
        try:
            value = value[step]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            break
    return tuple(path)


def _words(mistake: Any, path: Where, value: Any) -> str:
    about = _case_of(path, value)
    key = ".".join(map(str, path[2:] if path[:1] == ("cases",) else path))
    if mistake["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(path[-1]), _known(path), n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]}?" if close else f" (known: {', '.join(_known(path))})"
        return f"{about}there is no key {key}{hint}"
    if mistake["type"] == "missing":
        return f"{about}{key} is missing"
    message = mistake["msg"].removeprefix("Value error, ")
    return f"{about}{key}: {message[:1].lower()}{message[1:]}" if key else f"{about}{message}"


def _case_of(path: Where, value: Any) -> str:
    if len(path) < 2 or path[0] != "cases" or not isinstance(path[1], int):
        return ""
    case = value["cases"][path[1]] if isinstance(value.get("cases"), list) and path[1] < len(value["cases"]) else None
    name = case.get("id") if isinstance(case, Mapping) else None
    return f"case {name}: " if isinstance(name, str) else f"case {path[1] + 1}: "


def _known(path: Where) -> list[str]:
    """Return the keys that could stand where a path ends."""
    model: Any = Suite
    for step in path[:-1]:
        if isinstance(step, int) or not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        model = _inner(model, str(step)) or model
    return sorted(_names(model))


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _inner(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    field = next((f for name, f in model.model_fields.items() if key in (name, f.alias)), None)
    waiting: list[Any] = [field.annotation] if field is not None else []
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
        waiting.extend(getattr(kind, "__args__", ()))
    return None


def _require_distinct(suite: Suite, found: Located, place: Path) -> None:
    seen: dict[str, int] = {}
    for number, case in enumerate(suite.cases):
        line = found.line(("cases", number))
        if case.id in seen:
            raise UsageError(
                f"{place}, line {line}: the id {case.id} is that of the case on line {seen[case.id]} already",
                remedy="give every case an id of its own",
            )
        seen[case.id] = line


def chosen(
    suite: Suite, *, filters: tuple[str, ...] = (), tags: tuple[str, ...] = (), place: str = ""
) -> tuple[Case, ...]:
    """Return the cases that are asked for.

    Args:
        suite: all cases.
        filters: parts of ids; a case with any of them counts.
        tags: a case with any of them counts.
        place: the suite's file, for messages.

    Raises:
        UsageError: none is left, or nothing has one of the tags.
    """
    cases = suite.with_defaults()
    known = sorted({tag for case in cases for tag in case.tags})
    for tag in tags:
        if tag not in known:
            close = difflib.get_close_matches(tag, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else f" (there are: {', '.join(known) or 'none'})"
            raise UsageError(f"no case has the tag {tag}{hint}")
    kept = [case for case in cases if not filters or any(one in case.id for one in filters)]
    kept = [case for case in kept if not tags or set(tags) & set(case.tags)]
    if not kept:
        raise UsageError(f"no case of {place or suite.name} fits", remedy=f"remit eval {place or 'SUITE'} --list")
    return tuple(kept)
