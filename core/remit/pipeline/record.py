"""Stage 9: the result goes into the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.pipeline.doubts import settle_retried
from remit.pipeline.redact import HIDDEN
from remit.values import Result

_SHORTEST = 4


async def record(attempt: Attempt, result: Result) -> Result:
    """Write `call.finished` and return the result with its final duration.

    Raises:
        StateError: it cannot be written.
    """
    result = outcome.timed(attempt, outcome.with_edit(attempt, result))
    attempt.note("call.finished", _body(attempt, result), _sealed(attempt, result))
    await attempt.aflush(durable=attempt.started and attempt.durable)
    settle_retried(attempt, result)
    attempt.tell("finished", result=result)
    return result


def _body(attempt: Attempt, result: Result) -> dict[str, Any]:
    """Return what stays as long as the log. A clock that went back gives no duration, and the reason why."""
    backwards = result.duration < 0
    return {
        "status": result.status,
        "duration": None if backwards else result.duration,
        **({"no_duration": "the clock went back meanwhile"} if backwards else {}),
        "started": attempt.started,
        "handle": result.handle,
        "blobs": result.blobs,
        "cached": result.cached,
        "labels": sorted(result.labels),
        "enforcement": result.enforcement,
        "follow_ups": [one.call for one in result.follow_ups],
        "size": len(result.text),
        "structured": isinstance(result.value, (dict, list)),
        **({"stop": True} if result.stop else {}),
    }


def _sealed(attempt: Attempt, result: Result) -> dict[str, Any]:
    """Return what may have to be erased one day: it can repeat what people and services said."""
    hide = _hider(attempt)
    sealed: dict[str, Any] = {"text": hide(result.text), "reason": hide(result.reason)}
    if result.notes:
        sealed["notes"] = [hide(note) for note in result.notes]
    if result.traceback:
        sealed["traceback"] = hide(result.traceback)
    if result.handle is not None or result.blobs:
        handles = [*([result.handle] if result.handle else []), *(blob[0] for blob in result.blobs)]
        sealed["sha256"] = {handle: attempt.around.state.blob_hash(handle) for handle in handles}
    return sealed


def _hider(attempt: Attempt) -> Callable[[str], str]:
    """Return what takes secret arguments and whatever else must not be kept out of texts."""
    redact = attempt.around.redactor.text
    skill, checked = attempt.skill, attempt.checked
    if skill is None or checked is None:
        return redact
    given = (checked.value.get(name) for name in skill.secret_arguments)
    values = [value for value in given if isinstance(value, str) and len(value) >= _SHORTEST]

    def hide(text: str) -> str:
        for value in values:
            text = text.replace(value, HIDDEN)
        return redact(text)

    return hide
