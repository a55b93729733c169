"""The streaming twin of `parse`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from remit.dialects.marks import LABELS
from remit.dialects.parsed import Parsed, Skills
from remit.dialects.whole import DEFAULT_TAG, check_dialect, parse


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """Text for the user that came in; it stays part of the answer unless it is withdrawn."""

    text: str


@dataclass(frozen=True, kw_only=True)
class TextWithdrawn:
    """The text shown so far was reasoning or the way to a call, not the answer."""


ParseEvent = TextDelta | TextWithdrawn

_MOST_PENDING = 4096
_SUSPECT = re.compile(r"<[A-Za-z/|]|`|\[/?TH|^[ \t\ufeff]*[\[{~]", re.MULTILINE)
_LABEL = re.compile(rf"^[ \t]*[*#]{{0,6}} ?(?:{'|'.join(LABELS)})", re.MULTILINE)
_PARTIAL = re.compile(r"(?:<|\[/?T?)$")


class Parser:
    """Reads a text as it comes in; `end()` gives the same answer as `parse` of the whole, whatever the chunks.

    Text is handed out as soon as it can no longer belong to a call. Calls come with `end()` alone: a call
    that is not complete never runs.
    """

    def __init__(self, dialect: str, skills: Skills, *, tag: str = DEFAULT_TAG) -> None:
        check_dialect(dialect, tag)
        self._dialect, self._skills, self._tag = dialect, skills, tag
        self._labels = dialect in ("auto", "react")
        self._chunks: list[str] = []
        self._shown: list[str] = []
        self._pending = ""
        self._inside_line = False
        self._held = False

    def feed(self, chunk: str) -> tuple[TextDelta, ...]:
        """Take in the next part of the text; return what can be shown of it."""
        self._chunks.append(chunk)
        if self._held or not chunk:
            return ()
        self._pending += chunk
        text = self._pending[: self._safe_length()].rstrip()
        if not self._shown:
            text = text.lstrip()
            self._pending = self._pending.lstrip() if text else self._pending
        if not text:
            return ()
        self._pending = self._pending[len(text) :]
        self._inside_line = True
        self._shown.append(text)
        return (TextDelta(text=text),)

    def end(self) -> tuple[tuple[ParseEvent, ...], Parsed]:
        """Return the last events and everything that was read; the parser is used up."""
        parsed = parse("".join(self._chunks), self._skills, self._dialect, tag=self._tag)
        shown = "".join(self._shown)
        if parsed.text.startswith(shown):
            rest = parsed.text[len(shown) :]
            return ((TextDelta(text=rest),) if rest else ()), parsed
        again = (TextDelta(text=parsed.text),) if parsed.text else ()
        return (TextWithdrawn(), *again), parsed

    def _safe_length(self) -> int:
        """Return how much of the pending text is certainly text; hold everything from a suspicious mark on."""
        # A letter in front keeps `^` from taking the middle of a line for its start.
        offset = 1 if self._inside_line else 0
        line = "x" * offset + self._pending
        found = [mark.start() for mark in (_SUSPECT.search(line), self._labels and _LABEL.search(line)) if mark]
        if found or len(line) > _MOST_PENDING:
            self._held = True
            return (min(found) if found else len(line)) - offset
        partial = _PARTIAL.search(line)
        end = partial.start() if partial else len(line)
        last = line[line.rfind("\n") + 1 :].lstrip(" \t*#\ufeff")
        if not last or (self._labels and any(label.startswith(last) for label in LABELS)):
            end = min(end, line.rfind("\n") + 1)
        return max(end - offset, 0)
