"""Stage 9: the result goes into the log."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.pipeline.redact import HIDDEN
from remit.values import Result

_SHORTEST = 4


def record(attempt: Attempt, result: Result) -> Result:
    """Write `call.finished` and return the result with its final duration.

    Raises:
        StateError: it cannot be written.
    """
    result = outcome.timed(attempt, result)
    attempt.note("call.finished", _body(attempt, result))
    durable = attempt.started and attempt.skill is not None and attempt.skill.effect != "read"
    attempt.flush(durable=durable)
    attempt.tell("finished", result=result)
    return result


def _body(attempt: Attempt, result: Result) -> dict[str, Any]:
    hide = _hider(attempt)
    return {
        "status": result.status,
        "reason": hide(result.reason),
        "text": hide(result.text),
        "sha256": hashlib.sha256(result.text.encode("utf-8", "replace")).hexdigest(),
        "duration": result.duration,
        "started": attempt.started,
        "handle": result.handle,
        "blobs": result.blobs,
        "cached": result.cached,
        "labels": sorted(result.labels),
        "notes": result.notes,
        "enforcement": result.enforcement,
        "follow_ups": [one.call for one in result.follow_ups],
        "traceback": hide(result.traceback),
    }


def _hider(attempt: Attempt) -> Callable[[str], str]:
    """Return what takes the values of secret arguments out of texts, where an error repeats one."""
    skill, checked = attempt.skill, attempt.checked
    if skill is None or checked is None:
        return str
    given = (checked.value.get(name) for name in skill.secret_arguments)
    values = [value for value in given if isinstance(value, str) and len(value) >= _SHORTEST]

    def hide(text: str) -> str:
        for value in values:
            text = text.replace(value, HIDDEN)
        return text

    return hide
