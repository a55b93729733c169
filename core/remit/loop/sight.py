"""Images and documents of results: which ones a model may be shown, and where their bytes are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remit.errors import UsageError
from remit.loop.terms import Terms
from remit.models import documents
from remit.models.pictures import LARGEST, LONGEST_SIDE, is_shown, picture, seeing
from remit.models.protocol import Model
from remit.state.blobs import Blob
from remit.state.store import State
from remit.values import Result


def images_of(result: Result) -> tuple[str, ...]:
    """Return handles of images and documents that a result tells the model of; what its text leaves out stays out."""
    return tuple(handle for handle, kind, _ in result.blobs if is_shown(kind) and handle in result.text)


def keep_image(
    state: State, session: str, media_type: str, data: bytes, *, labels: frozenset[str] = frozenset()
) -> str:
    """Keep an image or PDF that a person sends with a question, and return its handle for `Agent.run(images=[...])`.

    Args:
        state: of the agent.
        session: id of the session that the question belongs to; no other one can see the image.
        media_type: `image/png`, `image/jpeg`, `image/webp`, `image/gif` or `application/pdf`.
        data: the bytes.
        labels: that it has beside `untrusted`.

    Raises:
        UsageError: it is no such image or document, or too large for a model.
    """
    require_shown(media_type, data)
    return state.put_blob(data, media_type, session=session, labels=sorted({"untrusted", *labels}))


def require_shown(media_type: str, data: bytes) -> None:
    """Raise UsageError for what is no image or document, or too large for a model."""
    if picture(media_type, data) is None and documents.document(media_type, data) is None:
        raise UsageError(
            f"these bytes are no {media_type} that a model could be shown",
            remedy=f"send PNG, JPEG, WebP or GIF, at most {LARGEST // 1000} kB and {LONGEST_SIDE} pixels on a side, or "
            f"PDF, at most {documents.LARGEST // 1_000_000} MB",
        )


def with_images(terms: Terms, state: State, session: str) -> Terms:
    """Return terms whose images every model is told of, as it is of those in results.

    Raises:
        UsageError: the session has no image of such a handle.
    """
    return replace(terms, attached=(*terms.attached, *(_mark_of(state, session, one) for one in terms.images)))


def _mark_of(state: State, session: str, handle: str) -> str:
    """Return what every model reads of an image."""
    image = require_kept(state, session, handle)
    return f"({image.media_type}, {len(image.data)} bytes, kept as {handle})"


def require_kept(state: State, session: str, handle: str) -> Blob:
    """Return the image or document that a session keeps. Raises UsageError where it has none of such a handle."""
    image = state.get_blob(handle, session=session)
    if image is None or not is_shown(image.media_type):
        raise UsageError(
            f"{handle[:40]!r} is no image or document that session {session} keeps",
            remedy="keep_image(agent.state, SESSION, media_type, data) of remit.loop.sight gives a handle; run the "
            "question with session=SESSION",
        )
    return image


def sighted(seen: Callable[[Model], Model], state: State, session: str) -> Callable[[Model], Model]:
    """Return `seen` for models that take images: they get those of `session`, as long as the state has them."""

    def load(handle: str) -> tuple[str, bytes] | None:
        blob = state.get_blob(handle, session=session)
        return None if blob is None else (blob.media_type, blob.data)

    return lambda model: seen(seeing(model, load))
