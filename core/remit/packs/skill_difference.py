"""Ranks the parts of a `[[skill]]` table that are no right: what is written down, for how long, in which way."""

from __future__ import annotations

import json
from collections.abc import Iterator

from remit.packs.hashes import digest_of
from remit.packs.ranks import Change, change
from remit.packs.tables import SkillTable

_RANKED_ELSEWHERE = {"name", "effect", "impact", "uses", "limits"}
"""Ranked as effect, impact and permission."""

_LONGEST = 120


def compare_tables(name: str, old: SkillTable, new: SkillTable) -> Iterator[Change]:
    """Rank the step from one table of a skill to another, except for its effect, impact and permission.

    Args:
        name: of the skill.
        old: the table as it was.
        new: the table as it is.
    """
    for key in SkillTable.model_fields:
        before, after = getattr(old, key), getattr(new, key)
        if key in _RANKED_ELSEWHERE or before == after:
            continue
        yield from _ranked(name, key, old, new) or [_unranked(name, key, before, after)]


def rest_digest(table: SkillTable) -> str:
    """Return a digest over what `compare_tables` ranks: where it is the same, the rest of a table says what differs."""
    return digest_of(table.model_dump(mode="json", exclude=_RANKED_ELSEWHERE, exclude_defaults=True))


def _ranked(name: str, key: str, old: SkillTable, new: SkillTable) -> list[Change]:
    """Return what can be ranked; nothing for what cannot."""
    if key == "timeout":
        return [change(new.timeout > old.timeout, f"skill {name} may run {new.timeout:g} s, it was {old.timeout:g} s")]
    if key == "secret_arguments":
        shown = sorted(set(old.secret_arguments) - set(new.secret_arguments))
        hidden = sorted(set(new.secret_arguments) - set(old.secret_arguments))
        lines = [change(True, f"skill {name}: its argument {one} would be written to records") for one in shown]
        return lines + [change(False, f"skill {name}: its argument {one} is kept out of records") for one in hidden]
    if key == "returns":
        # Results are untrusted in any case: only `private` says more.
        lost, gained = (
            "private" in set(old.returns) - set(new.returns),
            "private" in set(new.returns) - set(old.returns),
        )
        if lost or gained:
            return [change(lost, f"skill {name}: its results are {'no longer ' if lost else ''}labelled private")]
    return []


def _unranked(name: str, key: str, before: object, after: object) -> Change:
    return Change(rank="unranked", line=f"skill {name}: {key} {_shown(before)} becomes {_shown(after)}")


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
