"""Session grants: which of the skills that do more than read a session has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remit.errors import RemitError
from remit.loop.asking import Asking, Turn, Wanted
from remit.loop.brevity import first_sentence
from remit.loop.kept import Kept
from remit.loop.outcome import RunStatus
from remit.loop.recorded import turn_body, turn_said
from remit.loop.terms import Terms
from remit.loop.transcript import Transcript
from remit.loop.voices import Choir
from remit.models.estimate import estimated
from remit.models.protocol import Message, Model, Usage
from remit.pipeline.grant_skill import ENABLED, confirming, enable_skills, kind_of
from remit.pipeline.pipeline import Pipeline
from remit.policy.grants import SessionGrants
from remit.skills import Skill
from remit.state.grants import copies_granted, grant, grants_of, propose, take_back
from remit.state.store import State
from remit.values import Call, Result
from remit_sandbox.errors import SandboxError

FIRST = (
    "Only this now, before anything is read or done: call {name} with the skills that the task needs beyond those "
    "that read. Do not answer yet."
)
"""What the model is told when it proposes."""

TASK = (
    "Say which of these skills the task needs. Name as few as possible: those that are not named cannot be called "
    "later, and a person reads the list. An empty list when reading is enough.\n"
)

NARROWED = (
    "Not all skills are enabled in this session. If the task needs another one, do what you can and say what is "
    "missing; the person can enable it."
)
"""What the model is told when its session lacks skills."""

VOID = (
    "Granted to this session, and not there any more because they were changed or upgraded since: {names}. A person "
    "has to grant them again."
)
"""What the model is told of a grant that ended so."""

Spent = tuple[Usage, float | None]
"""Tokens and cost; a cost of None is not known."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """With what a run begins.

    Attributes:
        terms: of the run, narrowed to what the session has.
        ended: status and reason of a run that ends before it began: its list waits for a person, or could not be made.
        spent: tokens and cost of the turn that proposed; None where the model was not asked.
        missing: the session lacks skills that its agent has.
        void: full names of those that it lacks because they became others since they were granted.
    """

    terms: Terms
    ended: tuple[RunStatus, str] | None = None
    spent: Spent | None = None
    missing: bool = False
    void: frozenset[str] = frozenset()

    @property
    def instructions(self) -> str:
        """What the model is told of the terms, at the end of the system prompt."""
        answer = self.terms.answer.instructions if self.terms.answer is not None else ""
        void = VOID.format(names=", ".join(sorted(self.void))) if self.void else ""
        return "\n\n".join(filter(None, (answer, NARROWED if self.missing else "", void)))


class Granting:
    """Settles for each run of one agent what its session has.

    Args:
        mode: of the deployment.
        state: where grants are recorded.
        store: what the turn that proposes is recorded in.
        skills: full name to skill, of those that a model may see.
        pipeline: makes the pipeline through which a person is asked.
        choir: the models.
        seen: wraps each model.
        keep_raw: keep request and response of the turn.
    """

    def __init__(
        self,
        mode: SessionGrants,
        *,
        state: State,
        store: Kept,
        skills: Mapping[str, Skill],
        pipeline: Callable[..., Pipeline],
        choir: Choir,
        seen: Callable[[Model], Model],
        keep_raw: bool,
    ) -> None:
        self._mode = mode
        self._state = state
        self._store = store
        self._skills = skills
        self._pipeline = pipeline
        self._choir = choir
        self._seen = seen
        self._keep_raw = keep_raw

    async def settle(self, session: str, question: str | None, terms: Terms) -> Settled:
        """Return with what the next run of a session begins; ask the model and a person where that is due.

        Args:
            session: its id; this process holds its lease.
            question: what a person says; None to go on.
            terms: of the run. A skill that must be called is chosen by that.

        Raises:
            StateError: the state cannot be read or written.
        """
        writing = {full: skill for full, skill in sorted(self._skills.items()) if skill.effect != "read"}
        before = self._standing(session)
        narrows = self._mode != "off" or before is not None or copies_granted(self._state, session)
        chosen = _chosen(terms, narrows) & frozenset(writing)
        if terms.grant is not None or chosen:
            had = chosen | (before or frozenset())
            if had != before:
                grant(self._state, session, [writing[full] for full in chosen], how="chosen")
            return self._with(terms, had, void=self._void(session))
        if before is not None:
            return self._with(terms, before, void=self._void(session))
        if not narrows or not writing:
            return Settled(terms=terms)
        open_ = {full: skill for full, skill in writing.items() if terms.skills is None or full in terms.skills}
        if self._mode in ("off", "chosen") or not open_:
            return self._with(terms)
        return await self._confirmed(session, question, terms, open_)

    def _standing(self, session: str) -> frozenset[str] | None:
        """Return what a session was granted, without what has become another skill since: that is taken back."""
        grants = grants_of(self._state, session)
        changed = grants.changed(self._skills)
        if changed:
            take_back(self._state, session, changed)
        return None if grants.granted is None else grants.granted - changed

    def _void(self, session: str) -> frozenset[str]:
        return grants_of(self._state, session).void & self._skills.keys()

    def _with(self, terms: Terms, granted: frozenset[str] = frozenset(), **also: Any) -> Settled:
        has = frozenset(full for full, skill in self._skills.items() if skill.effect == "read" or full in granted)
        missing = len(has) < len(self._skills)
        return Settled(terms=replace(terms, granted=has), missing=missing, **also)

    async def _confirmed(
        self, session: str, question: str | None, terms: Terms, writing: Mapping[str, Skill]
    ) -> Settled:
        transcript = _as_heard(self._state, session, question, terms)
        spent: Spent | None = None
        try:
            names = grants_of(self._state, session).proposed
            said = own_words(transcript.messages)
            if names is None and said:
                names, turn = await self._proposal(session, said, writing)
                propose(self._state, session, names)
                spent = estimated(turn.request, turn.reply), turn.reply.cost
            offered = {full: skill for full, skill in writing.items() if full in (names or ())}
            return await self._asked(session, terms, offered, spent) if offered else self._with(terms, spent=spent)
        except asyncio.CancelledError:
            if question is not None:
                self._store.save_session(session, transcript.to_json(), status="stopped")
            raise
        except (RemitError, SandboxError) as error:
            reason = getattr(error, "message", "") or str(error)
            return self._with(terms, ended=("failed", reason), spent=spent)

    async def _asked(
        self,
        session: str,
        terms: Terms,
        offered: Mapping[str, Skill],
        spent: Spent | None,
    ) -> Settled:
        """Ask a person about the list; a refusal leaves the session with what reads."""
        skill = confirming(offered, self._state)
        result = await self._pipeline(skills={skill.full: skill}).call(
            Call(id="grants", skill=skill.full, arguments=json.dumps({"skills": list(offered)}), session=session)
        )
        if result.status == "parked":
            return self._with(terms, ended=("parked", result.reason), spent=spent)
        if result.stop:
            return self._with(terms, ended=("stopped", "a person stopped the run"), spent=spent)
        return self._with(terms, _confirmed_names(result), spent=spent)

    async def _proposal(self, session: str, said: str, writing: Mapping[str, Skill]) -> tuple[frozenset[str], Turn]:
        """Ask the model, which sees the person's own words and the list, and nothing else."""
        skill = _choosing(writing)
        voices = self._choir.with_terms({skill.full: skill}, FIRST.format(name=skill.wire), self._seen)

        def record(event: str, body: Mapping[str, Any], sealed: Mapping[str, Any]) -> None:
            self._store.append(event, session=session, body={"step": 0, **body}, sealed=sealed, durable=False)

        asking = Asking(
            voices, session=session, emit=lambda _: None, record=record, keep_raw=self._keep_raw, stream=False
        )
        turn = await asking.ask((Message(role="user", content=said),), Wanted(step=0, choice=skill.full))
        if self._keep_raw:
            record("turn.request", {}, {"raw": turn.reply.sent.decode("utf-8", "replace")})
        record("turn.reply", turn_body(turn), turn_said(turn, raw=self._keep_raw))
        named = [name for call in turn.heard.calls if call.name == skill.wire for name in _names(call.arguments)]
        return frozenset(named) & frozenset(writing), turn


