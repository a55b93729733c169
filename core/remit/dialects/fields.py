"""Arguments written field by field, in XML or something like it: where a value ends, and what it is.

A value is raw text, so it may hold the very marks that end it. A mark ends it only where the grammar goes on
behind it: at the next field or the end of the call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remit.dialects.kinds import kinds_of, property_schema
from remit.dialects.parsed import ParsedCall, Skills
from remit.dialects.scan import ScanError, scan, skip_space
from remit.dialects.shapes import Found

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,399})(?:\.[0-9]{1,399})?(?:[eE][-+]?[0-9]{1,3})?")
_CONSTANTS = {"true": "boolean", "false": "boolean", "null": "null", "none": "null"}


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """How fields are written.

    Attributes:
        opening: begins a field; groups `key` and, where the text itself says it, `text` or `data`.
        closing: ends a value, seen to be followed by the next field or the end of the call.
        end: ends the call.
        stop: where a value ends, whichever comes first: group `close`, the same as `closing`; group `next`,
            the next field although this one was not ended; group `outer`, the end of the call likewise.
        wrapper: what the call is wrapped in begins so: a value that holds it quotes a call, end mark and all.
        block: a newline right after the opening and one right before the closing are no part of a value.
    """

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    end: re.Pattern[str]
    stop: re.Pattern[str]
    wrapper: str = ""
    block: bool = False


def grammar(
    *,
    opening: str,
    closing: str,
    end: str,
    following: str = "",
    outer: str = "",
    wrapper: str = "",
    block: bool = False,
) -> Grammar:
    """Compile a grammar from patterns; see `Grammar`."""
    ways = [f"(?P<close>{closing})", f"(?P<next>{following or '(?!)'})", f"(?P<outer>{outer or '(?!)'})"]
    return Grammar(
        opening=re.compile(opening),
        closing=re.compile(closing),
        end=re.compile(end),
        stop=re.compile("|".join(ways)),
        wrapper=wrapper,
        block=block,
    )


def read_fields(
    text: str, at: int, name: str, skills: Skills, grammar: Grammar, repairs: list[str]
) -> tuple[Found, int]:
    """Read fields from `at` to the end of the call; return the call, and where it ends.

    Raises:
        ScanError: the fields cannot be read, or are cut off.
    """
    members: dict[str, str] = {}
    at = skip_space(text, at)
    while (end := grammar.end.match(text, at)) is None:
        opening = grammar.opening.match(text, at)
        if opening is None:
            raise ScanError("expected an argument or the end of the call", at, cut=grammar.end.search(text, at) is None)
        key = unescaped(opening["key"].strip())
        if key in members:
            raise ScanError(f"the argument {json.dumps(key)} stands twice in one call", opening.end())
        raw, at = _value(text, opening.end(), grammar, repairs)
        members[key] = _typed(raw, opening.groupdict(), key, skills[name], repairs)
        at = skip_space(text, at)
    written = ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in members.items())
    return Found(call=ParsedCall(name=name, arguments=f"{{{written}}}", repaired=bool(repairs))), end.end()


def unescaped(text: str) -> str:
    """Return an attribute without the escapes of XML."""
    for escape, character in (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&")):
        text = text.replace(escape, character)
    return text


def _value(text: str, start: int, grammar: Grammar, repairs: list[str]) -> tuple[str, int]:
    stop = grammar.stop.search(text, start)
    if stop is None:
        raise ScanError("a value does not end", len(text), cut=True)
    if stop["close"] is None:
        closing = grammar.closing.search(text, stop.start()) if stop["outer"] is not None else None
        if closing:
            raise ScanError("it is not clear where a value ends", closing.end())
        repairs.append("missing end mark of an argument supplied")
    raw = text[start : stop.start()]
    if stop["outer"] is not None and grammar.wrapper and grammar.wrapper in raw:
        raise ScanError("it is not clear where a value ends", stop.start())
    if grammar.block and raw.startswith("\n"):
        raw = raw[1:].removesuffix("\n")
    return raw, stop.end()


def _typed(raw: str, says: Mapping[str, Any], key: str, schema: Mapping[str, Any], repairs: list[str]) -> str:
    """Return a raw value as JSON: as the text itself says what it is, else as the schema has it."""
    if says.get("text"):
        return json.dumps(raw, ensure_ascii=False)
    kinds = frozenset[str]() if says.get("data") else kinds_of(property_schema(schema, key), schema)
    if kinds == {"string"}:
        return json.dumps(raw, ensure_ascii=False)
    return data(raw.strip(), kinds, repairs) or json.dumps(raw, ensure_ascii=False)


def data(raw: str, kinds: frozenset[str], repairs: list[str]) -> str | None:
    """Return `raw` as JSON of one of `kinds` (none: of any), or None."""
    constant = _CONSTANTS.get(raw.lower())
    if constant and (constant in kinds or not kinds) and raw in (raw.lower(), raw.capitalize()):
        return "null" if constant == "null" else raw.lower()
    if _NUMBER.fullmatch(raw) and (not kinds or kinds & {"integer", "number"}):
        return raw if json.loads(raw) not in (float("inf"), float("-inf")) else None
    if raw.startswith(("{", "[")) and (not kinds or ("object" if raw[0] == "{" else "array") in kinds):
        return _structure(raw, repairs)
    if raw.startswith('"') and not kinds:
        return _structure(raw, repairs)
    return None


def _structure(raw: str, repairs: list[str]) -> str | None:
    try:
        read = scan(raw, 0)
    except ScanError:
        return None
    if skip_space(raw, read.end) < len(raw):
        return None
    repairs += read.repairs
    return json.dumps(read.value, ensure_ascii=False) if read.repairs else raw
