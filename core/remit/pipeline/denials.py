"""What a skill wanted and had no right to: recorded as `sandbox.denied`, and said in its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.errors import PolicyError
from remit.packs.permissions import Permission
from remit.pipeline.attempt import Attempt
from remit.values import Result
from remit_sandbox.errors import CellStartError
from remit_sandbox.values import Denied, Reply

if TYPE_CHECKING:
    from remit_sandbox import Cell

EVENT = "sandbox.denied"

_WORDS = {"net": "connect to {}", "exec": "run {}", "shm": "use {}"}


def note_denied(attempt: Attempt, cell: Cell, reply: Reply | None) -> None:
    """Record what the broker refused the cell, and what the cell says it was refused.

    Args:
        attempt: the call that was running.
        cell: its cell.
        reply: its answer, None when there was none.
    """
    seen, dropped = cell.denials.take() if cell.denials is not None else ((), 0)
    for one in (*seen, *(reply.denied if reply is not None else ())):
        attempt.denied.append(one)
        attempt.note(EVENT, _body(attempt, one))
    if dropped:
        attempt.note(EVENT, {"pack": attempt.known.pack, "right": "net", "further": dropped, "seen_by": "broker"})


def note_start(attempt: Attempt, error: CellStartError) -> None:
    """Record that the supervisor refused to start a cell, as for a program that has changed."""
    if error.by == "supervisor":
        attempt.note(EVENT, {"pack": error.pack, "right": "start", "what": error.reason[:500], "seen_by": "supervisor"})


def _body(attempt: Attempt, denied: Denied) -> dict[str, object]:
    body: dict[str, object] = {
        "pack": attempt.known.pack,
        "right": denied.right,
        "what": denied.what,
        "missing": denied.missing,
        "seen_by": denied.seen_by,
    }
    if denied.right == "net":
        host, _, port = denied.what.rpartition(":")
        body |= {"host": host.strip("[]"), "port": int(port) if port.isascii() and port.isdigit() else 0}
    return body


def told(attempt: Attempt, result: Result) -> Result:
    """Return `result` with what was denied and is not named in it yet, and what a person can do about it."""
    if not attempt.denied:
        return result
    lines = [line for denied in attempt.denied if (line := _line(denied)) and denied.what not in result.text]
    text = "\n".join([result.text, *dict.fromkeys(lines)])
    return replace(result, text=text, remedy=result.remedy or remedy(attempt, attempt.denied))


def notes(attempt: Attempt) -> list[str]:
    """Return what was denied in a call that ended well all the same, for its record."""
    return list(dict.fromkeys(map(_line, attempt.denied)))


def _line(denied: Denied) -> str:
    return f"It had no right to {_WORDS[denied.right].format(denied.what)} (missing: {denied.missing})."


def remedy(attempt: Attempt, denied: Iterable[Denied]) -> str:
    """Return what a deployer, or else the pack's author, can write to allow it."""
    pack, lines = attempt.known.pack, []
    for one in denied:
        if _asked_for(attempt, one):
            lines.append(f"if it shall: in [packs.{pack}] give it grant.{one.missing}")
        else:
            lines.append(f"pack {pack} does not ask for it; its author would add under [permissions]: {one.missing}")
    return "\n".join(dict.fromkeys(lines))


def _asked_for(attempt: Attempt, denied: Denied) -> bool:
    """Tell whether the skill's permission covers it, so that only the grant is missing."""
    permission = attempt.known.permission
    if denied.right == "shm":
        return "shm" in permission
    try:
        wanted = Permission.parse({denied.right: [denied.what]})
        return wanted.within(Permission.parse(permission))
    except PolicyError:
        return False
