"""Whether a call needs a person's look, by where its values come from.

What may be settled without asking is a call whose targets the user named, that has a target at all, and whose
content brings no identifier that the user did not bring. See DESIGN.md section 7; measured by
`benchmarks/agentdojo.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from remit.provenance.dates import dates
from remit.provenance.identifiers import Identifier, Kind, identifiers
from remit.provenance.ledger import Ledger
from remit.provenance.level import Level
from remit.provenance.records import NAMING, Source
from remit.provenance.words import LONGEST
from remit.skills import Skill

USER = "your own words"
"""Origin of a value that the user named."""

MODEL = "the model"
"""Origin of a value that neither the user nor a result holds."""

_SHOWN = 80
_KINDS: Mapping[Kind, str] = {"address": "a mail address", "url": "a link", "number": "a number"}
Scalar = str | int | float


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What provenance says of one call.

    Attributes:
        settled: nobody need be asked by default.
        reason: one sentence, for people and models.
        origins: argument (`to[0]`) to where its value came from, in words; targets first.
    """

    settled: bool
    reason: str
    origins: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Value:
    path: str
    value: Scalar
    kind: str

    @cached_property
    def found(self) -> tuple[Identifier, ...]:
        """The identifiers in it."""
        return tuple(identifiers(self.value)) if isinstance(self.value, str) else ()


def judge(skill: Skill, arguments: Mapping[str, Any], ledger: Ledger, level: Level) -> Finding:
    """Judge a call that changes something.

    Args:
        skill: what is called; where it declares no targets, every argument is one.
        arguments: typed and validated.
        ledger: of the session, up to this call.
        level: `targets` or `strict`.
    """
    targets, content = _split(skill, arguments)
    judged = [(target, _origin(target, ledger, level)) for target in targets]
    origins = [(target.path, origin or _other_origin(target, ledger)) for target, origin in judged]
    doubts = [_unnamed(target, ledger) for target, origin in judged if origin is None]
    doubts += _doubts_of_content(content, ledger, level)
    if not targets:
        doubts += _doubts_without_target(skill, content, ledger)
    origins += [(one.path, _other_origin(one, ledger)) for one in content]
    if doubts:
        return Finding(settled=False, reason=doubts[0], origins=tuple(origins))
    return Finding(settled=True, reason=_settled(targets), origins=tuple(origins))


def judge_read(skill: Skill, arguments: Mapping[str, Any], ledger: Ledger, level: Level) -> Finding:
    """Judge a call that only reads, and may carry something out: by a URL, or to a host that it asks.

    Args:
        skill, arguments, ledger, level: as for `judge`.
    """
    everything = list(_values("", arguments))
    outgoing = [one for one in _typed(skill, everything) if one.kind == "url"]
    judged = [(one, _origin(one, ledger, level)) for one in outgoing]
    doubts = [_unnamed(one, ledger) for one, origin in judged if origin is None]
    if skill.right.get("net") and not outgoing:
        doubts += _private_parts(everything, ledger)
    origins = tuple((one.path, origin or _other_origin(one, ledger)) for one, origin in judged)
    reason = doubts[0] if doubts else "nothing leaves that you did not name"
    return Finding(settled=not doubts, reason=reason, origins=origins)


def _split(skill: Skill, arguments: Mapping[str, Any]) -> tuple[list[_Value], list[_Value]]:
    values = _typed(skill, list(_values("", arguments)))
    if not skill.targets:
        return values, []
    targets = [one for one in values if _top(one.path) in skill.targets]
    return targets, [one for one in values if _top(one.path) not in skill.targets]


def _typed(skill: Skill, values: list[_Value]) -> list[_Value]:
    return [_Value(path=one.path, value=one.value, kind=skill.targets.get(_top(one.path), "")) for one in values]


