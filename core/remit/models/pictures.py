"""Images for models that take them: checked by their first bytes, measured by their header, never decoded.

Documents go the same way, see `remit.models.documents`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from remit.models import documents as papers
from remit.models.documents import document, is_document
from remit.models.protocol import Document, Message, Model, ModelReply, ModelRequest, OnDelta, Picture

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""What the common models read."""

MOST = 8
"""Images of one request; the latest count."""

LARGEST = 3_750_000
"""Most bytes of one image: 5 MB as a request carries it."""

LARGEST_SUM = 16_000_000
"""Most bytes of all images and documents of one request."""

MOST_LOOKED_AT = 64
"""Handles that are looked up for one request, the latest first."""

LONGEST_SIDE = 8000
"""Most pixels of one side."""

MOST_PIXELS = 40_000_000
"""Most pixels of one image: a small file may stand for one that fills a server's memory."""

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of JPEG that hold the size (ITU T.81, table B.1)."""

_BARE = frozenset(range(0xD0, 0xD9)) | {0x01}
"""Markers of JPEG without a length."""

Load = Callable[[str], tuple[str, bytes] | None]
"""Gives the media type and the bytes behind a handle, None where they are not there (any more)."""


def is_image(media_type: str) -> bool:
    """Say whether a media type is one that models are shown."""
    return media_type in MEDIA_TYPES


def picture(media_type: str, data: bytes) -> Picture | None:
    """Return an image that may be sent; None where the bytes are not what is said of them, or too large."""
    if not is_image(media_type) or not data or len(data) > LARGEST:
        return None
    try:
        size = _SIZES[media_type](data)
    except (struct.error, IndexError):
        return None
    if size is None or not all(0 < side <= LONGEST_SIDE for side in size) or size[0] * size[1] > MOST_PIXELS:
        return None
    return Picture(media_type=media_type, data=data, width=size[0], height=size[1])


def media_type_of(data: bytes) -> str | None:
    """Return which kind of image or document begins like `data`, None for none that models are shown."""
    marks = {
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF8": "image/gif",
        b"%PDF-": papers.MEDIA_TYPE,
    }
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in marks.items() if data.startswith(mark)), None)


def with_pictures(
    request: ModelRequest,
    load: Load,
    known: dict[str, Picture | Document] | None = None,
    *,
    images: bool = True,
    documents: bool = False,
) -> ModelRequest:
    """Return `request` with the latest images and documents of its messages, as far as they are there and fit.

    Args:
        request: as it is without them.
        load: gives their bytes.
        known: images and documents of earlier requests by handle; is given those of this one, and loses all others.
        images, documents: what the model takes.
    """
    known = {} if known is None else known
    pictures: dict[str, Picture] = {}
    chosen: dict[str, Document] = {}
    free, free_for_documents, room = MOST if images else 0, papers.MOST if documents else 0, LARGEST_SUM
    for handle in islice(_latest(request.messages), MOST_LOOKED_AT):
        if len(pictures) == free and len(chosen) == free_for_documents:
            break
        shown = known.get(handle) or _loaded(load(handle))
        if isinstance(shown, Picture) and len(pictures) < free and len(shown.data) <= room:
            pictures[handle] = shown
            room -= len(shown.data)
        elif isinstance(shown, Document) and len(chosen) < free_for_documents and len(shown.data) <= room:
            chosen[handle] = shown
            room -= len(shown.data)
    known.clear()
    known.update({**pictures, **chosen})
    return replace(request, pictures=pictures, documents=chosen) if known else request


def is_shown(media_type: str) -> bool:
    """Say whether a media type is one that some models are shown: an image, or a document."""
    return is_image(media_type) or is_document(media_type)


class SeeingModel:
    """A model that is shown images and documents; in everything else the model that it was made from."""

    def __init__(self, model: Model, load: Load) -> None:
        self._model = model
        self._load = load
        self._known: dict[str, Picture | Document] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer as the model does. Raises what the model raises."""
        takes = {"images": _takes(self._model, "images"), "documents": _takes(self._model, "documents")}
        return await self._model.complete(with_pictures(request, self._load, self._known, **takes), on_delta=on_delta)

    async def aclose(self) -> None:
        """Close what the model has open on the running event loop."""
        await self._model.aclose()


def seeing(model: Model, load: Load) -> Model:
    """Return `model` as it is shown images and documents, the model itself when it takes neither."""
    return SeeingModel(model, load) if shows_files(model) else model


def shows_files(model: Model) -> bool:
    """Say whether a model takes images or documents."""
    return _takes(model, "images") or _takes(model, "documents")


def _takes(model: Model, what: str) -> bool:
    return getattr(model, what, False) is True


def _loaded(found: tuple[str, bytes] | None) -> Picture | Document | None:
    return None if found is None else picture(*found) or document(*found)


def _latest(messages: Sequence[Message]) -> Iterable[str]:
    seen: dict[str, None] = {}
    for message in reversed(messages):
        seen.update(dict.fromkeys(reversed(message.images)))
    return seen


def _png(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = struct.unpack("<HH", data[6:10])
    return width, height


def _webp(data: bytes) -> tuple[int, int] | None:
    """Read the size of the three kinds of WebP (RFC 9649, section 2)."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8X" if len(data) >= 30:
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L" if len(data) >= 25 and data[20] == 0x2F:
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Read the size from the first frame header; each step goes forward, so that it comes to an end."""
    if data[:3] != b"\xff\xd8\xff":
        return None
    at = 2
    while at < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        else:
            at += 2 + max(2, struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


_SIZES: dict[str, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/jpeg": _jpeg,
}
