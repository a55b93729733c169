"""The notes of the pack `memory`, reached as anybody reaches them: by calls of its skills through the pipeline."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from remit.errors import RunError, UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit_sandbox.signoff import SignoffDecision, SignoffRequest

PACK = "memory"
PAGE = 500
MOST_AT_ONCE = 1_000
MOST_NOTES = 1_000_000
"""Notes that are read, whatever the pack says of how many there are."""

_DAY = 86_400.0


class Notes:
    """The notes of one person. What comes from the pack is checked: a pack may answer anything."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def newest(self, most: int, *, skip: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return the newest notes and how many there are. Raises RunError when the pack does not answer."""
        value = self._call("list", most=min(most, MOST_AT_ONCE), skip=skip)
        rows, count = value.get("memories"), value.get("count")
        if not isinstance(rows, list) or not isinstance(count, int) or not all(map(_is_note, rows)):
            raise RunError("the pack memory answered something that is no list of notes")
        return [{name: row[name] for name in ("id", "text", "day", "session") if name in row} for row in rows], count

    def all(self) -> tuple[dict[str, Any], ...]:
        """Return every note, newest first, as it was when this was asked first."""
        return tuple(self._by_number.values())

    def one(self, number: int) -> dict[str, Any]:
        """Return a note. Raises UsageError when there is none of this number."""
        if number not in self._by_number:
            raise UsageError(f"there is no note {number}", remedy="remit memory list")
        return self._by_number[number]

    def older(self, before: float | None) -> list[int]:
        """Return the numbers of the notes that were written before the day of a time; None for all."""
        day = None if before is None else time.strftime("%Y-%m-%d", time.gmtime(before))
        return [row["id"] for row in self.all() if day is None or row["day"] < day]

    def forget(self, ids: Sequence[int]) -> list[int]:
        """Remove notes, and return the numbers of those that were there."""
        gone: list[int] = []
        for start in range(0, len(ids), MOST_AT_ONCE):
            value = self._call("forget", ids=list(ids[start : start + MOST_AT_ONCE]))
            told = value.get("forgotten")
            gone += [one for one in told if isinstance(one, int)] if isinstance(told, list) else []
        return gone

    @cached_property
    def _by_number(self) -> dict[int, dict[str, Any]]:
        known: dict[int, dict[str, Any]] = {}
        while True:
            rows, count = self.newest(PAGE, skip=len(known))
            before = len(known)
            known |= {row["id"]: row for row in rows}
            if len(known) == before or len(known) >= min(count, MOST_NOTES):
                return known

    def _call(self, skill: str, **arguments: Any) -> dict[str, Any]:
        from remit.cli.call import make

        result = make(self._deployment, f"{PACK}.{skill}", json.dumps(arguments), approver=_Agreed())
        if result.status != "ok":
            raise RunError(f"{PACK}.{skill} ended {result.status}: {result.reason}", remedy=result.remedy)
        return result.value if isinstance(result.value, dict) else {}


def notes_of(deployment: Deployment) -> Notes | None:
    """Return the notes of the person for whom a deployment is open, None where no such pack is enabled."""
    needed = (f"{PACK}.list", f"{PACK}.forget")
    return Notes(deployment) if all(name in deployment.skills for name in needed) else None


class _Agreed:
    """The person who typed the command, and agreed to what it showed."""

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Answer yes, once."""
        from remit.pipeline.terminal import person
        from remit_sandbox.signoff import SignoffDecision

        return SignoffDecision(answer="once", digest=request.digest, by=person(), channel="remit memory")


def _is_note(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("id"), int):
        return False
    return isinstance(row.get("text"), str) and isinstance(row.get("day"), str)
