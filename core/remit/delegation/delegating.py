"""Running the tasks that an agent gives, one by one: begun, gone on with, or told again as they ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit.delegation.child import ChildRun, child_session, labels_read, limits_below, read_above, task_message
from remit.delegation.member import Means, Member
from remit.delegation.passing import passing_on
from remit.delegation.telling import told, told_before
from remit.deployment.agents import chain_words
from remit.loop.elapsed import elapsed
from remit.loop.kept import Kept
from remit.loop.recall import Recall
from remit.loop.running import Running, within_span
from remit.loop.sight import sighted
from remit.loop.sources import Sources
from remit.loop.terms import FREE, Terms, narrowed, narrowed_before
from remit.loop.transcript import LOST, Transcript
from remit.loop.whole import read_back
from remit.skills import Returned
from remit.state.grants import grants_of
from remit.values import Call

if TYPE_CHECKING:
    from remit.delegation.team import Team
    from remit.loop.guards import Limits
    from remit.state.sessions import SavedSession


class Delegating:
    """Runs `remit.delegate` for one caller; see `remit.skills.Hosted`.

    Args:
        team: who there is.
        chain: who asked whom, the caller first.
    """

    def __init__(self, team: Team, chain: tuple[str, ...]) -> None:
        self._team = team
        self._chain = chain

    def begun(self, call: Call, arguments: Mapping[str, Any]) -> bool:
        """Tell whether this very call has a session already."""
        return self._saved(call) is not None

    async def run(self, call: Call, arguments: Mapping[str, Any]) -> Returned:
        """Let the agent do its task, or go on with it, and return what came of it."""
        agent = self._begun_by(call) or str(arguments["agent"])
        if agent not in self._team.callable_by(self._chain):
            text = f"{chain_words(self._chain)} may not delegate to {agent}."
            return Returned(status="denied", text=text, reason=text)
        above = self._team.means.running.get(call.session)
        if above is None:
            text = "Tasks can only be given while an agent runs, and none runs in this session."
            return Returned(status="failed", text=text)
        member = self._team.member((agent, *self._chain))
        child = Child(member, self._team.means, above, call, arguments["task"])
        with self._team.means.state.leased(child.session):
            saved = self._saved(call)
            cannot = self._cannot_begin(call) if saved is None else None
            return cannot or await child.outcome(saved)

    def _saved(self, call: Call) -> SavedSession | None:
        saved = self._team.means.state.load_session(child_session(call.session, call.id))
        return saved if saved is not None and saved.parent == call.session and saved.transcript else None

    def _begun_by(self, call: Call) -> str:
        """Return which agent has begun the task, whatever the call says by now; empty where none has."""
        session = child_session(call.session, call.id)
        begun = self._team.means.state.records(session=session, event="run.started", newest_first=True, limit=1)
        return next((str(record.body.get("agent", "")) for record in begun), "") if self._saved(call) else ""

    def _cannot_begin(self, call: Call) -> Returned | None:
        """Say why a task without a session of its own is not begun: another one has its id, or it was there once."""
        state, session = self._team.means.state, child_session(call.session, call.id)
        saved = state.load_session(session)
        if saved is not None and saved.parent != call.session:
            text = f"The task cannot be given: session {session}, which would be its own, belongs to somebody else."
            return Returned(status="failed", text=text, reason=text)
        if any(state.records(session=session, limit=1)):
            return Returned(status="lost", text=LOST, reason=f"session {session}, in which it was worked on, is gone")
        return None


class Child:
    """One task that an agent was given.

    Args:
        member: the agent.
        means: what it shares with the others.
        above: the run whose call gives the task.
        call: that call.
        task: in words.

    Attributes:
        session: id of its session.
    """

    def __init__(self, member: Member, means: Means, above: Running, call: Call, task: str) -> None:
        self._member = member
        self._means = means
        self._above = above
        self._call = call
        self._task = task
        self.session = child_session(call.session, call.id)
        run = above.run
        self._before = (*(run.before if isinstance(run, ChildRun) else ()), *run.transcript.messages)

    async def outcome(self, saved: SavedSession | None) -> Returned:
        """Run, unless it has come to its end before, and return what came of it.

        Args:
            saved: its session, None where the task is new.
        """
        if saved is not None:
            messages = Transcript.from_json(saved.transcript).messages
            ended = told_before(
                self._member.name, saved, self._means.state, labels_read(messages, Sources(self._before))
            )
            if ended is not None:
                return ended
        run = self._new_run(saved)
        self._means.running[self.session] = Running(run=run, emit=run.hear)
        try:
            work = run.perform() if saved is None else run.resume()
            agent, model = self._member.name, self._member.speakers[0].model.name
            result = await within_span(self._means.telemetry, run, work, agent=agent, model=model)
        finally:
            del self._means.running[self.session]
        return told(self._member.name, result, run.read)

    def _new_run(self, saved: SavedSession | None) -> ChildRun:
        means, member = self._means, self._member
        terms = self._terms(resumed=saved is not None)
        caller, seen = member.pipeline, sighted(means.telemetry.model, means.state, self.session)
        voices = member.choir.voices(seen)
        if terms.skills is not None:
            skills = means.showing.searchable(narrowed(member.skills, terms.skills))
            caller = means.pipeline(skills=skills, agent=member.name, agents=member.chain)
            voices = member.choir.with_terms(caller.skills, "", seen)
        store = Kept(means.state, means.redactor)
        transcript = self._transcript(saved, store)
        recall = Recall(means.state, self.session, caller.skills, saved.status if saved is not None else "")
        return ChildRun(
            session=self.session,
            transcript=transcript,
            voices=voices,
            caller=caller,
            store=store,
            limits=limits_below(self._left(resumed=saved is not None), member.limits),
            terms=terms,
            keep_raw=means.keep_raw,
            emit=passing_on(self._above.run.hear_of_call, self._call, member.chain),
            recall=recall.of,
            showing=means.showing,
            above=self._above.run,
            before=self._before,
            about=self._about(),
        )

    def _left(self, *, resumed: bool) -> Limits:
        """Return what the run above has left for the whole task, whose time until now is counted there already."""
        left = self._above.run.left()
        if not resumed or left.seconds is None:
            return left
        return replace(left, seconds=left.seconds + elapsed(self._means.state, self.session))

    def _terms(self, *, resumed: bool) -> Terms:
        """Return what the run may call: what the run above may, and on going on what it could before."""
        terms = FREE.within(self._above.run.terms.open).within(self._granted())
        return terms.within(narrowed_before(self._means.state, self.session)) if resumed else terms

    def _granted(self) -> frozenset[str] | None:
        """Return what the session in which a person asked was granted, and what reads; None where all is there."""
        state, mode = self._means.state, self._means.site.config.defaults.session_grants
        granted = grants_of(state, state.root_of(self._call.session)).granted
        if mode == "off" and granted is None:
            return None
        reads = {full for full, skill in self._member.skills.items() if skill.effect == "read"}
        return frozenset(reads | (granted or frozenset()))

    def _transcript(self, saved: SavedSession | None, store: Kept) -> Transcript:
        if saved is not None:
            return read_back(saved.transcript, self._means.state, self.session)
        transcript = Transcript([task_message(self._task, read_above(self._before))])
        self._means.state.begin_child(self.session, parent=self._call.session)
        store.save_session(self.session, transcript.to_json(), status="running", durable=False)
        return transcript

    def _about(self) -> dict[str, Any]:
        return {
            "agent": self._member.name,
            "agents": list(self._member.chain),
            "parent": self._call.session,
            "parent_call": self._call.id,
        }
