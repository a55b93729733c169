"""From the JSON text of a cell to a value of the host, within limits."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any

_DIGITS = 4_000
_MOST_VALUES = 1_000_000
_MOST_BLOBS = 100
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,60}(; charset=[a-z0-9-]{1,20})?")

PutBlob = Callable[[bytes, str], str]
"""Keeps bytes of a media type and returns their handle."""

Blob = tuple[str, str, int]
"""Handle, media type, size in bytes."""


class Unreadable(ValueError):
    """The text is no JSON that the host takes; the message says why."""


def read(text: bytes) -> Any:
    """Return the value of JSON text; lone surrogates become replacement characters.

    Raises:
        Unreadable: it is no strict JSON, nests too deeply or holds too many values. A cell may have
            been taken over, so its own caps do not count.
    """
    if _values(text) > _MOST_VALUES:
        raise Unreadable(f"it holds more than {_MOST_VALUES} values")
    try:
        value = json.loads(text.decode("utf-8"), parse_int=_integer, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error).split(":", 1)[0][:200]) from None
    if b"\\ud" in text or b"\\uD" in text:
        return _mend(value)
    return value


def take_bytes(value: Any, put: PutBlob, blobs: list[Blob]) -> Any:
    """Return `value` with bytes replaced: UTF-8 text by the text, others by a handle.

    Args:
        value: as `read` returned it.
        put: keeps bytes.
        blobs: is given what was kept.

    Raises:
        Unreadable: it holds more bytes values than are kept.
    """
    if isinstance(value, list):
        return [take_bytes(item, put, blobs) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$bytes", "media_type"}:
        return _bytes(value, put, blobs)
    return {key: take_bytes(item, put, blobs) for key, item in value.items()}


def to_text(value: Any) -> str:
    """Return what a model reads for a value; never empty, and different for different empty values."""
    if isinstance(value, str):
        if not value:
            return "(empty string)"
        return value if value.strip() else json.dumps(value)
    if isinstance(value, dict) and value.keys() == {"handle", "media_type", "size"}:
        return f"({value['media_type']}, {value['size']} bytes, kept as {value['handle']})"
    return json.dumps(value, ensure_ascii=False)


def _bytes(value: dict[str, Any], put: PutBlob, blobs: list[Blob]) -> Any:
    media_type = _media_type(value["media_type"])
    try:
        data = base64.b64decode(value["$bytes"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        return value
    if not data:
        return "(0 bytes)"
    if media_type.startswith("text/"):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            media_type = "application/octet-stream"
    if len(blobs) >= _MOST_BLOBS:
        raise Unreadable(f"it holds more than {_MOST_BLOBS} values of bytes")
    handle = put(data, media_type)
    blobs.append((handle, media_type, len(data)))
    return {"handle": handle, "media_type": media_type, "size": len(data)}


def _media_type(said: Any) -> str:
    """Return a media type that is one; models and people read it, so that it must not say more."""
    fits = isinstance(said, str) and _MEDIA_TYPE.fullmatch(said.lower())
    return said.lower() if fits else "application/octet-stream"


def _values(text: bytes) -> int:
    """Return how many values JSON text holds at most; what stands in strings counts only when it is needed."""
    most = _marks(text)
    return most if most <= _MOST_VALUES else _marks(_STRINGS.sub(b'""', text))


def _marks(text: bytes) -> int:
    return sum(map(text.count, (b",", b"[", b"{"))) + 1


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= _DIGITS else {"$int": digits}


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    return value
