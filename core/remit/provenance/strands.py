"""Long runs of letters that one text shares with another, whatever stands between them: spaces, dashes, list items."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote_plus

from remit.provenance.phrases import letters_of
from remit.provenance.records import Source

STRAND = 20
"""Letters and digits in a row, about four words, that a text shares with another only by carrying it."""

MOST_LETTERS = 1_000_000
"""Letters that are kept of one session; a longer text counts as carrying what was read beyond them."""

LONGEST_QUERY = 5_000
"""Characters that are looked through; a query is shorter."""

_MOST_LOOKED_FOR = 200
_GRAM = 13
_STEP = STRAND - _GRAM + 1

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{16,}")
_WEB_SAFE = str.maketrans("-_", "+/")


class Strands:
    """The letters of the results that have one label."""

    def __init__(self) -> None:
        self._grams: set[int] = set()
        self._texts: list[tuple[str, Source]] = []
        self._kept = 0
        self._full: Source | None = None

    def keep(self, text: str, source: Source) -> None:
        """Add a result."""
        letters = letters_of(text)
        if len(letters) < STRAND:
            return
        if self._kept + len(letters) > MOST_LETTERS:
            self._full = self._full or source
            return
        self._kept += len(letters)
        self._texts.append((letters, source))
        self._grams.update(hash(letters[at : at + _GRAM]) for at in range(0, len(letters) - _GRAM + 1, _STEP))

    def carried_by(self, text: str, own: Callable[[str], bool]) -> Source | None:
        """Return the result that `text` carries a strand of, None when there is none.

        Args:
            text: also read backwards, and decoded where it looks like base64, base32 or hexadecimal figures.
            own: tells whether some letters are in the user's own words, and nobody's else.
        """
        if not self._grams and self._full is None:
            return None
        found = next(filter(None, (self._in(form, own) for form in _forms(text[:LONGEST_QUERY]))), None)
        return found or (self._full if len(letters_of(text)) >= STRAND else None)

    def _in(self, letters: str, own: Callable[[str], bool]) -> Source | None:
        """A text of which so many parts are known that looking for all would take long counts as known."""
        strands = (strand for strand in self._candidates(letters) if not own(strand))
        for number, strand in enumerate(strands):
            source = next((source for text, source in self._texts if strand in text), None)
            if source is not None or number >= _MOST_LOOKED_FOR:
                return source or self._texts[0][1]
        return None

    def _candidates(self, letters: str) -> Iterator[str]:
        """Yield each strand of `letters` around a gram that is known, once."""
        end = 0
        for at in range(len(letters) - _GRAM + 1):
            if hash(letters[at : at + _GRAM]) in self._grams:
                starts = range(max(end, at - _STEP + 1), min(at + 1, len(letters) - STRAND + 1))
                yield from (letters[start : start + STRAND] for start in starts)
                end = max(end, at + 1)


def _forms(text: str) -> Iterator[str]:
    letters = letters_of(unquote_plus(text))
    yield letters
    yield letters[::-1]
    for match in _ENCODED.finditer(text):
        for data in _decoded(match[0]):
            yield letters_of(data.decode("utf-8", "ignore"))


def _decoded(text: str) -> Iterator[bytes]:
    """Yield what `text` may be when decoded; each way takes only what it can be."""
    try:
        yield bytes.fromhex(text[: len(text) // 2 * 2])
    except ValueError:
        pass
    for decode, size, form in (
        (base64.b64decode, 4, text.translate(_WEB_SAFE)),
        (base64.b32decode, 8, text.upper()),
    ):
        try:
            yield decode(form + "=" * (-len(form) % size))
        except (ValueError, binascii.Error):
            continue