def _values(path: str, value: Any) -> Iterator[_Value]:
    """Yield every value that is text or a number; true, false, null and empty text go nowhere."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _values(f"{path}.{key}" if path else str(key), below)
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _values(f"{path}[{number}]", below)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
        yield _Value(path=path, value=value, kind="")


def _top(path: str) -> str:
    return path.split(".", 1)[0].split("[", 1)[0]


def _origin(target: _Value, ledger: Ledger, level: Level) -> str | None:
    """Return how the user named a target, None when not at all."""
    if _said(target, ledger):
        return USER
    found = ledger.records.named(target.value, ledger.words, _top(target.path))
    found = found or ledger.records.begun(target.value, ledger.words)
    if found is None or (level == "strict" and found[0].untrusted):
        return None
    source, name = found
    return f"{_of(source)}, where you named it by {name}"


def _said(target: _Value, ledger: Ledger) -> bool:
    if target.kind == "url" and isinstance(target.value, str):
        return ledger.words.name_url(target.value)
    if target.kind == "id" and not isinstance(target.value, str):
        return ledger.words.name(str(target.value))
    return ledger.words.name(target.value)


def _unnamed(target: _Value, ledger: Ledger) -> str:
    return f"you did not name {_shown(target.path)}; it comes from {_other_origin(target, ledger)}"


def _other_origin(one: _Value, ledger: Ledger) -> str:
    if ledger.words.name(one.value):
        return USER
    sources = [source for found in one.found for source in ledger.sources_of(found)]
    if sources:
        return _of(sources[0])
    if isinstance(one.value, str):
        for label in ("untrusted", "private"):
            rested = ledger.rests_on(one.value[:LONGEST], label)
            if rested is not None:
                return _of(rested)
    held = ledger.records.holder(one.value)
    return MODEL if held is None else _of(held)


def _doubts_of_content(content: list[_Value], ledger: Ledger, level: Level) -> list[str]:
    doubts: list[str] = []
    for one in content:
        for found in one.found:
            sources = ledger.sources_of(found)
            trusted = bool(sources) and not any(source.labels for source in sources)
            if not (trusted or ledger.words.name_identifier(found)):
                origin = _of(sources[0]) if sources else MODEL
                what = _KINDS[found.kind]
                doubts.append(f"{_shown(one.path)} brings {what} that you did not name; it comes from {origin}")
                break
        rested = ledger.rests_on(one.value, "untrusted") if level == "strict" and isinstance(one.value, str) else None
        if rested is not None:
            doubts.append(f"{_shown(one.path)} repeats text of {_of(rested)}, which strangers may have written")
    return doubts


def _doubts_without_target(skill: Skill, content: list[_Value], ledger: Ledger) -> list[str]:
    """A change that lands nowhere in particular is the user's own when they named what it is about."""
    if skill.effect == "external":
        private = _private_parts(content, ledger)
        if private:
            return private
    for one in content:
        days = list(dates(one.value)) if isinstance(one.value, str) else []
        if days and not ledger.words.name_days(days):
            return [f"you did not name the day in {_shown(one.path)}"]
    for one in content:
        rested = ledger.rests_on(one.value, "untrusted") if _is_title(one) and isinstance(one.value, str) else None
        if rested is not None:
            return [f"{_shown(one.path)} repeats text of {_of(rested)}, which strangers may have written"]
    if not any(ledger.words.name(one.value) for one in content):
        return ["it names no target, and nothing in it is in your words"]
    return []


def _is_title(one: _Value) -> bool:
    return one.path.lower() in NAMING


def _private_parts(values: list[_Value], ledger: Ledger) -> list[str]:
    for one in values:
        if not isinstance(one.value, str):
            continue
        rested = ledger.rests_on(one.value, "private")
        sources = [source for found in one.found for source in ledger.sources_of(found) if "private" in source.labels]
        source = rested or next(iter(sources), None)
        if source is not None:
            return [f"{_shown(one.path)} carries private data of {_of(source)} to where you did not send it"]
    return []


def carried(arguments: Mapping[str, Any], ledger: Ledger) -> frozenset[str]:
    """Return the labels of what a call's arguments repeat of the session's results: text, or an identifier."""
    texts = [one for one in _values("", arguments) if isinstance(one.value, str)]
    rested = [ledger.rests_on(str(one.value), label) for one in texts for label in ("untrusted", "private")]
    brought = [source for one in texts for found in one.found for source in ledger.sources_of(found)]
    return frozenset(label for source in (*rested, *brought) if source is not None for label in source.labels)


def _settled(targets: list[_Value]) -> str:
    if not targets:
        return "you named what it is about, and it goes nowhere else"
    return f"you named {', '.join(dict.fromkeys(_top(target.path) for target in targets))}"


def _of(source: Source) -> str:
    return f"the result of {source.skill} ({source.call})"


def _shown(path: str) -> str:
    """Return the place of an argument in ASCII, on one line. Values stay out: a reason is kept for ever."""
    return json.dumps(path)[1:-1][:_SHOWN]
