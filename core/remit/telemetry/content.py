"""Messages as the GenAI conventions write them; exported only where a deployment opts in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from remit.models.protocol import Message, ModelReply, ModelRequest, ToolCall

Hide = Callable[[str], str]


def input_messages(request: ModelRequest, hide: Hide) -> str:
    """Return the messages of `request` as the JSON text of `gen_ai.input.messages`."""
    return _text([{"role": message.role, "parts": _parts(message, hide)} for message in request.messages])


def output_messages(reply: ModelReply, hide: Hide) -> str:
    """Return `reply` as the JSON text of `gen_ai.output.messages`."""
    parts = [*_said(reply.text, hide), *(_call(call, hide) for call in reply.calls)]
    finish = "tool_call" if reply.calls else reply.finish
    return _text([{"role": "assistant", "parts": parts, "finish_reason": finish}])


def _parts(message: Message, hide: Hide) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_call_response", "id": message.call_id, "response": hide(message.content)}]
    return [*_said(message.content, hide), *(_call(call, hide) for call in message.calls)]


def _said(text: str, hide: Hide) -> list[dict[str, Any]]:
    return [{"type": "text", "content": hide(text)}] if text else []


def _call(call: ToolCall, hide: Hide) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": hide(call.arguments)}


def _text(messages: list[dict[str, Any]]) -> str:
    return json.dumps(messages, ensure_ascii=False)
