"""Requests of the Gemini API: the conversation, and the skills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remit.models.gathering import arguments_object
from remit.models.protocol import Document, Message, ModelRequest, Picture, ToolCall, ToolSpec
from remit.models.turns import alternating, carried, system_of

UNSIGNED = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made, as the API's documentation says."""

SEEN = ("image/png", "image/jpeg", "image/webp", "application/pdf")
"""Kinds of images and documents that the API takes, in results too, of those that Remit knows."""

Part = dict[str, Any]


def conversation(request: ModelRequest, model: str, *, carry: bool, old: bool) -> tuple[str, list[Part]]:
    """Return the system prompt and the contents.

    Args:
        request: what is asked.
        model: the model's name; it gets its own signatures back, and nobody else's.
        carry: give signatures back.
        old: of a generation before the third: calls are not signed, and images and documents of results stand beside
            them.
    """
    names = {call.id: call.name for message in request.messages for call in message.calls}
    contents = alternating(
        request,
        said=lambda message: _said(message, model if carry else None, old=old),
        told=lambda message: _told(message, names, request, old=old),
        text=lambda text: {"text": text},
        model="model",
        parts="parts",
    )
    return system_of(request), contents


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


def _told(message: Message, names: Mapping[str, str], request: ModelRequest, *, old: bool) -> Iterator[Part]:
    """Yield the parts of a result, or of what a person or the loop says."""
    shown: dict[str, Picture | Document] = {**request.pictures, **request.documents}
    files = [_inline(one) for handle in message.images if (one := shown.get(handle)) and one.media_type in SEEN]
    if message.role != "tool":
        yield {"text": message.content or "(empty)"}
        yield from files
        return
    response: Part = {
        "id": message.call_id,
        "name": names.get(message.call_id, "unknown"),
        "response": {"result" if message.status in ("", "ok") else "error": message.content},
    }
    if files and not old:
        response["parts"] = files
    yield {"functionResponse": response}
    if old:
        yield from files


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
    signed = carried(carry, "google", model).get("signed")
    return signed if isinstance(signed, dict) else {}


def _inline(shown: Picture | Document) -> Part:
    return {"inlineData": {"mimeType": shown.media_type, "data": shown.base64}}
