"""The streaming twin of `parse`."""

from __future__ import annotations

from dataclasses import dataclass

from remit.dialects.lookout import Lookout
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


class Parser:
    """Reads a text as it comes in; `end()` gives the same answer as `parse` of the whole, whatever the chunks.

    Text is handed out as soon as it can no longer belong to a call; reasoning, quoted code and blocks of code
    do not hold it up longer than they last. Calls come with `end()` alone: a call that is not complete never
    runs. Takes the same arguments as `parse`, and time linear in what comes in.
    """

    def __init__(self, dialect: str, skills: Skills, *, tag: str = DEFAULT_TAG, thinking: bool = False) -> None:
        check_dialect(dialect, tag)
        self._dialect, self._skills, self._tag, self._thinking = dialect, skills, tag, thinking
        self._lookout = Lookout(dialect, skills, tag=tag, thinking=thinking)
        self._chunks: list[str] = []
        self._shown: list[str] = []

    def feed(self, chunk: str) -> tuple[TextDelta, ...]:
        """Take in the next part of the text; return what can be shown of it."""
        self._chunks.append(chunk)
        text = self._lookout.pass_on(chunk)
        if not text:
            return ()
        self._shown.append(text)
        return (TextDelta(text=text),)

    def end(self) -> tuple[tuple[ParseEvent, ...], Parsed]:
        """Return the last events and everything that was read; the parser is used up."""
        whole = "".join(self._chunks)
        parsed = parse(whole, self._skills, self._dialect, tag=self._tag, thinking=self._thinking)
        shown = "".join(self._shown)
        if parsed.text.startswith(shown):
            rest = parsed.text[len(shown) :]
            return ((TextDelta(text=rest),) if rest else ()), parsed
        again = (TextDelta(text=parsed.text),) if parsed.text else ()
        return (TextWithdrawn(), *again), parsed
