"""A conversation in alternating turns, for APIs in which results are something that the user says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from remit.models.protocol import Message, ModelRequest

CONTINUED = "(The conversation goes on.)"
"""What stands before a conversation that would begin with the model's own words: such APIs take none."""

Part = dict[str, Any]


def system_of(request: ModelRequest) -> str:
    """Return the system prompt, which such APIs take apart from the messages."""
    return "\n\n".join(message.content for message in request.messages if message.role == "system")


def alternating(
    request: ModelRequest,
    *,
    said: Callable[[Message], list[Part]],
    told: Callable[[Message], Iterable[Part]],
    text: Callable[[str], Part],
    model: str = "assistant",
    parts: str = "content",
) -> list[Part]:
    """Return the turns of a conversation: what follows each other on the user's side is one turn.

    Args:
        request: what is asked.
        said: makes the parts of what the model said.
        told: makes those of a result, or of what a person or the loop says.
        text: makes a part of a text.
        model: how the API names the model's side.
        parts: how it names the parts of a turn.
    """
    turns: list[Part] = []
    for message in request.messages:
        if message.role == "assistant":
            turns.append({"role": model, parts: said(message)})
        elif message.role != "system":
            new = list(told(message))
            if turns and turns[-1]["role"] == "user":
                turns[-1][parts] += new
            else:
                turns.append({"role": "user", parts: new})
    if turns and turns[0]["role"] == model:
        turns.insert(0, {"role": "user", parts: [text(CONTINUED)]})
    return turns


def carry_of(provider: str, model: str, **kept: Any) -> str:
    """Return what an endpoint wants back with a message, for the model that wrote it and no other."""
    return json.dumps({provider: model, **kept}, ensure_ascii=False)


def carried(carry: str, provider: str, model: str | None) -> Mapping[str, Any]:
    """Return what `carry_of` kept for a model; nothing for any other one, and for None."""
    try:
        body = json.loads(carry) if carry else None
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) and model is not None and body.get(provider) == model else {}
