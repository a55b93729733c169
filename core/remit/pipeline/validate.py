"""Stage 2: the arguments against the locked schema."""

from __future__ import annotations

from remit.packs.arguments import Arguments, Rejected
from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.values import Result

_kept: dict[int, tuple[object, Arguments]] = {}
_MOST = 2_000


async def validate(attempt: Attempt) -> Result | None:
    """Check the arguments; exactly the JSON that comes out goes to policy, digest and cell.

    Returns:
        `invalid` with what does not fit, or None to go on. Damaged JSON that a parser mended is
        taken for skills that only read: a mended write could be an action that nobody meant.
    """
    skill, call = attempt.known, attempt.call
    if call.repaired and skill.effect != "read":
        return outcome.invalid(
            attempt,
            f"The arguments of {skill.full} were no valid JSON and had to be mended. A call that changes"
            " something must be exact, so nothing was run: write it again as valid JSON.",
        )
    checked = arguments_of(skill.schema).check(call.arguments, repaired=call.repaired)
    if isinstance(checked, Rejected):
        return outcome.invalid(attempt, checked.message)
    attempt.checked = checked
    attempt.notes.extend(checked.notes)
    return None


def arguments_of(schema: object) -> Arguments:
    """Return the checker of one skill's schema, made once."""
    kept = _kept.get(id(schema))
    if kept is None or kept[0] is not schema:
        if len(_kept) >= _MOST:
            _kept.clear()
        kept = _kept[id(schema)] = (schema, Arguments(schema))  # type: ignore[arg-type]
    return kept[1]
