"""A stored session as a case: what was asked, and the calls that were made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from remit.errors import UsageError
from remit.models.protocol import Message
from remit.skills import READ_RESULT
from remit.state.sessions import SavedSession

ENDS = {"answered": "answered", "parked": "parked", "stopped": "stopped"}


def case_of(saved: SavedSession) -> dict[str, Any]:
    """Return a session as a case of a suite, as plain data.

    It expects the questions, the calls with exactly their arguments, and how the session ended. What was redacted when
    the session was saved is a mark in it. Answers are not expected: their words vary; add what must be in them.

    Raises:
        UsageError: nobody asked anything in it.
    """
    messages = [Message.from_json(message) for message in saved.transcript]
    turns = [_turn(message) for message in messages if message.asks]
    if not turns:
        raise UsageError(f"nobody asked anything in session {saved.id}")
    denied = any(message.status == "denied" for message in messages)
    turns[-1]["status"] = "denied" if denied and len(turns) == 1 else ENDS.get(saved.status, "answered")
    case: dict[str, Any] = {"id": re.sub(r"[^A-Za-z0-9_.-]", "-", f"session-{saved.id}")[:80], **turns[0]}
    if turns[1:]:
        case["then"] = turns[1:]
    case["trajectory"] = [
        {"skill": call.name.replace("__", ".", 1), "arguments": _arguments(call.arguments)}
        for message in messages
        for call in message.calls
        if call.name.replace("__", ".", 1) != READ_RESULT
    ]
    return case


def written(case: Mapping[str, Any]) -> str:
    """Return a suite of this one case as YAML, written as JSON's subset of it where a value is no plain word."""
    lines = ["suite: 1", "cases:", f"  - id: {case['id']}"]
    for name, value in case.items():
        if name == "trajectory":
            lines.append("    trajectory:" if value else "    trajectory: []")
            lines += [f"      - {_flow(call)}" for call in value]
        elif name == "then":
            lines.append("    then:")
            lines += [f"      - {_flow(turn)}" for turn in value]
        elif name != "id":
            lines.append(f"    {name}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _turn(message: Message) -> dict[str, Any]:
    own = message.content[: len(message.content) - message.attached] if message.attached else message.content
    turn: dict[str, Any] = {"question": own or message.content}
    if own and message.attached:
        turn["attached"] = [message.content[len(own) :].partition(":\n")[2]]
    return turn


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return {name: {"eq": one} for name, one in value.items()} if isinstance(value, dict) else {}


def _flow(value: Any) -> str:
    return "".join(map(_printable, json.dumps(value, ensure_ascii=False)))


def _printable(character: str) -> str:
    """Escape, as YAML has it, what cannot be seen; JSON's pairs of surrogates are none in YAML."""
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
