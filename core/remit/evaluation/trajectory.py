"""The calls that were made against those that were expected.

A call *fits* an expected one when the skill is one of those that are named and every condition on its arguments holds.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit.evaluation.arguments import held
from remit.evaluation.case import ReferenceCall
from remit.skills import Skill


@dataclass(frozen=True, kw_only=True)
class MadeCall:
    """A call that a model asked for.

    Attributes:
        skill: full name, or as written where nothing has that name.
        arguments: as an object; empty where they are no JSON object.
        status: how it ended (`remit.values.Status`).
        reason: why it is not `ok`.
    """

    skill: str
    arguments: Mapping[str, Any]
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """How calls compare with a reference.

    Attributes:
        exact: as many calls as expected, each fitting the one in its place.
        in_order: the expected calls are found in their order, others may stand between.
        any_order: each expected call is fitted by a call of its own.
        chosen: calls of which an expected one with that skill is left: right choices.
        made: calls that were made.
        expected: calls that were expected.
        held: conditions on arguments that hold, over expected calls that have a call of their skill.
        conditions: how many those are.
    """

    exact: bool
    in_order: bool
    any_order: bool
    chosen: int
    made: int
    expected: int
    held: int
    conditions: int


def names(pattern: str, skill: str) -> bool:
    """Tell whether `pattern` (a full name, `pack.*`, `*`) means a skill."""
    return pattern in ("*", skill) or (pattern.endswith(".*") and skill.startswith(pattern[:-1]))


def chooses(wanted: ReferenceCall, call: MadeCall) -> bool:
    """Tell whether a call is of the skill that is wanted."""
    return any(names(pattern, call.skill) for pattern in wanted.skill)


def fits(wanted: ReferenceCall, call: MadeCall, skills: Mapping[str, Skill]) -> bool:
    """Tell whether a call is the one that is wanted, arguments included."""
    if not chooses(wanted, call):
        return False
    return held(wanted.arguments, skills.get(call.skill), call.arguments) == len(wanted.arguments)


def compare(reference: Sequence[ReferenceCall], calls: Sequence[MadeCall], skills: Mapping[str, Skill]) -> Trajectory:
    """Compare the calls of an attempt with its reference.

    Args:
        reference: what is expected.
        calls: what was made, in order.
        skills: full name to skill.
    """
    table = [[fits(wanted, call, skills) for call in calls] for wanted in reference]
    same_skill = [[chooses(wanted, call) for call in calls] for wanted in reference]
    held_, conditions = _arguments(reference, calls, same_skill, skills)
    return Trajectory(
        exact=len(reference) == len(calls) and all(row[number] for number, row in enumerate(table)),
        in_order=_in_order(table),
        any_order=_most_pairs(table) == len(reference),
        chosen=_most_pairs(same_skill),
        made=len(calls),
        expected=len(reference),
        held=held_,
        conditions=conditions,
    )


def _in_order(table: Sequence[Sequence[bool]]) -> bool:
    """Take for each expected call the first that fits behind the one before: if any way works, this one does."""
    start = 0
    for row in table:
        found = next((at for at in range(start, len(row)) if row[at]), None)
        if found is None:
            return False
        start = found + 1
    return True


def _most_pairs(table: Sequence[Sequence[bool]]) -> int:
    """Return how many rows can have a column of their own (augmenting paths, Kuhn 1955)."""
    owner: dict[int, int] = {}
    return sum(_finds_a_column(row, table, owner) for row in range(len(table)))


def _finds_a_column(row: int, table: Sequence[Sequence[bool]], owner: dict[int, int]) -> bool:
    """Give a row a column, where others can move on to another one; `owner` says whose each column is."""
    own = {taken: column for column, taken in owner.items()}
    came: dict[int, int] = {}
    waiting = deque([row])
    while waiting:
        at = waiting.popleft()
        for column, free in enumerate(table[at]):
            if not free or column in came:
                continue
            came[column] = at
            if column in owner:
                waiting.append(owner[column])
                continue
            while True:
                owner[column], at = came[column], came[column]
                if at == row:
                    return True
                column = own[at]
    return False


def _arguments(
    reference: Sequence[ReferenceCall],
    calls: Sequence[MadeCall],
    same_skill: Sequence[Sequence[bool]],
    skills: Mapping[str, Skill],
) -> tuple[int, int]:
    """Return conditions that hold, and all of them, where each expected call meets the call that holds most of its own.

    Pairs with most conditions held come first; at the same number the earlier expected call, then the earlier call.
    """
    pairs: list[tuple[int, int, int]] = []
    for row, wanted in enumerate(reference):
        for column, call in enumerate(calls):
            if same_skill[row][column]:
                pairs.append((held(wanted.arguments, skills.get(call.skill), call.arguments), row, column))
    found, whole, rows, columns = 0, 0, set[int](), set[int]()
    for number, row, column in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            found += number
            whole += len(reference[row].arguments)
    return found, whole


def counted(calls: Sequence[MadeCall]) -> str:
    """Return the calls in words, for people: `calc.evaluate, files.search x2`."""
    found = Counter(call.skill for call in calls)
    return ", ".join(name if number == 1 else f"{name} x{number}" for name, number in found.items()) or "no call"
