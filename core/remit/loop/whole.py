"""What a session does not keep of its messages, and where a run that goes on finds it again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit.errors import StateError
from remit.loop.transcript import Transcript
from remit.models.protocol import Message, ToolCall
from remit.pipeline.redact import MARK

if TYPE_CHECKING:
    from remit.pipeline.redact import Redactor
    from remit.state.store import State


def cleaned(message: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    """Return a message without what must not be kept: itself, where nothing is hidden.

    What a person attached stays apart from their own words, and a call that lost a part of its arguments says so.
    """
    clean = _fields(message, redactor)
    if clean == message:
        return message
    if message.get("attached"):
        clean |= _apart(message["content"], message["attached"], redactor)
    if message.get("calls"):
        clean["calls"] = [_marked(*pair) for pair in zip(message["calls"], clean["calls"], strict=True)]
    return clean


def _fields(kept: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return a message or a call without what must not be kept; its own fields are none of a deployment's names."""
    return {
        name: [_fields(one, redactor) for one in value] if name == "calls" else redactor.value(value)
        for name, value in kept.items()
    }


def _apart(content: str, attached: int, redactor: Redactor) -> dict[str, Any]:
    """Clean a person's words and what came with them each by itself: what is hidden changes how long they are."""
    own = len(content) - attached
    said, rest = redactor.text(content[:own]), redactor.text(content[own:])
    whole = redactor.text(said + rest)
    if whole != said + rest:  # hidden where they meet: then nothing of it counts as the person's own
        return {"content": whole, "attached": len(whole)}
    return {"content": whole, "attached": len(rest)}


def _marked(call: Mapping[str, Any], clean: dict[str, Any]) -> dict[str, Any]:
    changed = any(call.get(name) != clean.get(name) for name in ("arguments", "written"))
    return {**clean, "hidden": True} if changed else clean


def read_back(messages: Sequence[Mapping[str, Any]], state: State, session: str) -> Transcript:
    """Return the transcript of a session that is gone on with; calls of its last message may be open.

    The arguments of a call that a person was asked about stand with the question, as they were: so what was approved
    is what runs. Of other calls, what was not kept is gone; such a call is `hidden`.

    Raises:
        StateError: it is no transcript, or the questions cannot be read.
    """
    transcript = Transcript.from_json(messages, keep_open=True)
    if not any(map(_cut, transcript.messages)):
        return transcript
    return Transcript((_with_whole_calls(one, state, session) for one in transcript.messages), keep_open=True)


def _cut(message: Message) -> bool:
    return any(map(_lacks, message.calls))


def _lacks(call: ToolCall) -> bool:
    """Say whether a part of the arguments was not kept; an older Remit left the mark alone."""
    return call.hidden or MARK in call.arguments or MARK in call.written


def _with_whole_calls(message: Message, state: State, session: str) -> Message:
    if not _cut(message):
        return message
    return replace(message, calls=tuple(_whole(call, state, session) for call in message.calls))


def _whole(call: ToolCall, state: State, session: str) -> ToolCall:
    if not _lacks(call):
        return call
    call = replace(call, hidden=True)
    asked = state.asked_about(session, call.id)
    if asked is None:
        return call
    try:
        request = asked.rebuilt()
    except StateError:
        return call  # erased, or changed: then it is no word of what the call was
    if request.secret:
        return call
    arguments = json.dumps(dict(request.action.arguments), ensure_ascii=False)
    return replace(call, arguments=arguments, written="", hidden=False)
