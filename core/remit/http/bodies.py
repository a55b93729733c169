"""What may be sent: JSON of a known form and of limited size."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from starlette.requests import ClientDisconnect, Request

from remit.http.answers import Refused

LARGEST = 256 * 1024
"""Bytes of a body."""

_MOST_DECISIONS = 100

Text = Annotated[str, StringConstraints(max_length=100_000)]
Short = Annotated[str, StringConstraints(max_length=2_000)]
Id = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{6,64}\z")]
Digest = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
Session = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}\z")]


class Body(BaseModel):
    """Base of all bodies: nothing unknown, nothing bent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RunBody(Body):
    """`POST /runs`: a question, in a session of one's own or in a new one."""

    question: Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1)]
    session: Session | None = None


class DecisionBody(Body):
    """`POST /signoffs/{id}/decision`: the answer, for the digest that was shown."""

    digest: Digest
    answer: Literal["once", "session", "deny", "stop"]
    reason: Short = ""


class NamedDecision(DecisionBody):
    """One of several decisions."""

    id: Id


class DecisionsBody(Body):
    """`POST /signoffs/decisions`: several at once, each with its own outcome."""

    decisions: Annotated[tuple[NamedDecision, ...], "at most 100"]


B = TypeVar("B", bound=Body)


async def read(request: Request, form: type[B]) -> B:
    """Return the body of a request.

    Raises:
        Refused: it is no JSON (415), too large (413), or not of the form (400).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "the body must be JSON", remedy="send it with `Content-Type: application/json`")
    try:
        body = form.model_validate_json(await _bytes(request))
    except ValidationError as error:
        raise Refused(400, f"the body does not fit: {_words(error)}", remedy="see docs/http.md") from None
    if isinstance(body, DecisionsBody) and not 1 <= len(body.decisions) <= _MOST_DECISIONS:
        raise Refused(400, f"decisions: between 1 and {_MOST_DECISIONS} at once", remedy="send them in parts")
    return body


async def _bytes(request: Request) -> bytes:
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > LARGEST:
                raise Refused(413, f"the body is larger than {LARGEST} bytes", remedy="say it in fewer words")
            parts.append(part)
    except ClientDisconnect:
        raise Refused(400, "the body ended too early") from None
    return b"".join(parts)


def _words(error: ValidationError) -> str:
    """Say what is wrong without repeating what was sent."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" if one["loc"] else one["msg"] for one in found[:5]]
    return "; ".join(shown)
