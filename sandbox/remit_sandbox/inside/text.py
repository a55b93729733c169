"""Text that always has a form in UTF-8."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Return `text` with lone surrogates written out, so that it has a form in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
