"""Documents for models that take them: PDF, known by its first bytes, never opened."""

from __future__ import annotations

import re

from remit.models.protocol import Document

MEDIA_TYPE = "application/pdf"
"""What the common models read, in results too."""

MOST = 4
"""Documents of one request; the latest count."""

LARGEST = 10_000_000
"""Most bytes of one document."""

TOKENS_OF_PAGE = 2_000
"""What a page takes, about: its text, and an image of it."""

MOST_PAGES = 1_000

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_BYTES_OF_PAGE = 50_000
_HEAD = b"%PDF-"


def is_document(media_type: str) -> bool:
    """Say whether a media type is one that models are shown as a document."""
    return media_type == MEDIA_TYPE


def document(media_type: str, data: bytes) -> Document | None:
    """Return a document that may be sent; None where the bytes are not what is said of them, or too many."""
    if not is_document(media_type) or not data.startswith(_HEAD) or len(data) > LARGEST:
        return None
    return Document(media_type=media_type, data=data)


def document_tokens(paper: Document) -> int:
    """Return an estimate of the tokens of a document: of its pages where they can be seen, else of its bytes."""
    pages = len(_PAGE.findall(paper.data)) or len(paper.data) // _BYTES_OF_PAGE + 1
    return TOKENS_OF_PAGE * min(pages, MOST_PAGES)
