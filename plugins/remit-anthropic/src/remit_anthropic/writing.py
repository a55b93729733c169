"""Requests of the Messages API: the conversation, the skills, and what a reply has to be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from remit.models.gathering import arguments_object
from remit.models.protocol import Document, Message, ModelRequest, Picture, ToolSpec
from remit.models.turns import alternating, carried, system_of

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_UNSUPPORTED = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "default",
        "title",
    }
)
"""Keywords that the API takes in no schema of an answer; Remit checks the answer against them itself."""

Block = dict[str, Any]


def conversation(request: ModelRequest, model: str, *, carry: bool) -> tuple[str, list[Block]]:
    """Return the system prompt and the messages.

    Args:
        request: what is asked.
        model: the model's name; it gets its own thinking back, and nobody else's.
        carry: give thinking back.
    """
    turns = alternating(
        request,
        said=lambda message: _said(message, model if carry else None),
        told=lambda message: _told(message, request),
        text=_text,
    )
    return system_of(request), turns


def tools(specs: Iterable[ToolSpec]) -> list[Block]:
    """Return the skills as tools."""
    return [
        {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
        | ({"strict": True} if spec.strict else {})
        for spec in specs
    ]


def choice(chosen: str, *, one_call: bool) -> Block | None:
    """Return `tool_choice`, None where nothing is to be said."""
    if chosen == "none":
        return {"type": "none"}
    if chosen in ("", "auto"):
        return {"type": "auto", "disable_parallel_tool_use": True} if one_call else None
    body: Block = {"type": "any"} if chosen == "required" else {"type": "tool", "name": chosen}
    return body | ({"disable_parallel_tool_use": True} if one_call else {})


def answer_format(schema: Mapping[str, Any]) -> Block:
    """Return the format of an answer that has to fit `schema`."""
    return {"type": "json_schema", "schema": _closed(schema)}


def legal_id(id_: str) -> str:
    """Return the id of a call as the API takes it: other endpoints give ids of other characters."""
    return id_ if _ID.fullmatch(id_) else "call_" + hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:24]


def _told(message: Message, request: ModelRequest) -> Iterator[Block]:
    """Yield the blocks of a result, or of what a person or the loop says."""
    shown: dict[str, Picture | Document] = {**request.pictures, **request.documents}
    files = [_file(shown[handle]) for handle in message.images if handle in shown]
    if message.role != "tool":
        yield _text(message.content)
        yield from files
        return
    result: Block = {"type": "tool_result", "tool_use_id": legal_id(message.call_id)}
    result["content"] = [_text(message.content), *files] if files else message.content
    yield result | ({"is_error": True} if message.status not in ("", "ok") else {})


def _said(message: Message, model: str | None) -> list[Block]:
    """Return what the model said, with its thinking where it was and in the order in which it came."""
    calls: list[Block] = [
        {"type": "tool_use", "id": legal_id(call.id), "name": call.name, "input": arguments_object(call.arguments)}
        for call in message.calls
    ]
    order = _carried(message.carry, model)
    lengths = [entry for entry in order if isinstance(entry, int)]
    if sum(lengths) != len(message.content):
        order = [entry for entry in order if not isinstance(entry, int)] + [len(message.content)]
    blocks: list[Block] = []
    at = 0
    for entry in order:
        if isinstance(entry, int):
            text, at = message.content[at : at + entry], at + entry
            blocks += [_text(text)] if text.strip() else []
        else:
            blocks.append(entry)
    return [*blocks, *calls] or [_text("")]


def _carried(carry: str, model: str | None) -> Sequence[Any]:
    """Return the order of thinking and text (its length) of a message that `model` wrote; empty for any other."""
    order = carried(carry, "anthropic", model).get("order")
    return order if isinstance(order, list) and all(isinstance(entry, int | dict) for entry in order) else []


def _text(text: str) -> Block:
    return {"type": "text", "text": text if text.strip() else "(empty)"}


def _file(shown: Picture | Document) -> Block:
    source = {"type": "base64", "media_type": shown.media_type, "data": shown.base64}
    return {"type": "image" if isinstance(shown, Picture) else "document", "source": source}


def _closed(node: Any, *, names: bool = False) -> Any:
    """Return a schema with every object closed and without keywords that the API refuses.

    Args:
        node: of the schema.
        names: its keys are names of properties or definitions, not keywords.
    """
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if names:
        return {name: _closed(item) for name, item in node.items()}
    kept = {
        key: value if key in ("enum", "const") else _closed(value, names=key in ("properties", "$defs"))
        for key, value in node.items()
        if key not in _UNSUPPORTED
    }
    return kept | ({"additionalProperties": False} if kept.get("type") == "object" else {})
