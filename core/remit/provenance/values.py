"""The values of a call: each leaf of its arguments, whatever its form, and what several of them make together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, TypeGuard

from remit.argument_paths import Below, Name, Place, Step, covert, declared, listed_names, written
from remit.provenance.check_digits import proven
from remit.provenance.identifiers import LONG_NUMBER, Identifier, identifiers, number_of, plain_number, shape_of
from remit.provenance.records import says_what
from remit.skills import Skill

EDGE = 120
"""Characters at either end of a value that may go on in the one beside it."""

MOST_PARTS = 500
"""Values of one call that are put together in every way; of more, only all of them one after the other."""

_LONGEST_NUMBER = 40
_SHOWN = 80
_APART = "\n\n\n\n"
"""Signs over which no identifier reaches."""

Scalar = str | int | float


@dataclass(frozen=True, kw_only=True)
class Value:
    """One leaf of a call's arguments: text, a number, or a name that the caller chose.

    Attributes:
        place: where it stands.
        value: what stands there.
        kind: of the target that it is or belongs to, empty for none.
        way: of that target, as it was declared.
    """

    place: Place
    value: Scalar
    kind: str = ""
    way: str = ""

    @property
    def path(self) -> str:
        """Where it stands, for people."""
        return written(self.place)

    @property
    def shown(self) -> str:
        """The same in ASCII, on one line, for reasons, which are kept for ever: values and free names stay out."""
        return json.dumps(covert(self.place))[1:-1][:_SHOWN]

    @property
    def field(self) -> str:
        """The name that says what it is: that of its field, or of the one that holds it where that is only an id."""
        names = [step for step in self.place if is_field(step)]
        return next((name for name in reversed(names) if says_what(name)), names[0] if names else "")

    @cached_property
    def text(self) -> str:
        """The value as text; a whole number has no point."""
        if isinstance(self.value, float) and self.value.is_integer():
            return str(int(self.value))
        return str(self.value)

    @cached_property
    def found(self) -> tuple[Identifier, ...]:
        """The identifiers in it."""
        return tuple(identifiers(self.text))


def values_of(skill: Skill, arguments: Mapping[str, Any]) -> list[Value]:
    """Return every value of a call, with the target that it is or belongs to."""
    marks = {one.place: (one.way, one.kind) for one in declared(arguments, skill.targets)}
    listed = listed_names(skill.schema) if any(map(_may_have_names, arguments.values())) else frozenset()
    return list(_values((), arguments, marks, listed))


def all_values(arguments: Mapping[str, Any]) -> list[Value]:
    """Return every value of a call of which only the arguments are known: all names below the first ones are values."""
    return list(_values((), arguments, {}, frozenset()))


def is_field(step: Step) -> TypeGuard[str]:
    """Tell whether a step leads to a field that has this name in every call."""
    return isinstance(step, str) and not isinstance(step, Below)


def together(values: Sequence[Value]) -> tuple[str, ...]:
    """Return the ends of the values of each row one after the other, in a text with spaces between and in one without.

    Empty for a single value: there is nothing that it could go on in.
    """
    joined = [[_ends(one.text) for one in row] for row in _rows(values)]
    return tuple(text for ends in joined for text in (" ".join(ends), "".join(ends)))


def _rows(values: Sequence[Value]) -> list[list[Value]]:
    """Return the values that may go on in each other: all of them, and those of a kind, whatever stands between them.

    Of a kind are those under one name in a list of objects, in one column of a list of lists, the names or the values
    of one object, and texts or numbers alone: `[{"n": 1, "part": "4111"}, {"n": 2, "part": "1111"}]`.
    """
    rows: dict[tuple[int, ...], list[Value]] = {}
    for kind in (_whole, _column, _column_of_free_names, _type):
        alike: dict[object, list[int]] = {}
        for number, one in enumerate(values):
            alike.setdefault(kind(one), []).append(number)
        for numbers in alike.values():
            if len(numbers) > 1:
                rows.setdefault(tuple(numbers), [values[number] for number in numbers])
    return list(rows.values())


def _whole(one: Value) -> object:
    return None


def _type(one: Value) -> object:
    return isinstance(one.value, str)


def _column(one: Value) -> object:
    """Return where a value stands but for the numbers of list items; in a list of lists the last one is a column."""
    *above, last = one.place
    table = any(isinstance(step, int) for step in above)
    steps = [None if isinstance(step, int | Name) else step for step in above]
    return (*steps, Name if isinstance(last, Name) else None if isinstance(last, int) and not table else last)


def _column_of_free_names(one: Value) -> object:
    """Return the same where all free names are one."""
    *above, last = one.place
    steps = [None if isinstance(step, int | Below) else step for step in above]
    return (*steps, type(last) if isinstance(last, Name | Below) else last)


def _joins_addresses(values: Sequence[Value]) -> bool:
    """Tell whether a value ends where the second half of an address is due; one that begins so may be `@ann`."""
    return any(one.text.endswith("@") for one in values)


def pieced(values: Sequence[Value]) -> Iterator[Identifier]:
    """Yield what would be an identifier if some values of a row were one: `["4111", "1111", ...]`.

    Whether it is one only the caller can tell: by whether somebody wrote it so.
    """
    if len(values) < 2:
        return
    alone = {(one.kind, one.value) for value in values for one in value.found}
    for row in _rows(values):
        fused = "".join(_ends(one.text) for one in row)
        for found in (*identifiers(fused), *_windows(row)):
            if (found.kind, found.value) not in alone:
                alone.add((found.kind, found.value))
                yield found


def certain_together(values: Sequence[Value]) -> Iterator[Identifier]:
    """Yield accounts and cards whose parts stand in several values of one list or object, and split addresses."""
    if len(values) < 2:
        return
    alone = {one.value for value in values for one in value.found}
    if _joins_addresses(values):
        yield from (one for one in identifiers(together(values)[1]) if one.kind == "address" and one.value not in alone)
    groups = [",".join(_ends(one.text) for one in group) for _, group in groupby(values, lambda one: one.place[:-1])]
    text = _APART.join(groups)
    for start, end in proven(text, shape_of(text)):
        number = number_of(text[start:end])
        if number.value not in alone:
            yield number


def _ends(text: str) -> str:
    return text if len(text) <= 2 * EDGE else f"{text[:EDGE]}{_APART}{text[-EDGE:]}"


def _windows(values: Sequence[Value]) -> Iterator[Identifier]:
    """Yield what some values in a row make that have a digit, as a number."""
    parts = [plain_number(one.text) if len(one.text) <= _LONGEST_NUMBER else "" for one in values[:MOST_PARTS]]
    for first in range(len(parts)):
        whole = ""
        for part in parts[first:]:
            whole += part
            if not any(map(str.isdigit, part)) or len(whole) > _LONGEST_NUMBER:
                break
            if len(whole) >= LONG_NUMBER and whole != part:
                yield Identifier(kind="number", value=whole, text=whole)


def _may_have_names(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value)
    )


def _values(
    place: Place,
    value: Any,
    marks: Mapping[Place, tuple[str, str]],
    listed: frozenset[str],
    mark: tuple[str, str] = ("", ""),
) -> Iterator[Value]:
    """Yield every value that is text or a number; true, false, null and empty text go nowhere.

    Names that no schema lists are values, too: whoever makes the call chooses them.
    """
    mark = marks.get(place, mark)
    if isinstance(value, Mapping):
        for key, below in value.items():
            free = bool(place) and key not in listed
            if free:
                yield from _values((*place, Name(key)), key, marks, listed, mark)
            yield from _values((*place, Below(key) if free else key), below, marks, listed, mark)
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _values((*place, number), below, marks, listed, mark)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
        yield Value(place=place, value=value, way=mark[0], kind=mark[1])
