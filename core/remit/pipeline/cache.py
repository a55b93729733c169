"""Stage 5: a result that is still good is used again."""

from __future__ import annotations

from typing import Any

from remit.pipeline.attempt import Attempt, Ran
from remit.skills import Skill
from remit_sandbox.canonical import digest
from remit_sandbox.values import CellSpec

_LONGEST = 1024 * 1024


def cached(attempt: Attempt) -> Ran | None:
    """Return the kept result of the same call, with the labels that it had, or None.

    A call that a person approved runs: an approval that nothing used would be left for another call.

    Raises:
        StateError: it cannot be read.
    """
    if attempt.request is not None or not _may_cache(attempt.known):
        return None
    found = attempt.around.state.cache_get(_key(attempt))
    return None if found is None else Ran(text=found.text, labels=found.labels, cached=True)


def keep(attempt: Attempt, ran: Ran) -> None:
    """Keep a fresh result for as long as the skill says, unless something in it must not be stored.

    Raises:
        StateError: it cannot be written.
    """
    skill = attempt.known
    if ran.cached or ran.played or ran.follow_ups or not _may_cache(skill) or len(ran.text) > _LONGEST:
        return
    text = ran.text.decode("utf-8", "replace")
    if attempt.around.redactor.text(text) != text:
        return
    attempt.around.state.cache_put(_key(attempt), ran.text, seconds=skill.cache, labels=ran.labels)


def _may_cache(skill: Skill) -> bool:
    """Only reads that may be repeated, and whose code is known exactly."""
    return skill.cache > 0 and skill.effect == "read" and skill.idempotent and bool(skill.hash)


def _key(attempt: Attempt) -> str:
    skill, around = attempt.known, attempt.around
    return digest(
        {
            "skill": skill.full,
            "hash": skill.hash,
            "arguments": attempt.arguments.value,
            "right": skill.right,
            "principal": around.principal,
            **({} if skill.cell is None else _surroundings(skill.cell)),
        }
    )


def _surroundings(cell: CellSpec) -> dict[str, Any]:
    """What an answer may depend on beside the arguments: the same words may mean other places now.

    Secrets enter as a digest of all of them, so that a key rebound to another account asks anew.
    """
    rights = cell.rights
    return {
        "settings": cell.settings,
        "secrets": digest({"secrets": cell.secrets}) if cell.secrets else "",
        "places": [rights.read, rights.write, rights.net, rights.private_net, rights.exec, cell.workspace, cell.data],
        "env": rights.env,
    }
