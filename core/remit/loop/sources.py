"""What a session has heard and read, for provenance: built from its transcript, the only truth about it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from remit.models.protocol import Message
from remit.provenance.ledger import Ledger
from remit.skills import DELEGATE


class Sources:
    """Follows a transcript into a ledger, message by message.

    Args:
        before: messages of the sessions that led to this one, the first one first: what a person said there is in the
            user's own words here, and what was read there is read here.
    """

    def __init__(self, before: Iterable[Message] = ()) -> None:
        self.ledger = Ledger()
        self._taken = 0
        self._names: dict[str, str] = {}
        self.follow(before)
        self._taken = 0

    def follow(self, messages: Iterable[Message]) -> Ledger:
        """Add what was said and read since the last time, and return the ledger.

        Only what a person typed counts as the user's words; a result without labels of its own, as an
        interrupted call leaves it, is nobody's. So is a task that an agent gives, and what another agent answered
        that had read nothing: both are words of a model, which nobody trusts and nobody need distrust.
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
                    self._attached(message.content[own:], number, message.labels)
            elif message.role == "tool":
                skill = self._names.get(message.call_id, "a skill").replace("__", ".", 1)
                labels = frozenset(message.labels)
                if skill == DELEGATE and not labels:
                    continue
                self.ledger.read(
                    message.content,
                    skill=skill,
                    call=message.call_id,
                    labels=labels,
                    structured=message.structured,
                )
            elif message.origin == "memory":
                self._remembered(message)
        return self.ledger

    def _remembered(self, message: Message) -> None:
        """A fact is no word of this session; its name names its value only where the person said both themselves.

        What a model wrote that had read nothing, and the person never said, is nobody's: as what another agent says.
        """
        from remit.memory.message import recalled

        for fact in recalled(message):
            if not (fact.labels or fact.own_words):
                continue
            self.ledger.read(
                json.dumps({"name": fact.name.replace("_", " "), "value": fact.value}, ensure_ascii=False),
                skill="a remembered fact",
                call=fact.name,
                labels=fact.labels,
                structured=fact.own_words,
            )

    def _attached(self, text: str, number: int, labels: Iterable[str]) -> None:
        said = frozenset({"untrusted", *labels})
        self.ledger.read(text, skill="an attachment", call=f"message {number}", labels=said)
