"""Records as lines of text, and as values for JSON."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from remit.cli import screen

if TYPE_CHECKING:
    from remit.state.reading import Read
    from remit.state.records import Record

WIDTH = 80
"""Columns of a line where no terminal says how many it has."""

LONGEST_SKILL = 24
TELLING = ("answer", "error", "arguments", "calls", "text", "question", "finish", "reason", "allowed", "by", "effect")
"""Fields that are shown in the list, the most telling first."""

REASONS = {"age": "for its age", "size": "to make room", "person": "on request"}
"""Why a payload was erased, in words."""


def facts(one: Read) -> dict[str, Any]:
    """Return a record for JSON, with its time (seconds since 1970) as local ISO 8601, too."""
    record = asdict(one.record)
    if one.erased is not None:
        record["erased"] = {"at": at(one.erased).isoformat(timespec="seconds"), "why": one.why}
    return {"at": at(one.record.time).isoformat(timespec="milliseconds"), **record}


def at(seconds: float) -> datetime:
    """Return a point of time as local time."""
    return datetime.fromtimestamp(seconds).astimezone()


def line(text: str) -> str:
    """Return a name on one line: a line break in it must not begin a line of ours."""
    return screen.visible(text).replace("\n", "\\n").replace("\t", "\\t")


def erased_on(one: Read) -> str:
    """Return `erased on 2026-11-30 on request`, empty where nothing was erased."""
    if one.erased is None:
        return ""
    return f"erased on {at(one.erased):%Y-%m-%d} {REASONS.get(one.why, '')}".rstrip()


class Rows:
    """Prints records under a heading for each change of day, session and person."""

    def __init__(self) -> None:
        self._heading: tuple[str, str, str] | None = None
        self._columns = min(screen.columns(sys.stdout) or shutil.get_terminal_size((WIDTH, 24)).columns, 160)

    def show(self, found: Sequence[Read]) -> None:
        """Print `found`, in this order."""
        for heading, part in groupby(found, key=lambda one: _heading(one.record)):
            if heading != self._heading:
                day, session, who = map(line, heading)
                about = "  ".join(filter(None, (day, f"session {session}" if session else "no session", who)))
                screen.say(screen.styled(about, "bold"))
                self._heading = heading
            self._part(list(part))

    def _part(self, part: Sequence[Read]) -> None:
        skills = [screen.clipped(one.record.skill or "-", LONGEST_SKILL) for one in part]
        events = [screen.clipped(one.record.event, 18) for one in part]
        skill_width, event_width = max(map(screen.width, skills)), max(13, *map(screen.width, events))
        for one, skill, event in zip(part, skills, events, strict=True):
            start = f"{one.record.seq:>6}  {at(one.record.time):%H:%M:%S}  {event:<{event_width}}  "
            start += skill + " " * (skill_width - screen.width(skill)) + "  "
            room = max(20, self._columns - screen.width(start))
            screen.say(f"{start}{_painted(one, screen.clipped(about(one), room))}".rstrip())


def _heading(record: Record) -> tuple[str, str, str]:
    return (f"{at(record.time):%Y-%m-%d}", record.session, record.who)


def _painted(one: Read, text: str) -> str:
    record = one.record
    if record.event in ("call.lost", "call.fault", "sandbox.denied") or record.verdict == "deny":
        return screen.styled(text, "red")
    return screen.styled(text, "yellow") if one.erased is not None else text


def about(one: Read) -> str:
    """Return the most telling part of a record in a few words."""
    told = _told(one.record.event, one.record.body)
    return f"[erased on {at(one.erased):%Y-%m-%d}] {told}".strip() if one.erased is not None else told


def _told(event: str, body: Mapping[str, Any]) -> str:
    if event == "call.lost":
        return "in doubt: it was started, and nobody knows how it ended"
    if event == "call.settled":
        return f"settled by {body.get('by') or body.get('how')}"
    if event == "signoff.answered":
        reason = body.get("reason")
        return f"{body.get('answer')} by {body.get('by')}" + (f": {reason}" if reason else "")
    if body.get("status"):
        told = body.get("reason") or (body.get("text") if body["status"] == "ok" else "") or body.get("answer")
        return f"{body['status']}: {told}" if told else str(body["status"])
    if event == "turn.request":
        return f"the raw request is kept, {len(str(body['raw']))} characters" if body.get("raw") else ""
    if body.get("verdict"):
        why = body.get("source") if body["verdict"] == "allow" else body.get("reason") or body.get("source")
        return f"{body['verdict']}: {why}" if why else str(body["verdict"])
    for key in TELLING:
        if body.get(key):
            return body[key] if isinstance(body[key], str) else as_json(body[key])
    return ""


def as_json(value: Any) -> str:
    """Return a value on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def joined(values: Iterable[object]) -> str:
    """Return values with commas between them, what is hostile in them made visible."""
    return ", ".join(screen.visible(str(value)) for value in values)
