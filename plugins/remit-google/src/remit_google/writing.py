"""Requests of the Gemini API: the conversation, and the skills."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remit.models.gathering import arguments_object
from remit.models.protocol import Message, ModelRequest, Picture, ToolCall, ToolSpec

UNSIGNED = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made, as the API's documentation says."""

SEEN = ("image/png", "image/jpeg", "image/webp")
"""Kinds of images that the API takes, of those that Remit knows."""

CONTINUED = "(The conversation goes on.)"
"""What stands before a conversation that would begin with the model's own words."""

Part = dict[str, Any]


def conversation(request: ModelRequest, model: str, *, carry: bool, old: bool) -> tuple[str, list[Part]]:
    """Return the system prompt and the contents.

    Args:
        request: what is asked.
        model: the model's name; it gets its own signatures back, and nobody else's.
        carry: give signatures back.
        old: of a generation before the third: calls are not signed, and images of results stand beside them.
    """
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    names = {call.id: call.name for message in request.messages for call in message.calls}
    contents: list[Part] = []
    for message in request.messages:
        if message.role == "system":
            continue
        if message.role == "assistant":
            parts, role = _said(message, model if carry else None, old=old), "model"
        else:
            parts, role = list(_told(message, names, request.pictures, old=old)), "user"
        if contents and contents[-1]["role"] == role == "user":
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    if contents and contents[0]["role"] == "model":
        contents.insert(0, {"role": "user", "parts": [{"text": CONTINUED}]})
    return system, contents


def declarations(specs: Iterable[ToolSpec]) -> list[Part]:
    """Return the skills as function declarations."""
    return [
        {"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.parameters} for spec in specs
    ]


def calling(chosen: str) -> Part | None:
    """Return `toolConfig`, None where the choice is the model's."""
    if chosen in ("", "auto"):
        return None
    if chosen == "none":
        config: Part = {"mode": "NONE"}
    else:
        config = {"mode": "ANY"} | ({} if chosen == "required" else {"allowedFunctionNames": [chosen]})
    return {"functionCallingConfig": config}


def _told(message: Message, names: Mapping[str, str], pictures: Mapping[str, Picture], *, old: bool) -> Iterator[Part]:
    """Yield the parts of a result, or of what a person or the loop says."""
    found = [pictures[handle] for handle in message.images if handle in pictures]
    images = [_image(picture) for picture in found if picture.media_type in SEEN]
    if message.role != "tool":
        yield {"text": message.content or "(empty)"}
        yield from images
        return
    response: Part = {
        "id": message.call_id,
        "name": names.get(message.call_id, "unknown"),
        "response": {"result" if message.status in ("", "ok") else "error": message.content},
    }
    if images and not old:
        response["parts"] = images
    yield {"functionResponse": response}
    if old:
        yield from images


def _said(message: Message, model: str | None, *, old: bool) -> list[Part]:
    """Return what the model said, with its signatures where they were."""
    signed = _carried(message.carry, model)
    parts: list[Part] = []
    if message.content:
        parts.append({"text": message.content} | _signature(signed.get("text")))
    for number, call in enumerate(message.calls):
        signature = signed.get(str(number)) or (UNSIGNED if number == 0 and not old else None)
        parts.append({"functionCall": _call(call)} | _signature(signature))
    return parts or [{"text": "(empty)"}]


def _call(call: ToolCall) -> Part:
    return {"id": call.id, "name": call.name, "args": arguments_object(call.arguments)}


def _signature(signature: Any) -> Part:
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def _carried(carry: str, model: str | None) -> Mapping[str, Any]:
    """Return the signatures of a message that `model` wrote; none for any other."""
    try:
        body = json.loads(carry) if carry else None
    except ValueError:
        return {}
    if not isinstance(body, dict) or model is None or body.get("google") != model:
        return {}
    signed = body.get("signed")
    return signed if isinstance(signed, dict) else {}


def _image(picture: Picture) -> Part:
    return {"inlineData": {"mimeType": picture.media_type, "data": picture.base64}}
