"""What has been found in a text so far."""

from __future__ import annotations

from collections.abc import Iterable

from remit.dialects.parsed import Parsed, ParsedCall
from remit.dialects.shapes import Found

MAX_ERRORS = 20
"""Most errors that are kept of one text; the first ones say enough."""

EMPTY = "The reply held neither an answer nor a call. Answer the question, or write one call."


class Findings:
    """Collects text, reasoning, calls, errors and repairs."""

    def __init__(self) -> None:
        self._said: list[str] = []
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

    def drop(self) -> None:
        """Leave out text until something else is found: it is the rest of a damaged call."""
        self._dropping = True

    def think(self, text: str) -> None:
        """Add a block of reasoning."""
        self._dropping = False
        self._thoughts.append(text)

    def was_thought(self) -> None:
        """Take back what was said so far: it was reasoning."""
        self._thoughts.append("".join(self._said))
        self._said.clear()

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

    def error(self, message: str) -> None:
        """Add an error for the model."""
        if len(self._errors) < MAX_ERRORS:
            self._errors.append(message)

    def parsed(self) -> Parsed:
        """Return everything; a thought without an action is the answer."""
        if self._calls or self._errors:
            self._end_thought()
        said = "".join([*self._said, *(self._thought or ())]).strip()
        reasoning = "\n".join(text for thought in self._thoughts if (text := thought.strip()))
        if not (said or self._calls or self._errors):
            self._errors.append(EMPTY)
        return Parsed(
            text=said,
            reasoning=reasoning,
            calls=tuple(self._calls),
            errors=tuple(self._errors),
            repairs=tuple(dict.fromkeys(self._repairs)),
        )

    def _end_thought(self) -> None:
        if self._thought is not None:
            self._thoughts.append("".join(self._thought))
        self._thought = None
