"""The records of a session, put together to the steps that a person thinks in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from remit.cli.log_rows import erased_on

if TYPE_CHECKING:
    from remit.state.reading import Read

TURN = (
    "step",
    "model",
    "text",
    "calls",
    "errors",
    "notes",
    "duration",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cache_writes",
    "error",
    "failed",
)
"""What a step says of a model turn."""


def steps_of(records: Sequence[Read]) -> list[dict[str, Any]]:
    """Return the steps of a session: the records of each call are put together where it began."""
    steps: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    for one in records:
        record, body = one.record, one.record.body
        about: dict[str, Any] = {"time": record.time, "seq": record.seq}
        if one.erased is not None:
            about["erased"] = erased_on(one)
        match record.event:
            case "run.started":
                steps.append(
                    {
                        "kind": "question",
                        **about,
                        **_some(body, "question", "model", "agents", "parent"),
                        "who": record.who,
                    }
                )
            case "turn.reply":
                steps.append({"kind": "turn", **about, **_some(body, *TURN)})
            case "turn.request":
                continue
            case "run.ended":
                steps.append({"kind": "end", **about, **_some(body, "status", "reason", "answer")})
            case _ if record.call:
                if record.call not in calls or record.event == "call.proposed":
                    calls[record.call] = {"kind": "call", **about, "call": record.call, "skill": record.skill}
                    steps.append(calls[record.call])
                _add(calls[record.call], one)
            case _:
                steps.append({"kind": "note", **about, "event": record.event, **body})
    return steps


def _some(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: body[name] for name in names if body.get(name) not in (None, "", [], {})}


def _add(call: dict[str, Any], one: Read) -> None:
    """Add what one record says of a call."""
    record, body = one.record, one.record.body
    if one.erased is not None:
        call["erased"] = erased_on(one)
    call["skill"] = record.skill or call["skill"]
    call |= {name: getattr(record, name) for name in ("effect", "verdict") if getattr(record, name)}
    match record.event:
        case "call.proposed":
            call |= _some(body, "arguments", "asked_by", "parent", "repaired", "written")
        case "call.decided":
            call |= _some(body, "source", "reason", "rules")
        case "signoff.asked" | "signoff.answered" | "signoff.reused" | "signoff.impossible":
            told = {
                "event": record.event,
                "time": record.time,
                **_some(body, "answer", "by", "reason", "verdict", "for", "parked"),
            }
            call.setdefault("signoffs", []).append(told)
        case "call.started":
            call |= {"started": True, "ended": False}
        case "call.finished":
            names = ("status", "text", "duration", "cached", "labels", "enforcement", "handle", "traceback")
            call |= {**_some(body, *names), "ended": True}
            if body.get("status") != "ok":
                call |= {"why": body.get("reason", "")}
        case "call.lost":
            call["in_doubt"] = True
        case "call.settled":
            call |= {"in_doubt": False, "settled": _some(body, "by", "how", "done", "note")}
        case "call.hooked":
            return
        case event:
            call.setdefault("events", []).append({"event": event, **body})
