"""How many tokens something takes, where nobody said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from remit.models.documents import document_tokens
from remit.models.protocol import Message, ModelReply, ModelRequest, Picture, Usage, tool_wire

BYTES_PER_TOKEN = 3
"""An estimate on the safe side: about 4 for English, 3 for Chinese (one character)."""

PIXELS_PER_TOKEN = 750
LEAST_OF_IMAGE, MOST_OF_IMAGE = 85, 5_000
"""What an image takes at least; and at most, as endpoints scale larger ones down."""


def tokens(message: Message) -> int:
    """Return an estimate of the tokens of `message`."""
    return len(message.wire) // BYTES_PER_TOKEN + 1


def estimated(request: ModelRequest, reply: ModelReply) -> Usage:
    """Return the usage of one turn, with an estimate of what the endpoint did not say."""
    asked, said = reply.usage.input_tokens, reply.usage.output_tokens
    return replace(
        reply.usage,
        input_tokens=_asked(request) if asked is None else asked,
        output_tokens=_said(reply) if said is None else said,
    )


def _asked(request: ModelRequest) -> int:
    tools = len(tool_wire(request.tools)) // BYTES_PER_TOKEN if request.tools else 0
    shown = sum(map(picture_tokens, request.pictures.values())) + sum(map(document_tokens, request.documents.values()))
    return _sum(request.messages) + tools + shown


def picture_tokens(picture: Picture) -> int:
    """Return an estimate of the tokens of an image: about one for 750 pixels, within bounds."""
    return min(max(picture.width * picture.height // PIXELS_PER_TOKEN, LEAST_OF_IMAGE), MOST_OF_IMAGE)


def _said(reply: ModelReply) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in reply.calls)
    return (len(reply.text) + len(reply.reasoning) + calls) // BYTES_PER_TOKEN + 1


def _sum(messages: Sequence[Message]) -> int:
    return sum(map(tokens, messages))
