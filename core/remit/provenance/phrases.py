"""Words in the one form in which two texts are compared, and where one phrase ends and the next begins."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_END = re.compile(r"[^\W_]+|[\x00\x01]")
_BLANKS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum()})
_BLANKS_BUT_ENDS = _BLANKS | {0: "\x00", 1: "\x01"}
_ENDS = str.maketrans({"\x00": " ", "\x01": " "})
_PAUSE = re.compile(
    r"([.!?:\u2026\u3002\uff01\uff1f]+(?=[\s\"')\]\u201d\u2019]|\Z)|[\n\r]+)|[,;\u3001\uff0c]+(?=\s|\Z)"
)


def words_in(text: str) -> list[str]:
    """Return the words of `text` in one form, in order."""
    if text.isascii():  # the same, many times faster
        return text.lower().translate(_BLANKS).split()
    return _WORD.findall(folded(text))


def words_of(text: str) -> str:
    """Return the words of `text` in one form, one space around each: ` budget 2024 `."""
    return " ".join(("", *words_in(text), ""))


def phrases_of(text: str) -> str:
    """Return the same with a sign where a sentence or a line ends, and another one after a comma.

    So `Bob. Eve wrote` names no `Bob Eve`, and no `Bob, Eve`.
    """
    marked = _PAUSE.sub(_sign, text.translate(_ENDS))
    if marked.isascii():
        found = marked.lower().translate(_BLANKS_BUT_ENDS).split()
    else:
        found = _WORD_OR_END.findall(folded(marked))
    return " ".join(("", *found, ""))


def phrase_of(name: str) -> str:
    """Return the words of a name with the signs inside it, not those at its end."""
    inner = phrases_of(name).strip(" \x00\x01")
    return f" {inner} " if inner else " "


def _sign(match: re.Match[str]) -> str:
    return " \x00 " if match[1] else " \x01 "


def folded(text: str) -> str:
    """Return text in one Unicode form, without case."""
    return unicodedata.normalize("NFKC", text).casefold()


def letters_of(text: str) -> str:
    """Return the letters and digits of `text` in one form, and nothing between them."""
    if text.isascii():
        return text.lower().translate(_GONE)
    return "".join(filter(str.isalnum, folded(text)))


_GONE = str.maketrans({chr(code): None for code in range(128) if not chr(code).isalnum()})
