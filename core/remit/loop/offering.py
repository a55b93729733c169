"""Which skills a model is offered: all of them, or where there are many, those that it may need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from remit.loop.finding import FOUND, SkillIndex, named_in
from remit.models.protocol import Message
from remit.skills import FIND_SKILLS, READ_RESULT, RESERVED_PACK, Skill


class Offering:
    """Follows a transcript and says which skills are offered; nothing but the skills and the transcript counts.

    Without an index all are offered, `remit.read_result` only once a result was cut: it is of no use before, and
    small models call it instead of answering. With one, offered are, in the order in which they came in, so that what
    an endpoint has read of the prompt stays the same: the host's own skills, those of `always`, those that the words
    of each question find, those that `remit.find_skills` found, and those that were called. Any other skill that the
    model may call runs as well when it is called: what is offered is no matter of rights.

    Args:
        skills: full name to skill, of all that may be called.
        index: over them; None to offer all.
        most: skills that are offered with an index; beyond it those go that were found first and never called.
        always: full names of skills that are offered from the beginning.
    """

    def __init__(
        self,
        skills: Mapping[str, Skill],
        *,
        index: SkillIndex | None = None,
        most: int = 40,
        always: Iterable[str] = (),
    ) -> None:
        self._skills = skills
        self._index = index
        self._most = most
        self._wire = {skill.wire: full for full, skill in skills.items()} | {full: full for full in skills}
        first = (full for full, skill in skills.items() if index is None or skill.pack == RESERVED_PACK)
        self._kept = dict.fromkeys(full for full in (*first, *always) if full in skills and full != READ_RESULT)
        self._found: dict[str, None] = {}
        self._called: set[str] = set()
        self._searches: set[str] = set()
        self._taken = 0
        self._cut = False

    def follow(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Return the full names of what is offered after `messages`."""
        for message in messages[self._taken :]:
            self._see(message)
        self._taken = len(messages)
        names = (*self._kept, *self._found)
        if self._index is None and self._cut:
            return tuple(self._skills)
        return (*names, READ_RESULT) if self._cut and READ_RESULT in self._skills else names

    def offer(self, name: str) -> None:
        """Offer one skill from now on, by its full name."""
        if name in self._skills and name not in self._kept:
            self._found.setdefault(name)
            self._called.add(name)

    def _see(self, message: Message) -> None:
        if message.role == "tool":
            self._cut |= READ_RESULT in message.content
        if self._index is None:
            return
        if message.asks:
            own = message.content[: len(message.content) - message.attached] or message.content
            self._add(self._index.search(own, FOUND))
        for call in message.calls:
            full = self._wire.get(call.name, "")
            if full == FIND_SKILLS:
                self._searches.add(call.id)
            self.offer(full)
        if message.role == "tool" and message.call_id in self._searches and message.status == "ok":
            self._add(full for name in named_in(message.content) if (full := self._wire.get(name, "")))

    def _add(self, names: Iterable[str]) -> None:
        new = [name for name in names if name not in self._kept]
        for name in new:
            self._found.setdefault(name)
        if len(self._kept) + len(self._found) > self._most:
            self._forget(keeping=self._called.union(new))

    def _forget(self, keeping: set[str]) -> None:
        """Let a quarter of the room become free at once, so that the beginning of the prompt seldom changes."""
        room = self._most * 3 // 4 - len(self._kept)
        old = [name for name in self._found if name not in keeping]
        for name in old[: max(0, len(self._found) - room)]:
            del self._found[name]
