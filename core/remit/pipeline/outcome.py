"""Results as values: what the model is told about each way a call can end."""

from __future__ import annotations

import time
from dataclasses import replace

from remit.pipeline.attempt import Attempt
from remit.pipeline.redact import Redactor
from remit.values import Result, Status

UNTRUSTED = frozenset({"untrusted"})


def ended(
    attempt: Attempt,
    status: Status,
    text: str,
    *,
    reason: str = "",
    remedy: str = "",
    stop: bool = False,
) -> Result:
    """Return the result of a call that did not end `ok`.

    Args:
        attempt: the call.
        status: how it ended.
        text: what the model reads.
        reason: one sentence for people; the first line of `text` when left out.
        remedy: what a person can do about it.
        stop: a person asked to end the run.
    """
    return Result(
        call=attempt.call.id,
        skill=attempt.name,
        status=status,
        text=shorten(text, attempt.around.cap, attempt.around.redactor) or f"({status})",
        reason=reason or text.split("\n", 1)[0],
        remedy=remedy,
        duration=time.monotonic() - attempt.began,
        decision=attempt.decision,
        labels=attempt.skill.labels if attempt.started and attempt.skill is not None else frozenset(),
        notes=tuple(attempt.notes),
        enforcement=attempt.enforcement,
        traceback=attempt.traceback,
        stop=stop,
    )


def invalid(attempt: Attempt, text: str) -> Result:
    """Return the result of a call that names no skill or whose arguments do not fit."""
    return ended(attempt, "invalid", text, reason=shorten(" ".join(text.split()), 300))


def denied(attempt: Attempt, reason: str, *, again: str, remedy: str = "", by: str = "policy") -> Result:
    """Return the result of a refused call.

    Args:
        attempt: the call.
        reason: why, one sentence without a final point.
        again: whether asking again can help, one sentence.
        remedy: what would allow it, for people.
        by: who refused: `policy`, `a person`.
    """
    return ended(attempt, "denied", f"Denied by {by}: {reason}. {again}", reason=reason, remedy=remedy)


def failed(attempt: Attempt, text: str, *, status: Status = "failed") -> Result:
    """Return the result of a call whose skill failed; says whether it may have had an effect."""
    if attempt.started and attempt.known.effect != "read":
        text += "\nIt may have had its effect before that: look before you call it again."
    return ended(attempt, status, text)


def timed(attempt: Attempt, result: Result) -> Result:
    """Return `result` with the time since the call came in."""
    return replace(result, duration=time.monotonic() - attempt.began)


def with_edit(attempt: Attempt, result: Result) -> Result:
    """Return `result`, with what a person changed in the arguments said before anything else."""
    if not attempt.edited:
        return result
    return replace(result, text=f"{attempt.edited}\n{result.text}")


def shorten(text: str, cap: int, redactor: Redactor | None = None) -> str:
    """Return at most `cap` characters of `text`, marked where it was cut; with a redactor, never inside a key."""
    if len(text) <= cap:
        return text
    mark = f"\n[... {len(text)} characters in all ...]"
    end = max(0, cap - len(mark))
    spans = redactor.spans(text) if redactor is not None else ()
    return text[: min((start for start, stop, _ in spans if start < end < stop), default=end)] + mark
