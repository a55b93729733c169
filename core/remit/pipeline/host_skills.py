"""The skills that live in the host: the reserved pack `remit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.errors import StateError
from remit.pipeline.attempt import CAP
from remit.skills import RESERVED_PACK, Skill
from remit.state.store import State

if TYPE_CHECKING:
    from remit_sandbox.inside.context import Context

_HEADER = 120
_TEXTS = frozenset({"application/json", "application/x-ndjson", "application/xml", "application/yaml"})

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "maxLength": 64, "description": "The handle, such as r-5f0c9a1b2c3d."},
        "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Which page, from 1."},
    },
    "required": ["handle"],
    "additionalProperties": False,
}


def host_skills(state: State, *, cap: int = CAP) -> dict[str, Skill]:
    """Return the skills of the reserved pack by full name.

    Args:
        state: where whole results are kept.
        cap: characters of one page, header included.
    """

    def read_result(handle: str, page: int = 1, *, ctx: Context) -> str:
        try:
            return read_page(state, handle, page, session=ctx.session, cap=cap)
        except StateError:
            raise ValueError("kept results cannot be read at the moment") from None

    skill = Skill(
        pack=RESERVED_PACK,
        name="read_result",
        description="Read a result that was cut, page by page.",
        schema=_SCHEMA,
        effect="read",
        declared_effect="read",
        function=read_result,
        labels=frozenset(),
        idempotent=True,
        confined=False,
        hash="host",
    )
    return {skill.full: skill}


def read_page(state: State, handle: str, page: int, *, session: str, cap: int = CAP) -> str:
    """Return one page of a kept result of this session, with a header that says where one is.

    Raises:
        ValueError: no such handle in this session, no such page, or bytes that are no text.
        StateError: it cannot be read.
    """
    blob = state.get_blob(handle, session=session)
    if blob is None:
        raise ValueError("this session has no result with this handle")
    if not _is_text(blob.media_type):
        raise ValueError(f"it is {blob.media_type} of {len(blob.data)} bytes and cannot be read as text")
    text = blob.data.decode("utf-8", "replace")
    size = max(1, cap - _HEADER)
    pages = max(1, -(-len(text) // size))
    if page > pages:
        raise ValueError(f"there are {pages} pages")
    part = text[(page - 1) * size : page * size]
    return f"[page {page} of {pages} of {handle}, {len(text)} characters in all]\n{part}"


def _is_text(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))
