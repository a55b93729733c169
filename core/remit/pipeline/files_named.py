"""Which files a call may be about: those that its targets name, and what else in its arguments is the name of one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from remit.policy.places import real_path
from remit.policy.targets import as_it_stands, base_of, path_targets
from remit.skills import Skill

MOST_TEXTS = 500
"""Texts of one call that are looked at; a call with more may be about any file."""

_LONGEST = 4096


@dataclass(frozen=True, kw_only=True)
class Named:
    """The files that a call names.

    Attributes:
        targets: real paths that its targets name.
        others: real paths of files that are there now, and that other texts in its arguments name.
        is_all: every target names exactly one file, so that no other one is meant by a target.
    """

    targets: frozenset[str]
    others: frozenset[str]
    is_all: bool

    @property
    def everything(self) -> frozenset[str]:
        """All of them."""
        return self.targets | self.others


def named_by(skill: Skill, arguments: Mapping[str, Any]) -> Named:
    """Return the files that a call names; what its manifest leaves out may name some, too."""
    base = base_of(skill)
    values = [value for _, value in path_targets(skill, arguments)]
    clear = {value: real_path(value, base=base) for value in values if isinstance(value, str)}
    stands = {as_it_stands(value, base=base) for value, place in clear.items() if place is None}
    texts = list(islice(_texts(list(arguments.values())), MOST_TEXTS + 1))
    targets = frozenset(place for place in {*clear.values(), *stands} if place is not None)
    others = _there(set(texts) - clear.keys(), base) if _reaches_files(skill) else frozenset()
    all_told = None not in clear.values() and all(isinstance(value, str) for value in values)
    return Named(targets=targets, others=others - targets, is_all=all_told and len(texts) <= MOST_TEXTS)


def _reaches_files(skill: Skill) -> bool:
    if skill.cell is None:
        return skill.function is not None
    return bool(skill.cell.rights.read or skill.cell.rights.write)


def _there(texts: Iterable[str], base: str | None) -> frozenset[str]:
    """Return what is there under these texts, taken as paths."""
    found = set[str]()
    for text in texts:
        if 0 < len(text) < _LONGEST and "\0" not in text and (base is not None or text.startswith("/")):
            place = os.path.join(base or "/", text)
            real = real_path(place, base=None) if _exists(place) else None
            if real is not None:
                found.add(real)
    return frozenset(found)


def _exists(place: str) -> bool:
    try:
        return os.path.lexists(place)
    except ValueError:  # half a character
        return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, below in value.items():
            yield str(name)
            yield from _texts(below)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _texts(below)
