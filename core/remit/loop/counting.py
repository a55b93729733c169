"""How many tokens a context holds: counted by a tokenizer where there is one, else estimated, and set right."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from remit.models.estimate import BYTES_PER_TOKEN, tokens
from remit.models.protocol import Message, ToolSpec, tool_wire

if TYPE_CHECKING:
    from remit.loop.interpreter import Head

CountedBy = Literal["tokenizer", "usage", "estimate"]
"""Who counted: the model's own tokenizer; an estimate, set right by what the endpoint said that earlier turns took;
an estimate alone. What an endpoint says sets a tokenizer right, too: it knows the text, and not the chat template."""

AROUND = 4
"""Tokens that a chat template puts around a message, about."""

IMAGE = 1_000
"""Tokens of an image, about."""

REMEMBERED = 4
"""Last turns whose usage is compared; the one that took most counts, so that what is shown fits."""

SMALL = 200
"""Tokens below which a turn says little: a chat template weighs more than the words."""

LEAST, MOST = 0.5, 3.0
"""How far an endpoint's own figures may move a count; some leave out what they had cached."""

_SLOT = "_counted"


class TokenCounter(Protocol):
    """Counts the tokens of a text, as the model's own tokenizer does."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...


class Counting:
    """Counts what one model is shown. Messages are counted once each; sums are of whole numbers.

    Args:
        tokenizer: of the model; None for an estimate from the number of bytes.
        images: the model is shown the images of messages.
    """

    def __init__(self, tokenizer: TokenCounter | None = None, *, images: bool = False) -> None:
        self._tokenizer = tokenizer
        self._image = IMAGE if images else 0
        self._ratios: deque[float] = deque(maxlen=REMEMBERED)

    @property
    def counted_by(self) -> CountedBy:
        """Who counts now."""
        if self._tokenizer is not None:
            return "tokenizer"
        return "usage" if self._ratios else "estimate"

    @property
    def ratio(self) -> float:
        """Tokens that an endpoint counts for each that is counted here."""
        return max(self._ratios, default=1.0)

    def bare(self, message: Message) -> int:
        """Return the count of a message before it is set right; kept on the message."""
        return message.tokens(self, self._whole)

    def bare_head(self, head: Head) -> int:
        """Return the count of what a request begins with, before it is set right; kept on it."""
        known = vars(head).get(_SLOT)
        if known is None or known[0] is not self:
            known = (self, sum(map(self.bare, head.messages)) + self._tools(head.tools))
            vars(head)[_SLOT] = known
        return int(known[1])

    def right(self, bare: int) -> int:
        """Return a count as the endpoint would give it."""
        return round(bare * self.ratio)

    def room(self, budget: int) -> int:
        """Return how much, before it is set right, fits into `budget` tokens."""
        return int(budget / self.ratio)

    def learn(self, bare: int, said: int | None) -> None:
        """Compare what was counted for a request, before it was set right, with what its endpoint said."""
        if said is not None and bare >= SMALL:
            self._ratios.append(min(max(said / bare, LEAST), MOST))

    def _whole(self, message: Message) -> int:
        return self._count(message) + self._image * len(message.images)

    def _count(self, message: Message) -> int:
        if self._tokenizer is None:
            return tokens(message)
        written = (message.content, *(part for call in message.calls for part in (call.name, call.arguments)))
        return AROUND + sum(map(self._tokenizer.count, written))

    def _tools(self, tools: Sequence[ToolSpec]) -> int:
        if not tools:
            return 0
        written = tool_wire(tools)
        if self._tokenizer is None:
            return len(written) // BYTES_PER_TOKEN
        return self._tokenizer.count(written.decode("utf-8", "replace"))
