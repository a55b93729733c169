"""What an agent shows its models: which skills, how much of a conversation, and what stands for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from remit.loop.finding import SkillIndex, find_skills
from remit.loop.folding import Folding
from remit.loop.offering import Offering
from remit.loop.shortening import Shortening
from remit.loop.summaries import Book
from remit.models.protocol import Message
from remit.pipeline.redact import Redactor
from remit.skills import FIND_SKILLS, RESERVED_PACK, Skill
from remit.state.store import State
from remit.values import ReadOnly

if TYPE_CHECKING:
    from remit.deployment.config import Config

MOST_INDEXES = 16
"""Indexes that are kept: of the agent's skills, and of those that runs were narrowed to."""


class Showing:
    """Shared by the runs of one agent.

    Args:
        search_over: skills beyond which a model is offered some of them, and a skill to find others.
        summaries: old history is folded into a summary by the model, where it no longer fits.
        large_results: what a model reads of a result that is too large: its beginning and end, or a summary.
        state: where summaries and whole results are kept; None for an agent that makes no summaries.
        redactor: what must not be stored.
    """

    def __init__(
        self,
        *,
        search_over: int = 40,
        summaries: bool = False,
        large_results: Literal["cut", "summary"] = "cut",
        state: State | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.search_over = search_over
        self._summaries = summaries
        self._large_results = large_results
        self._state = state
        self._redactor = redactor or Redactor()
        self._indexes: dict[tuple[str, ...], SkillIndex] = {}

    @classmethod
    def of(cls, config: Config, state: State, redactor: Redactor | None = None) -> Showing:
        """Return what a deployment wants its agent to show."""
        own = config.agent
        return cls(
            search_over=own.search_skills_over,
            summaries=own.summaries,
            large_results=own.large_results,
            state=state,
            redactor=redactor,
        )

    def searchable(self, skills: Mapping[str, Skill], *, read_only: ReadOnly = False) -> dict[str, Skill]:
        """Return `skills` with `remit.find_skills`, where there are so many; without it where there are not.

        A skill that the mode withholds is never found.
        """
        known = {full: skill for full, skill in skills.items() if full != FIND_SKILLS}
        visible = {
            full: skill
            for full, skill in known.items()
            if not skill.withheld and (not read_only or skill.effect == "read")
        }
        index = self._index(visible)
        if index is None:
            return known
        finder = find_skills(index)
        return {**known, finder.full: finder}

    def offering(self, skills: Mapping[str, Skill], always: Iterable[str] = ()) -> Offering:
        """Return what is offered of `skills`, all of them visible, in one session."""
        index = self._index(skills) if FIND_SKILLS in skills else None
        return Offering(skills, index=index, most=self.search_over, always=always)

    def offered(self, skills: Mapping[str, Skill], question: str = "") -> tuple[str, ...]:
        """Return the full names of what of `skills` is offered for a first question."""
        return self.offering(skills).follow((Message(role="user", content=question),) if question else ())

    def folding(self, book: Book) -> Folding | None:
        """Return what folds the history of a session, None where the deployment does not want that."""
        return Folding(self._state, self._redactor, book) if self._summaries and self._state is not None else None

    def shortening(self, book: Book) -> Shortening | None:
        """Return what summarises large results of a session, None where they are cut."""
        wanted = self._large_results == "summary" and self._state is not None
        return Shortening(self._state, book) if wanted and self._state is not None else None

    def _index(self, visible: Mapping[str, Skill]) -> SkillIndex | None:
        names = tuple(full for full, skill in visible.items() if skill.pack != RESERVED_PACK)
        if len(names) <= self.search_over:
            return None
        if names not in self._indexes:
            while len(self._indexes) >= MOST_INDEXES:
                self._indexes.pop(next(iter(self._indexes))).close()
            self._indexes[names] = SkillIndex(visible)
        return self._indexes[names]

    def close(self) -> None:
        """Free what was indexed."""
        while self._indexes:
            self._indexes.popitem()[1].close()
