"""Takes the values of secrets out of everything that comes from the one cell that was given them.

The code in a cell masks them, too, but it shares its process with the pack. What is done here the pack
cannot undo. A value that was changed (reversed, split, encoded) is another text and passes.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from remit_sandbox.values import FieldError, FollowUp, Output, Reply

SHORTEST = 4
"""Characters of the shortest value that is looked for; shorter ones would be found everywhere."""

_MOST_VALUES = 1_000_000
_STRINGS = re.compile(rb'"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"', re.DOTALL)
_UNREADABLE = b'"[a result that may hold a secret and is no JSON that can be read]"'


class Masks:
    """The values of one cell's secrets.

    Args:
        secrets: logical name to value.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        values = [(value, f"[secret {name}]") for name, value in secrets.items() if len(value) >= SHORTEST]
        self._values = sorted(values, key=lambda pair: -len(pair[0]))

    def __bool__(self) -> bool:
        return bool(self._values)

    def text(self, text: str) -> str:
        """Return `text` with every value replaced by its name."""
        for value, name in self._values:
            if value in text:
                text = text.replace(value, name)
        return text

    def output(self, output: Output) -> Output:
        """Return what a cell printed, masked."""
        return replace(output, stdout=self.text(output.stdout), stderr=self.text(output.stderr))

    def reply(self, reply: Reply) -> Reply:
        """Return a reply with everything in it masked."""
        return replace(
            reply,
            text=self.json(reply.text),
            errors=tuple(FieldError(path=self.text(e.path), message=self.text(e.message)) for e in reply.errors),
            error=self.text(reply.error),
            traceback=self.text(reply.traceback),
            follow_ups=tuple(
                FollowUp(skill=self.text(f.skill), arguments=self.json(f.arguments)) for f in reply.follow_ups
            ),
            denied=tuple(replace(d, what=self.text(d.what), missing=self.text(d.missing)) for d in reply.denied),
            observed=self.json(reply.observed),
        )

    def json(self, text: bytes) -> bytes:
        """Return JSON text with every value in its strings, keys and base64 bytes replaced.

        However the strings are escaped; text that is no JSON becomes a sentence that says so when a value
        stands in it.
        """
        if not text or not self._may_hold(text):
            return text
        if _values(text) > _MOST_VALUES:
            return _UNREADABLE
        try:
            value = json.loads(text.decode("utf-8"), parse_float=_Number, parse_int=_Number)
            return _dumped(self._masked(value)).encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            return _UNREADABLE

    def _may_hold(self, text: bytes) -> bool:
        escaped = b"\\" in text or b"$bytes" in text
        return escaped or any(value.encode("utf-8", "replace") in text for value, _ in self._values)

    def _masked(self, value: Any) -> Any:
        if type(value) is str:
            return self.text(value)
        if isinstance(value, list):
            return [self._masked(item) for item in value]
        if isinstance(value, dict):
            found = {self.text(key): self._masked(item) for key, item in value.items()}
            return self._bytes(found) if found.keys() == {"$bytes", "media_type"} else found
        return value

    def _bytes(self, value: dict[str, Any]) -> dict[str, Any]:
        try:
            data = base64.b64decode(value["$bytes"], validate=True)
        except (TypeError, ValueError, binascii.Error):
            return value
        masked = data
        for secret, name in self._values:
            masked = masked.replace(secret.encode("utf-8", "replace"), name.encode())
        return value if masked == data else {**value, "$bytes": base64.b64encode(masked).decode()}


def _values(text: bytes) -> int:
    """How many values JSON text holds at most: a cell must not have the host make many millions of them."""
    bare = _STRINGS.sub(b'""', text)
    return sum(map(bare.count, (b",", b"[", b"{"))) + 1


class _Number(str):
    """A number as it was written, so that none of its digits is lost."""


def _dumped(value: Any) -> str:
    """JSON text in which numbers stand as they came."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_dumped, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_dumped(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
