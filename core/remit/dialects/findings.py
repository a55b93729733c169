"""What has been found in a text so far."""

from __future__ import annotations

from collections.abc import Iterable

from remit.dialects.parsed import Parsed, ParsedCall
from remit.dialects.shapes import HOW, Found

MAX_ERRORS = 20
"""Most errors that are kept of one text; the first ones say enough."""

MAX_CALLS = 1000
"""Most calls that are read of one text."""

TOO_MANY = f"More than {MAX_CALLS} calls were written at once; those behind them were not read. Write fewer."
EMPTY = "The reply held neither an answer nor a call. Answer the question, or write one call."


class Findings:
    """Collects text, reasoning, calls, errors and repairs.

    Args:
        how: how a call is written right, for the errors.
    """

    def __init__(self, how: str = HOW) -> None:
        self._how = how
        self._said: list[str] = []
        self._kept = 0
        self._thoughts: list[str] = []
        self._thought: list[str] | None = None
        self._calls: list[ParsedCall] = []
        self._errors: list[str] = []
        self._repairs: list[str] = []
        self._dropping = False

    def say(self, text: str) -> None:
        """Add text: to the current thought where one was begun, else to what is said."""
        if not self._dropping:
            (self._said if self._thought is None else self._thought).append(text)

    def is_silent(self) -> bool:
        """Say whether nothing but white space was said so far."""
        return not any(part.strip() for part in self._said)

    def has_calls(self) -> bool:
        """Say whether calls or errors were found, and nothing was thought."""
        return bool(self._calls or self._errors) and not self._thoughts

    def is_full(self) -> bool:
        """Say whether there are so many calls that no more are read; the model is told."""
        if len(self._calls) <= MAX_CALLS:
            return False
        del self._calls[MAX_CALLS:]
        self.error(TOO_MANY)
        return True

    def keep_space(self) -> None:
        """Let white space at the end of what was said so far be part of it."""
        self._kept = len(self._said)

    def drop(self) -> None:
        """Leave out text until something else is found: it is the rest of a damaged call."""
        self._dropping = True

    def think(self, text: str, *, ended: bool = True) -> None:
        """Add a block of reasoning; one that did not end keeps the white space at its end."""
        self._dropping = False
        self._thoughts.append(text.strip() if ended else text.lstrip())

    def was_thought(self) -> None:
        """Take back what was said so far: it was reasoning."""
        self._thoughts.append("".join(self._said).strip())
        self._said.clear()
        self._kept = 0

    def begin_thought(self) -> None:
        """Begin a `Thought:`; the last one is the answer where no action follows."""
        self._dropping = False
        self._end_thought()
        self._thought = []

    def answer(self, text: str) -> None:
        """Take `text` for the answer; what came before was reasoning."""
        self._end_thought()
        self.was_thought()
        self._said.append(text)

    def take(self, found: Iterable[Found], repairs: Iterable[str]) -> None:
        """Add calls and errors with the repairs they needed."""
        self._dropping = False
        for one in found:
            if one.call is not None:
                self._calls.append(one.call)
            if one.error:
                self.error(one.error)
        self._repairs += repairs

    def join(self, other: Findings) -> None:
        """Add the calls, errors and repairs of a part that was read by itself."""
        self._dropping = False
        self._calls += other._calls
        self._errors += other._errors[: MAX_ERRORS - len(self._errors)]
        self._repairs += other._repairs

    def error(self, message: str) -> None:
        """Add an error for the model."""
        if len(self._errors) < MAX_ERRORS:
            self._errors.append(message.replace(HOW, self._how))

    def parsed(self) -> Parsed:
        """Return everything; a thought without an action is the answer."""
        if self._calls or self._errors:
            self._end_thought()
        said = self._all_said()
        reasoning = "\n".join(thought for thought in self._thoughts if thought.strip())
        if not (said.strip() or self._calls or self._errors):
            self._errors.append(EMPTY)
        return Parsed(
            text=said,
            reasoning=reasoning,
            calls=tuple(self._calls),
            errors=tuple(self._errors),
            repairs=tuple(dict.fromkeys(self._repairs)),
        )

    def _all_said(self) -> str:
        """Return what was said; white space around it is markup, except where `keep_space` was called."""
        kept = "".join(self._said[: self._kept])
        rest = "".join([*self._said[self._kept :], *(self._thought or ())]).rstrip()
        said = (kept + rest if rest or kept.strip() else "").lstrip()
        return said if rest or self._kept else said.rstrip()

    def _end_thought(self) -> None:
        if self._thought is not None:
            self._thoughts.append("".join(self._thought).strip())
        self._thought = None
