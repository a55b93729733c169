"""What a session has heard and read, for provenance: built from its transcript, the only truth about it."""

from __future__ import annotations

from collections.abc import Iterable

from remit.models.protocol import Message
from remit.provenance.ledger import Ledger


class Sources:
    """Follows a transcript into a ledger, message by message."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._taken = 0
        self._names: dict[str, str] = {}

    def follow(self, messages: Iterable[Message]) -> Ledger:
        """Add what was said and read since the last time, and return the ledger.

        Only what a person typed counts as the user's words; a result without labels of its own, as an
        interrupted call leaves it, is nobody's.
        """
        for number, message in enumerate(messages):
            if number < self._taken:
                continue
            self._taken += 1
            self._names |= {call.id: call.name for call in message.calls}
            if message.origin == "person":
                own = len(message.content) - message.attached
                self.ledger.hear(message.content[:own])
                if message.attached:
                    self._attached(message.content[own:], number)
            elif message.role == "tool":
                skill = self._names.get(message.call_id, "a skill").replace("__", ".", 1)
                labels = frozenset(message.labels)
                self.ledger.read(
                    message.content,
                    skill=skill,
                    call=message.call_id,
                    labels=labels,
                    structured=message.structured,
                )
        return self.ledger

    def _attached(self, text: str, number: int) -> None:
        self.ledger.read(text, skill="an attachment", call=f"message {number}", labels=frozenset({"untrusted"}))
