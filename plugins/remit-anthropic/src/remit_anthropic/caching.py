"""Where a request asks the API to keep what it has read: marks that end a prefix which a later request repeats.

A prefix that was kept costs a tenth when it is read again within five minutes, and a quarter more when it is written.
So marks stand only where the next step of a run reads on: at the end of tools and system prompt, at the end of what was
asked last, and at the end of what was asked before it, whose prefix is there already: the API looks back over twenty
blocks at most. A prefix shorter than `LEAST` tokens is marked by nobody: the API keeps none so short.
"""

from __future__ import annotations

from typing import Any

from remit.models.protocol import ModelRequest, tool_wire

MARK = {"cache_control": {"type": "ephemeral"}}

LEAST = 1_024
"""Tokens of the shortest prefix that any model keeps; many keep longer ones only, and let other marks pass."""

BYTES_PER_TOKEN = 4

Block = dict[str, Any]


def marked(body: Block, request: ModelRequest) -> Block:
    """Return the body of a request with marks.

    What was asked is marked where the model may call, so that another request with this one as its beginning is likely.
    Where it may not, nothing reads on, and the changed choice reads none of it either.

    Args:
        body: with `messages`, and perhaps `system` and `tools`.
        request: that it was made from.
    """
    if _size(request) < LEAST * BYTES_PER_TOKEN:
        return body
    made = dict(body)
    if isinstance(system := body.get("system"), str) and system.strip():
        made["system"] = [{"type": "text", "text": system, **MARK}]
    elif body.get("tools"):
        made["tools"] = [*body["tools"][:-1], {**body["tools"][-1], **MARK}]
    if request.tools and request.tool_choice != "none":
        made["messages"] = _with_ends_marked(body["messages"])
    return made


def _size(request: ModelRequest) -> int:
    return sum(len(message.wire) for message in request.messages) + len(tool_wire(request.tools))


def _with_ends_marked(turns: list[Block]) -> list[Block]:
    asked = [number for number, turn in enumerate(turns) if turn["role"] == "user"][-2:]
    return [_marked(turn) if number in asked else turn for number, turn in enumerate(turns)]


def _marked(turn: Block) -> Block:
    *before, last = turn["content"]
    return {**turn, "content": [*before, {**last, **MARK}]}
