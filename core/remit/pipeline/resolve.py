"""Stage 1: which skill is meant."""

from __future__ import annotations

from collections.abc import Iterable

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.pipeline.redact import proposed_arguments, proposed_body
from remit.policy.decide import read_only_step
from remit.skills import Skill
from remit.values import Decision, Result

_FEW = 20


async def resolve(attempt: Attempt) -> Result | None:
    """Find the skill by its full or wire name; record `call.proposed`.

    Returns:
        `invalid` for an unknown name, with the nearest visible one; `denied` for a skill that
        read-only mode hides; None to go on.
    """
    name = attempt.call.skill.strip()
    attempt.skill = _find(name, attempt.around.skills.values())
    attempt.note("call.proposed", proposed_body(attempt), {"arguments": proposed_arguments(attempt)})
    attempt.tell("proposed")
    if attempt.skill is None:
        return outcome.invalid(attempt, _unknown(attempt, name))
    if not attempt.around.visible(attempt.skill):
        return _hidden(attempt)
    return None


def _find(name: str, skills: Iterable[Skill]) -> Skill | None:
    return next((skill for skill in skills if name in (skill.full, skill.wire)), None)


def _hidden(attempt: Attempt) -> Result:
    assert attempt.skill is not None
    step = read_only_step(attempt.skill)
    verdict, source, reason = step
    remedy = "run it without --read-only"
    step = ("deny", "read-only mode", reason)
    attempt.decision = Decision(verdict="deny", reason=reason, source="read-only mode", steps=(step,), remedy=remedy)
    attempt.note("call.decided", {"verdict": verdict, "source": source, "reason": reason})
    attempt.tell("decided")
    return outcome.denied(attempt, reason, again="Asking again will not help.", remedy=remedy)


def _unknown(attempt: Attempt, name: str) -> str:
    import difflib

    visible = [skill for skill in attempt.around.skills.values() if attempt.around.visible(skill)]
    known = sorted(skill.wire if "__" in name else skill.full for skill in visible)
    shown = name[:100].encode("utf-8", "replace").decode()
    close = difflib.get_close_matches(name[:100], known, n=1, cutoff=0.5)
    text = f"There is no skill {shown!r}, so nothing was run."
    if close:
        text += f" Did you mean {close[0]}?"
    if len(known) <= _FEW:
        text += " Skills: " + (", ".join(known) or "none") + "."
    return text
