"""Structured results: which value belongs to which thing.

A skill's code makes the structure of a result, and whoever wrote a text inside it does not. So an id that
stands in one record with a name that the user said is the id of what the user meant, as long as only one
record has that name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from remit.provenance.identifiers import identifier
from remit.provenance.phrases import words_of
from remit.provenance.words import Words, stem_of

MOST_RECORDS = 20_000
"""Records that are kept of one session; what comes later names nothing."""

LONGEST_NAME = 120
"""Characters of a field that can be the name of a record."""

SHORTEST_WORD = 4
"""Letters that a name of one word has at least."""

LONG_ID = 8
"""Characters from which an id is not met again by chance."""

_ANY_ID = frozenset(("id", "ids", "number", "key", "uuid"))

LISTED = "name"
"""The field that the elements of a plain list of names stand for."""

NAMING = frozenset(
    (
        *("name", "title", "subject", "label", "key", "headline", "topic", "username", "user", "file"),
        *("filename", "file_name", "full_name", "display_name", "user_name", "channel_name", "first_name", "last_name"),
    )
)
"""Fields that say what a record is, in lower case; others say something about it (who sent it, its state)."""

OF_SOMEBODY = frozenset(
    ("name", "key", "username", "user", "full_name", "display_name", "user_name", "first_name", "last_name")
)
"""Fields that say whose an address, link or account is. A subject or title is not among them: whoever writes a mail
or an invitation chooses it, and could choose the name of somebody else."""

_DEEPEST = 12
Scalar = str | int | float


@dataclass(frozen=True)
class Source:
    """Which result something came from.

    Attributes:
        skill: full name.
        call: id of the call.
        labels: of the result.
    """

    skill: str
    call: str
    labels: frozenset[str]

    @property
    def untrusted(self) -> bool:
        """Tell whether strangers may have written it."""
        return "untrusted" in self.labels


@dataclass(frozen=True)
class _Record:
    fields: tuple[tuple[str, Scalar], ...]
    source: Source


class Records:
    """The records of every structured result of a session."""

    def __init__(self) -> None:
        self._holding: dict[str, list[_Record]] = defaultdict(list)
        self._named: dict[tuple[str, str], set[frozenset[tuple[str, Scalar]]]] = defaultdict(set)
        self._count = 0

    def add(self, value: Any, source: Source) -> None:
        """Add the records in a result's JSON value."""
        for fields in chain(_records(value, 0), _listings(value)):
            if self._count >= MOST_RECORDS:
                return
            self._count += 1
            record = _Record(fields=tuple(fields), source=source)
            for key, held in fields:
                self._holding[_key(held)].append(record)
                if _can_be_name(key, held):
                    self._named[key, words_of(str(held))].add(frozenset(fields))

    def named(self, value: Scalar, words: Words, argument: str) -> tuple[Source, str] | None:
        """Return where a record holds `value` beside a name that the user said, and that name; None for nowhere.

        Args:
            value: what stands in the call.
            words: of the user.
            argument: its name in the call; the number of an event is no `file_id`.
        """
        leads_away = isinstance(value, str) and identifier(value) is not None
        for record in self._holding.get(_key(value), ()):
            if not _is_of(record, argument, value):
                continue
            for key, name in record.fields:
                if leads_away and key.lower() not in OF_SOMEBODY:
                    continue
                if name != value and self._says(words, key, name):
                    return record.source, f"its {key}"
        return None

    def holder(self, value: Scalar) -> Source | None:
        """Return the first result with a record that holds `value`, None when none does."""
        held = self._holding.get(_key(value))
        return held[0].source if held else None

    def begun(self, value: Scalar, words: Words) -> tuple[Source, str] | None:
        """Return where `value` is the one name of its kind that begins as the user said; None for nowhere.

        A mail address is named by no part of it: whoever owns the domain chooses what stands before it.
        """
        if isinstance(value, str) and "@" in value.lstrip().lstrip("@"):
            return None
        for record in self._holding.get(_key(value), ()):
            for key, name in record.fields:
                if name == value and self._begins(words, key, name):
                    return record.source, "how it begins"
        return None

    def _says(self, words: Words, key: str, name: Scalar) -> bool:
        if not _can_be_name(key, name):
            return False
        text = str(name)
        whole = words.name_words(text) or words.name_words(stem_of(text))
        return (whole and len(self._named[key, words_of(text)]) == 1) or self._begins(words, key, text)

    def _begins(self, words: Words, key: str, name: Scalar) -> bool:
        """Tell whether the user said how `name` begins, at least half of it, and no other name begins so."""
        if not _can_be_name(key, name):
            return False
        own = words_of(stem_of(str(name))).split()
        for length in range(len(own), (len(own) - 1) // 2, -1):
            start = " ".join(own[:length])
            if len(start.replace(" ", "")) >= SHORTEST_WORD and words.name_words(start):
                alike = [said for field, said in self._named if field == key and said.startswith(f" {start} ")]
                return len(alike) == 1 and len(self._named[key, alike[0]]) == 1
        return False


def parsed(text: str) -> Any:
    """Return the JSON value of a result's text, None when it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _can_be_name(key: str, value: Scalar) -> bool:
    if key.lower() not in NAMING or not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        return False
    words = words_of(value).split()
    long_enough = len(words) > 1 or any(len(word) >= SHORTEST_WORD for word in words)
    return long_enough and any(any(map(str.isalpha, word)) for word in words)


def _is_of(record: _Record, argument: str, value: Scalar) -> bool:
    """Tell whether a short id may be of the kind that the argument's name asks for."""
    if len(str(value)) >= LONG_ID:
        return True
    kind = _kind_words(argument)
    around = words_of(record.source.skill) + "".join(words_of(key) for key, _ in record.fields)
    return not kind or any(word in around for word in kind)


def says_what(argument: str) -> bool:
    """Tell whether an argument's name says of what it is the id."""
    return bool(_kind_words(argument))


def _kind_words(argument: str) -> list[str]:
    return [word.removesuffix("s") for word in words_of(argument).split() if word not in _ANY_ID]


def _key(value: Scalar) -> str:
    return value.strip().casefold() if isinstance(value, str) else str(value)


def _records(value: Any, depth: int) -> Iterator[list[tuple[str, Scalar]]]:
    """Yield the fields of every object: its scalars, and those in lists directly below it."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from _records(one, depth + 1)
    elif isinstance(value, Mapping):
        fields = [(str(key), one) for key, below in value.items() for one in _scalars(below)]
        if fields:
            yield fields
        for key, below in value.items():
            yield from _keyed(str(key), below, depth)


def _listings(value: Any) -> Iterator[list[tuple[str, Scalar]]]:
    """A result that is a list of names: each of them is one."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield from ([(LISTED, one)] for one in value)


def _keyed(key: str, below: Any, depth: int) -> Iterator[list[tuple[str, Scalar]]]:
    """What stands under a key is named by it, too: `{"Alice": {"email": ...}}`."""
    if isinstance(below, Mapping):
        named = [("key", key), *((str(name), one) for name, part in below.items() for one in _scalars(part))]
        yield named
    yield from _records(below, depth + 1)


def _scalars(value: Any) -> Iterator[Scalar]:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, str | int | float) and not isinstance(one, bool))
