"""What an endpoint's refusal says, in words that may be shown."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

SHOWN = 400
"""Most characters of an endpoint's own words that a message shows."""

OPTIONAL = (
    "response_format",
    "temperature",
    "stop",
    "stream_options",
    "max_tokens",
    "parallel_tool_calls",
    "tool_choice",
)
"""Fields of chat completions that some models refuse; a request goes without them when one does."""

_REFUSED = re.compile(r"unsupported|not support|unrecogni|unknown|deprecated|not permitted|may not be enabled")

_FORMAT = re.compile(r"response.?format|json.?schema|structured.?output|grammar")
"""What refusals of `response_format` speak of; few servers name the field, and many take none beside tools."""


def own_words(body: bytes, *, secret: str | None = None) -> str:
    """Return what an endpoint says about an error: one line, cut, without `secret`, also as URLs write it."""
    text = _message(_json(body)) or body.decode("utf-8", "replace")
    if text.lstrip()[:1] == "<":
        title = re.search(r"<title[^>]{0,200}>([^<]{1,200})", text, re.IGNORECASE)
        text = f"an HTML page titled {title[1].strip()!r}" if title else "an HTML page"
    for form in (secret, quote(secret, safe=""), quote(secret)) if secret else ():
        text = text.replace(form, "***")
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: SHOWN * 4]).split())
    return text if len(text) <= SHOWN else text[:SHOWN] + " [cut]"


def refused_field(body: bytes, sent: frozenset[str], optional: tuple[str, ...] = OPTIONAL) -> str | None:
    """Return the optional field of `sent` that the endpoint says it does not support."""
    error = _json(body)
    message = _message(error).lower()
    inner = error.get("error") if isinstance(error, dict) else None
    param = inner.get("param") if isinstance(inner, dict) else None
    for name in optional:
        if name not in sent:
            continue
        if name == "response_format" and (_FORMAT.search(message) or _FORMAT.search(str(param))):
            return name
        if param == name or (name.lower() in message and _REFUSED.search(message)):
            return name
    return None


def error_code(body: bytes) -> str:
    """Return the error's code such as `insufficient_quota`, empty when there is none."""
    error = _json(body)
    inner = error.get("error") if isinstance(error, dict) else None
    code = inner.get("code") if isinstance(inner, dict) else None
    return code if isinstance(code, str) else ""


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _message(error: Any) -> str:
    """Return the message of the forms of error that endpoints use, empty for any other."""
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, dict):
        return ""
    inner = error.get("error", error)
    if isinstance(inner, str):
        return inner
    if not isinstance(inner, dict):
        return ""
    found = inner.get("message") or inner.get("detail")
    return found if isinstance(found, str) else ""
