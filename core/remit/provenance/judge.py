"""Whether a call needs a person's look, by where its values come from.

What may be settled without asking is a call whose targets the user named, that has a target at all, and whose
content brings no identifier that the user did not bring. See DESIGN.md section 7; measured by
`benchmarks/agentdojo.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit.argument_paths import covert
from remit.provenance.dates import dates
from remit.provenance.identifiers import Identifier, Kind, identifier
from remit.provenance.ledger import Ledger
from remit.provenance.level import Level
from remit.provenance.numbers import QUANTITIES
from remit.provenance.outgoing import by_link, labels_of, opaque_in, private_in
from remit.provenance.phrases import words_in
from remit.provenance.records import NAMING, Source
from remit.provenance.values import Value, all_values, certain_together, is_field, pieced, values_of
from remit.provenance.words import LONGEST, number_meant
from remit.skills import Skill

USER = "your own words"
"""Origin of a value that the user named."""

MODEL = "the model"
"""Origin of a value that neither the user nor a result holds."""

_LINKS = frozenset(
    ("url", "urls", "uri", "link", "links", "host", "hosts", "hostname", "server", "domain", "site", "website")
)
"""Words in the name of an argument without a kind that make it a link: `README.md` is no host because it is a file."""

_SHOWN = 80
_KINDS: Mapping[Kind, str] = {"address": "a mail address", "url": "a link", "number": "a number"}


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
    origins += [(one.path, USER if ledger.words.name(one.value) else _other_origin(one, ledger)) for one in content]
    if doubts:
        return Finding(settled=False, reason=doubts[0], origins=tuple(origins))
    return Finding(settled=True, reason=_settled(targets), origins=tuple(origins))


def judge_read(skill: Skill, arguments: Mapping[str, Any], ledger: Ledger, level: Level) -> Finding:
    """Judge a call that only reads, and may carry something out: by a URL, or to a host that it asks.

    Args:
        skill, arguments, ledger, level: as for `judge`.
    """
    everything = values_of(skill, arguments)
    outgoing = [one for one in everything if one.kind == "url"]
    judged = [(one, _origin(one, ledger, level)) for one in outgoing]
    doubts = [_unnamed(one, ledger) for one, origin in judged if origin is None]
    if skill.right.get("net"):
        doubts += _private_parts([one for one in everything if one.kind != "url"], ledger)
    origins = tuple((one.path, origin or _other_origin(one, ledger)) for one, origin in judged)
    reason = doubts[0] if doubts else "nothing leaves that you did not name"
    return Finding(settled=not doubts, reason=reason, origins=origins)


def _split(skill: Skill, arguments: Mapping[str, Any]) -> tuple[list[Value], list[Value]]:
    values = values_of(skill, arguments)
    if not skill.targets:
        return values, []
    return [one for one in values if one.way], [one for one in values if not one.way]


def _origin(target: Value, ledger: Ledger, level: Level) -> str | None:
    """Return how the user named a target, None when not at all."""
    if _said(target, ledger):
        return USER if by_link(target.value, ledger) is None else None
    found = ledger.records.named(target.value, ledger.words, target.field)
    found = found or ledger.records.begun(target.value, ledger.words)
    if found is None or (level == "strict" and found[0].untrusted):
        return None
    source, name = found
    return f"{_of(source)}, where you named it by {name}"


def _said(target: Value, ledger: Ledger) -> bool:
    value, words = target.value, ledger.words
    if isinstance(value, str) and (target.kind == "url" or _is_link(target)):
        return words.name_url(value)
    if not isinstance(value, str):
        return words.name_number(target.text, target.field, which=bool(target.kind))
    number = number_meant(value)
    if number is None or identifier(value) is not None:
        return words.name(value)
    how_much = not target.kind and not value.strip().isdigit() and not QUANTITIES.isdisjoint(words_in(target.field))
    return words.name_number(number, target.field, which=not how_much) or words.name_fraction(value)


def _is_link(target: Value) -> bool:
    """Tell whether a target without a kind is a link by its name, and by a sign that links have: others have words."""
    return not target.kind and not _LINKS.isdisjoint(words_in(target.field)) and not {".", ":"}.isdisjoint(target.text)


def _unnamed(target: Value, ledger: Ledger) -> str:
    carried = by_link(target.value, ledger)
    if isinstance(carried, Source):
        return f"{target.shown} carries something of {_of(carried)} to a host that you named"
    if carried is not None:
        return f"{target.shown} has {carried}"
    return f"you did not name {target.shown}; it comes from {_other_origin(target, ledger)}"


def _other_origin(one: Value, ledger: Ledger) -> str:
    """Return where a value comes from that the user did not name."""
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


def _doubts_of_content(content: Sequence[Value], ledger: Ledger, level: Level) -> list[str]:
    doubts: list[str] = []
    for one in content:
        new = next((found for found in one.found if not _may_be_brought(found, one, ledger)), None)
        if new is not None:
            doubts.append(_brings(one.shown, new, ledger))
        rested = ledger.rests_on(one.text, "untrusted") if level == "strict" else None
        if rested is not None:
            doubts.append(f"{one.shown} repeats text of {_of(rested)}, which strangers may have written")
    made = None if doubts else next(_new_together(content, ledger), None)
    return doubts if made is None else [_brings(_tops(content), made, ledger)]


def _may_be_brought(found: Identifier, one: Value, ledger: Ledger) -> bool:
    """Tell whether the user wrote an identifier or amount, or results brought it that nobody need distrust."""
    sources = ledger.sources_of(found)
    if sources and not any(source.labels for source in sources):
        return True
    return ledger.words.name_identifier(found) or (not isinstance(one.value, str) and ledger.words.name(one.value))


def _new_together(content: Sequence[Value], ledger: Ledger) -> Iterator[Identifier]:
    """Yield what only several values make together, where it proves itself, or a result has it so."""
    for found in certain_together(content):
        if not ledger.words.name_identifier(found):
            yield found
    for found in pieced(content):
        sources = ledger.sources_of(found)
        if any(source.labels for source in sources) and not ledger.words.name_identifier(found):
            yield found


def _brings(where: str, found: Identifier, ledger: Ledger) -> str:
    sources = ledger.sources_of(found)
    origin = _of(sources[0]) if sources else MODEL
    return f"{where} brings {_KINDS[found.kind]} that you did not name; it comes from {origin}"


def _doubts_without_target(skill: Skill, content: Sequence[Value], ledger: Ledger) -> list[str]:
    """A change that lands nowhere in particular is the user's own when they named what it is about."""
    if skill.effect == "external":
        private = _private_parts(content, ledger)
        if private:
            return private
    for one in content:
        days = list(dates(one.value)) if isinstance(one.value, str) else []
        if days and not ledger.words.name_days(days):
            return [f"you did not name the day in {one.shown}"]
    for one in content:
        rested = ledger.rests_on(one.value, "untrusted") if _is_title(one) and isinstance(one.value, str) else None
        if rested is not None:
            return [f"{one.shown} repeats text of {_of(rested)}, which strangers may have written"]
    if not any(ledger.words.name(one.value) for one in content):
        return ["it names no target, and nothing in it is in your words"]
    return []


def _is_title(one: Value) -> bool:
    last = one.place[-1]
    return is_field(last) and str(last).lower() in NAMING


def _private_parts(values: Sequence[Value], ledger: Ledger) -> list[str]:
    found = private_in(values, ledger)
    if found is not None:
        one, source = found
        return [f"{one.shown} carries private data of {_of(source)} to where you did not send it"]
    opaque = opaque_in(values, ledger)
    return [] if opaque is None else [f"{opaque.shown} may carry private data in a form that nobody can read"]


def carried(arguments: Mapping[str, Any], ledger: Ledger) -> frozenset[str]:
    """Return the labels of what a call's arguments repeat of the session's results: text, or an identifier."""
    return labels_of(all_values(arguments), ledger)


def _settled(targets: Sequence[Value]) -> str:
    if not targets:
        return "you named what it is about, and it goes nowhere else"
    return f"you named {', '.join(dict.fromkeys(target.way or _top(target) for target in targets))}"


def _of(source: Source) -> str:
    return f"the result of {source.skill} ({source.call})"


def _tops(values: Sequence[Value]) -> str:
    return ", ".join(dict.fromkeys(covert(one.place[:1]) for one in values))[:_SHOWN]


def _top(one: Value) -> str:
    return covert(one.place[:1])