def _chosen(terms: Terms, narrows: bool) -> frozenset[str]:
    """Return what a person chose, by name or by demanding a call of it where the session is narrowed at all."""
    return (terms.grant or frozenset()) | (terms.demanded if narrows else frozenset())


def _choosing(skills: Mapping[str, Skill]) -> Skill:
    """Return the skill by which a model proposes: a closed list of names, with what each does."""
    lines = [f"- {full} ({kind_of(skill)}): {first_sentence(skill.description)}" for full, skill in skills.items()]
    return enable_skills(list(skills), TASK + "\n".join(lines))


def own_words(messages: Sequence[Message]) -> str:
    """Return what the person said in a conversation, without anything that was attached, pasted or read."""
    said = (one.content[: len(one.content) - one.attached].strip() for one in messages if one.origin == "person")
    return "\n\n".join(filter(None, said))


def _as_heard(state: State, session: str, question: str | None, terms: Terms) -> Transcript:
    """Return the transcript with the question in it."""
    saved = state.load_session(session)
    transcript = Transcript.from_json(saved.transcript if saved is not None else ())
    if question is not None:
        transcript.ask(question, terms)
    return transcript


def _names(arguments: str) -> list[str]:
    """Return the names that the model wrote, as far as they can be read; a list it is, or nothing."""
    try:
        names = json.loads(arguments).get("skills", [])
    except (ValueError, AttributeError, RecursionError):
        return []
    return [name.replace("__", ".", 1) for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _confirmed_names(result: Result) -> frozenset[str]:
    return frozenset(result.value[ENABLED]) if result.status == "ok" and isinstance(result.value, dict) else frozenset()
