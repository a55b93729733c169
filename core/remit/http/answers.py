"""What is sent back: JSON with the headers of a careful server, and refusals that say what to do."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from remit.errors import RemitError, StateError

_LOG = logging.getLogger("remit.http")

HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""On every answer. There is no CORS: no page of another origin reads anything."""


class Refused(Exception):
    """A request that is answered with an error.

    Attributes:
        status: of HTTP.
        message: what is wrong.
        remedy: what to do about it; empty when there is nothing to add.
        headers: further headers.
    """

    def __init__(
        self, status: int, message: str, *, remedy: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.remedy = remedy
        self.headers = headers or {}

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of every error."""
        return {"error": {"message": self.message, "remedy": self.remedy}}

    @property
    def response(self) -> Response:
        """The answer."""
        return answer(self.body, status=self.status, headers=self.headers)


def answer(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return JSON in ASCII, so that no character of it can pass for another on the way to a program."""
    return Response(as_text(body), status, {**HEADERS, "content-type": "application/json", **(headers or {})})


def as_text(body: Any) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=str)


def of_error(error: BaseException) -> Refused:
    """Return a fault as a refusal without its words, which may name paths of this machine: the log has them."""
    _LOG.error("%s", error, exc_info=None if isinstance(error, RemitError) else error)
    remedy = "the log of the server says more; ask whoever runs it"
    return Refused(503 if isinstance(error, StateError) else 500, "Remit failed", remedy=remedy)


def of_status(status: int, headers: Mapping[str, str] | None = None) -> Refused:
    """Return a refusal in the words of HTTP itself: no such path, no such method."""
    remedy = "the paths are in docs/http.md" if status in (404, 405) else ""
    return Refused(status, HTTPStatus(status).phrase.lower(), remedy=remedy, headers=headers)
