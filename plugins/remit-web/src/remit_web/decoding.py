"""From the bytes of a page to its text: what the bytes say, then the server, then the page itself."""

from __future__ import annotations

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_HEAD = 4096
_NO_TEXT = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem", "utf-7"}


def decoded(body: bytes, charset: str, *, html: bool = False) -> str:
    """Return the text of `body`; bytes that do not fit become U+FFFD.

    Args:
        body: of the page.
        charset: what the server says; empty or unknown ones do not count.
        html: whether a `<meta charset>` of the page counts.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    meta = _META.search(body[:_HEAD]) if html else None
    for said in (charset, meta[1].decode() if meta else ""):
        name = _known(said)
        if name:
            return body.decode(name, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _known(name: str) -> str:
    """Return the codec of a charset as browsers take it; empty when there is none for text."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    if not found._is_text_encoding or found.name in _NO_TEXT:
        return ""
    return "cp1252" if found.name in ("iso8859-1", "ascii") else found.name
