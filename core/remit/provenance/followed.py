"""Text as whoever follows an address or a link in it takes it, however it was written down."""

from __future__ import annotations

import re
import unicodedata

_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What has no look of its own: Unicode's default ignorable characters, and its other format characters."""

_DASHES = {
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0x2043, 0x02D7, 0x058A, 0x2E3A, 0x2E3B), "-"),
    **dict.fromkeys((0xB7, 0x2022, 0x2027), "-"),
    **dict.fromkeys((0x2044, 0x2215, 0x29F8), "/"),
    0x2028: "\n",
    0x2029: "\n",
}
_IDEOGRAPHIC_DOT = re.compile(r"\u3002(?<=[A-Za-z0-9]\u3002)(?=[A-Za-z0-9])")

_DEFANGED = tuple(
    re.compile(rf"{opening} ?(?:(?P<dot>\.|dot)|(?P<at>@|at)|(?P<colon>:(?://)?)) ?{closing}", re.IGNORECASE)
    for opening, closing in ((r"\[", r"\]"), (r"\(", r"\)"), (r"\{", r"\}"))
)
"""Marks in brackets, as in `evil[.]example`: the usual way to write a link that is not to be clicked, but is read."""


def as_followed(text: str) -> str:
    """Return text in one form, without what is invisible; dashes and dots of all scripts are those of ASCII."""
    if not text.isascii():
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", text)
        text = _IGNORED.sub("", text).translate(_DASHES)
        text = _IDEOGRAPHIC_DOT.sub(".", text)
    for form in _DEFANGED:
        text = form.sub(_plain_mark, text)
    return text


def _plain_mark(match: re.Match[str]) -> str:
    return "." if match["dot"] else "@" if match["at"] else match["colon"]
