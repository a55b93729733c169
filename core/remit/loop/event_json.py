"""Events and results of a run as JSON: one form for the command line, `remit.http` and whoever else listens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from remit.loop.events import Event
from remit.loop.outcome import RunResult
from remit.values import Call, Result

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def event_name(event: Event) -> str:
    """Return the name of an event in the stream: `CallFinished` is `call_finished`."""
    return _WORD.sub("_", type(event).__name__).lower()


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON: its name under `event`, then its fields, as `remit.loop.events` says."""
    return {"event": event_name(event), **{f.name: plain(getattr(event, f.name)) for f in fields(event)}}


def result_json(result: RunResult) -> dict[str, Any]:
    """Return what came of a run as plain JSON."""
    return {f.name: plain(getattr(result, f.name)) for f in fields(result)}


def plain(value: Any) -> Any:
    """Return a value of an event as plain JSON; what is none becomes text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case RunResult():
            return result_json(value)
        case Event():
            return event_json(value)
        case Call():
            return _call(value)
        case Result():
            return _result(value)
        case Mapping():
            return {str(name): plain(one) for name, one in value.items()}
        case _ if callable(getattr(value, "model_dump", None)):
            return plain(value.model_dump(mode="json"))
        case frozenset() | set():
            return sorted(map(str, value))
        case list() | tuple():
            return [plain(one) for one in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.repr}
        case _:
            return str(value)


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "skill": call.skill,
        "arguments": call.arguments,
        "step": call.step,
        "asked_by": call.asked_by,
        "parent": call.parent,
    }


def _result(result: Result) -> dict[str, Any]:
    """The text that the model reads is left out: it is the value again, cut."""
    return {
        "call": result.call,
        "skill": result.skill,
        "status": result.status,
        "result": plain(result.value),
        "reason": result.reason,
        "remedy": result.remedy,
        "duration": round(result.duration, 6),
        "labels": sorted(result.labels),
        "handle": result.handle,
        "cached": result.cached,
        "notes": list(result.notes),
        "follow_ups": [_result(one) for one in result.follow_ups],
    }
