"""What may be sent: JSON of a known form and of limited size."""

from __future__ import annotations

import difflib
from base64 import b64decode
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator
from starlette.requests import ClientDisconnect, Request

from remit.http.answers import Refused
from remit.loop.terms import Asked

LARGEST = 256 * 1024
"""Bytes of a body."""

LARGEST_WITH_FILES = 16 * 1024 * 1024
"""Bytes of one that may bring images and documents, as base64."""

MOST_FILES = 8
"""Images and documents of one question."""

_MOST_DECISIONS = 100

_LONGEST_PATH = 200
"""Characters of the path to a field that are repeated."""

Text = Annotated[str, StringConstraints(max_length=100_000)]
Short = Annotated[str, StringConstraints(max_length=2_000)]
Name = Annotated[str, StringConstraints(max_length=256)]
Id = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{6,64}\z")]
Digest = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
Session = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}\z")]


class Body(BaseModel):
    """Base of all bodies: nothing unknown, nothing bent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    largest: ClassVar[int] = LARGEST
    """Bytes that it may have."""


class FileBody(Body):
    """An image or a PDF that comes with a question: what it is, and its bytes as base64."""

    media_type: Name
    data: str

    @field_validator("data")
    @classmethod
    def _is_base64(cls, data: str) -> str:
        try:
            b64decode(data, validate=True)
        except ValueError:
            raise ValueError("write the bytes of the file as base64") from None
        return data

    @property
    def content(self) -> bytes:
        """The bytes."""
        return b64decode(self.data)


class RunBody(Body):
    """`POST /runs`: a question, in a session of one's own or in a new one, and the terms of the run, which only narrow.

    What they mean is in `remit.loop.terms`. Attached texts, and a question that is not in the person's own words, never
    name a target of a call. An image or document is sent along, or named by the handle that the session keeps it under.
    """

    largest: ClassVar[int] = LARGEST_WITH_FILES

    question: Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1)]
    session: Session | None = None
    skills: tuple[Name, ...] | None = None
    without: tuple[Name, ...] = ()
    required: tuple[Name, ...] = ()
    first: Name = "auto"
    answer_schema: dict[str, Any] | None = None
    attached: tuple[Text, ...] = ()
    images: Annotated[tuple[Name | FileBody, ...], Field(max_length=MOST_FILES)] = ()
    own_words: bool = True
    max_steps: Annotated[int, Field(ge=1, le=1_000)] | None = None
    grant: tuple[Name, ...] | None = None
    withdraw: bool = False

    @property
    def asked(self) -> Asked:
        """The terms of the run, as an agent takes them."""
        return Asked(
            skills=self.skills,
            without=self.without,
            required=self.required,
            first=self.first,
            answer_type=self.answer_schema,
            attached=self.attached,
            own_words=self.own_words,
            max_steps=self.max_steps,
            grant=self.grant,
            withdraw=self.withdraw,
        )


class StandingBody(Body):
    """What a standing answer covers: so many calls, for so long, with these arguments the same (null: the targets)."""

    uses: int = 10
    lasts: Annotated[str, StringConstraints(max_length=16)] = "7d"
    fixed: tuple[Name, ...] | None = None


class DecisionBody(Body):
    """`POST /signoffs/{id}/decision`: the answer, for the digest that was shown."""

    digest: Digest
    answer: Literal["once", "session", "standing", "deny", "stop"]
    reason: Short = ""
    standing: StandingBody | None = None


class EditBody(Body):
    """`POST /signoffs/{id}/edit`: other arguments, all of them, in the place of those that were shown."""

    digest: Digest
    arguments: dict[str, Any]
    preview: bool = False


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
        body = form.model_validate_json(await _bytes(request, form.largest))
    except ValidationError as error:
        raise Refused(400, f"the body does not fit: {_words(error, form)}", remedy="see docs/http.md") from None
    if isinstance(body, DecisionsBody) and not 1 <= len(body.decisions) <= _MOST_DECISIONS:
        raise Refused(400, f"decisions: between 1 and {_MOST_DECISIONS} at once", remedy="send them in parts")
    return body


async def _bytes(request: Request, largest: int) -> bytes:
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > largest:
                raise Refused(413, f"the body is larger than {largest} bytes", remedy="say it in fewer words")
            parts.append(part)
    except ClientDisconnect:
        raise Refused(400, "the body ended too early") from None
    return b"".join(parts)


def _words(error: ValidationError, form: type[Body]) -> str:
    """Say what is wrong without repeating what was sent."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:5]
    said = [_unknown(one["loc"], form) if one["type"] == "extra_forbidden" else one["msg"] for one in found]
    paths = (".".join(map(str, one["loc"]))[:_LONGEST_PATH] for one in found)
    return "; ".join(f"{path}: {words}" if path else words for path, words in zip(paths, said, strict=True))


def _unknown(where: tuple[int | str, ...], form: type[Body]) -> str:
    """Say that there is no such field, and which one was meant."""
    model: type[BaseModel] = form
    for step in where[:-1]:
        field = model.model_fields.get(str(step))
        model = _form_of(field.annotation) if field is not None else model
    close = difflib.get_close_matches(str(where[-1])[:80], model.model_fields, n=1, cutoff=0.5)
    return "there is no such field; " + (
        f"did you mean {close[0]}?" if close else f"known: {', '.join(model.model_fields)}"
    )


def _form_of(annotation: Any) -> type[BaseModel]:
    """Return the form in the type of a field."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (one for one in get_args(annotation) if one is not Ellipsis and one is not type(None))
    return next((_form_of(one) for one in inner), Body)
