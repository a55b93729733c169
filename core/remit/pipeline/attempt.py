"""One call on its way through the stages, and what surrounds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from remit.pipeline.events import EventKind, PipelineEvent
from remit.pipeline.redact import Redactor, shown_arguments
from remit.policy.rules import Rules, Scene
from remit.skills import Skill
from remit.state.chain import Entry
from remit.state.doubts import Doubt
from remit.state.standing import StandingSignoff
from remit.state.store import State
from remit.state.switches import Switches
from remit.telemetry.telemetry import OFF, Telemetry
from remit.trace import trace_id, traceparent
from remit.values import Call, Decision, ReadOnly, Result
from remit_sandbox.signoff import Edit, SignoffDecision, SignoffRequest

if TYPE_CHECKING:
    import asyncio

    from remit.packs.arguments import Checked
    from remit.pipeline.notify import Notifier
    from remit.pipeline.tape import Tape
    from remit.telemetry.call import ObservedCall
    from remit_sandbox import Sandbox
    from remit_sandbox.values import Denied, FollowUp

CAP = 2_000
"""Characters of a result that the model reads, unless the deployment says otherwise."""

SIGNOFF_SECONDS = 3_600.0
"""Seconds that a request waits for its answer."""

MOST_PROGRESS = 10_000
"""Lines of progress of one call that listeners hear of: a skill may not flood a screen."""

PARKED_SECONDS = 7 * 86_400.0
"""Seconds that a parked request waits for its answer."""


QuestionKind = Literal["call", "grants"]
"""`call`: one exact call. `grants`: which skills a session has; its arguments are their names."""


class Approver(Protocol):
    """Who is asked. A channel that the agent's tools cannot reach says so with `apart = True`.

    One that cannot put every kind of question before a person says which it can, with `shows` (a set of
    `QuestionKind`); what it cannot show is refused at once.
    """

    async def ask(self, request: SignoffRequest) -> SignoffDecision | Edit:
        """Show the request to a person and return the answer, for `request.digest`.

        After an `Edit` it is asked again: with the call as it was edited, or with a `remark` why that cannot be.
        """


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What every call of one pipeline shares.

    Attributes:
        skills: full name to skill, hidden ones included.
        rules: of the deployment.
        state: where everything is recorded.
        switches: what a person switched off at once.
        sandbox: where skills of packs run.
        approver: who is asked; None when nobody is there.
        unattended: what happens to a call that needs a person when nobody is there.
        principal: for whom calls are made.
        agent: name of the agent.
        agents: who asked whom, the agent itself first; empty for one that a person asked.
        read_only: see `remit.values.ReadOnly`.
        yes_to_writes: the person said yes to every write beforehand.
        cap: characters of a result that the model reads.
        durable_reads: records of reads are on the disk, too, before the skill runs.
        redactor: takes out of everything that is stored what must not be kept.
        telemetry: tells OpenTelemetry, where the program has configured it.
        on_event: is told what happens; what it raises is raised again when the call is over.
        notify: tells people of calls that wait for them; None where `remit signoff` cannot find such calls.
        tape: keeps what calls give, or plays it instead of running them; None for neither.
        asking: session, action and event loop to the answer of a question that a person has before them now.
    """

    skills: Mapping[str, Skill]
    rules: Rules
    state: State
    switches: Switches
    sandbox: Sandbox | None
    approver: Approver | None = None
    unattended: Literal["park", "deny"] = "park"
    principal: str = "person"
    agent: str = ""
    agents: tuple[str, ...] = ()
    read_only: ReadOnly = False
    yes_to_writes: bool = False
    cap: int = CAP
    durable_reads: bool = False
    redactor: Redactor = field(default_factory=Redactor)
    telemetry: Telemetry = OFF
    on_event: Callable[[PipelineEvent], None] | None = None
    notify: Notifier | None = None
    tape: Tape | None = None
    asking: dict[tuple[str, str, int], asyncio.Future[SignoffDecision]] = field(default_factory=dict)

    def visible(self, skill: Skill) -> bool:
        """Tell whether the model may know of `skill`."""
        return not skill.withheld and (not self.read_only or skill.effect == "read")

    def scene(self, call: Call) -> Scene:
        """Return the scene in which `call` is decided."""
        return Scene(
            interactive=self.approver is not None,
            agent=self.agent,
            above=self.agents[1:],
            asked_by=call.asked_by,
            read_only=bool(self.read_only),
            yes_to_writes=self.yes_to_writes,
        )


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What execution, the cache or a tape gave.

    Attributes:
        text: the result as JSON text.
        labels: of the result.
        follow_ups: calls that the pack asks for.
        cached: it came from the cache.
        played: it came from a tape: what nothing gave now is kept for nobody.
    """

    text: bytes
    labels: frozenset[str]
    follow_ups: tuple[FollowUp, ...] = ()
    cached: bool = False
    played: bool = False


@dataclass(kw_only=True)
class Attempt:
    """One call on its way; stages fill it in.

    Attributes:
        call: the call.
        around: what it shares with others.
        skill: once resolved.
        checked: its arguments, once validated.
        decision: its verdict, once decided.
        request: the request that a person approved; to be consumed when the call starts.
        standing: the standing sign-off that covers it; a use of it is taken when the call starts.
        edited: what a person changed in its arguments, for the model; empty when nobody did.
        entries: records that are not written yet.
        notes: what was bent or repaired.
        denied: what its cell wanted and had no right to.
        enforcement: right to who enforced it, once it ran.
        traceback: of the pack, for its author.
        started: `call.started` is written.
        began: monotonic seconds.
        progressed: lines of progress that it reported.
        ended_by: why a person ended it while it ran; empty when nobody did.
        listener_error: what a listener raised.
        sequence: number of the last record written for it; 0 before the first.
        same: digest of what it does, equal for the same call asked again; empty for a read.
        key: its idempotency key.
        doubt: the same call, in doubt since its process died.
        observed: what tells OpenTelemetry of it; None where nothing is exported.
    """

    call: Call
    around: Surroundings
    skill: Skill | None = None
    checked: Checked | None = None
    decision: Decision | None = None
    request: SignoffRequest | None = None
    standing: StandingSignoff | None = None
    edited: str = ""
    entries: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    denied: list[Denied] = field(default_factory=list)
    enforcement: Mapping[str, str] = field(default_factory=dict)
    traceback: str = ""
    started: bool = False
    began: float = field(default_factory=time.monotonic)
    progressed: int = 0
    ended_by: str = ""
    listener_error: Exception | None = None
    sequence: int = 0
    same: str = ""
    key: str = ""
    doubt: Doubt | None = None
    observed: ObservedCall | None = field(init=False)

    def __post_init__(self) -> None:
        self.observed = self.around.telemetry.call(self.call)

    @property
    def name(self) -> str:
        """The full name of the skill, or the name as written."""
        if self.skill is not None:
            return self.skill.full
        return self.call.skill[:200].encode("utf-8", "replace").decode()

    @property
    def known(self) -> Skill:
        """The skill; only for stages after `resolve`."""
        assert self.skill is not None
        return self.skill

    @property
    def arguments(self) -> Checked:
        """The arguments; only for stages after `validate`."""
        assert self.checked is not None
        return self.checked

    @property
    def context(self) -> dict[str, str]:
        """What the cell is told of the call: its session, its id, its key, and the trace that it belongs to."""
        about = {"session": self.call.session, "call": self.call.id, "key": self.key}
        parent = traceparent()
        return {**about, "traceparent": parent} if parent else about

    @property
    def shown_arguments(self) -> dict[str, Any]:
        """The checked arguments as they may be kept: secret ones left out, redacted, long texts cut."""
        return shown_arguments(self)

    def tell(self, kind: EventKind, text: str = "", result: Result | None = None) -> None:
        """Tell whoever listens; what the listener raises waits until the call is over."""
        if self.observed is not None:
            self.observed.hear(kind, self, text=text, result=result)
        if self.around.on_event is None:
            return
        event = PipelineEvent(
            kind=kind, call=self.call, skill=self.name, text=text, decision=self.decision, result=result
        )
        try:
            self.around.on_event(event)
        except Exception as error:
            self.listener_error = error

    def progress(self, text: str) -> None:
        """Tell what the skill reports while it works; beyond `MOST_PROGRESS` lines it is dropped."""
        self.progressed += 1
        if self.progressed <= MOST_PROGRESS:
            self.tell("progress", self.around.redactor.text(text))

    def raise_from_listener(self) -> None:
        """Raise what a listener raised, if one did."""
        if self.listener_error is not None:
            raise self.listener_error

    @property
    def durable(self) -> bool:
        """Whether what it starts must be on the disk before it runs."""
        return self.known.effect != "read" or self.around.durable_reads

    def note(self, event: str, body: Mapping[str, Any], sealed: Mapping[str, Any] | None = None) -> None:
        """Add a record, to be written with the next flush.

        Args:
            event: its name.
            body: what stays as long as the log.
            sealed: what can be erased from it one day: arguments, texts.
        """
        entry = Entry(
            event=event,
            session=self.call.session,
            skill=self.name,
            call=self.call.id,
            body=body,
            sealed=sealed or {},
            who=self.around.principal,
            effect=self.skill.effect if self.skill is not None else "",
            verdict=self.decision.verdict if self.decision is not None else "",
            status=str(body.get("status", "")) if event == "call.finished" else "",
            trace=trace_id(),
        )
        self.entries.append(entry)

    def flush(self, *, durable: bool = True) -> None:
        """Write the records that are not written yet.

        Raises:
            StateError: they cannot be written; the call must not go on.
        """
        entries, self.entries = self.entries, []
        self.sequence = self.around.state.append_all(entries, durable=durable) or self.sequence

    async def aflush(self, *, durable: bool) -> None:
        """Do what `flush` does; where it waits for the disk, without holding up the event loop."""
        if not durable:
            return self.flush(durable=False)
        entries, self.entries = self.entries, []
        self.sequence = await self.around.state.aappend_all(entries) or self.sequence
        return None
