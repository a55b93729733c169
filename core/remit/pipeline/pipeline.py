"""The pipeline: resolve, validate, decide, sign off, cache, execute, after, cap, record."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from remit.errors import EnforcementError, NotRecorded, StateError
from remit.evidence.checkpoints import Checkpoints
from remit.pipeline import cache, outcome
from remit.pipeline.after import follow_up
from remit.pipeline.attempt import CAP, Approver, Attempt, Ran, Surroundings
from remit.pipeline.cap import cap as capped
from remit.pipeline.decide import decide
from remit.pipeline.doubts import in_doubt
from remit.pipeline.events import PipelineEvent
from remit.pipeline.execute import execute
from remit.pipeline.file_labels import with_labels_of_files, written_with_labels
from remit.pipeline.host_skills import host_skills
from remit.pipeline.notify import Notifier
from remit.pipeline.record import record
from remit.pipeline.redact import Redactor
from remit.pipeline.resolve import resolve
from remit.pipeline.signoff import Nobody, sign_off
from remit.pipeline.switched import switched_off
from remit.pipeline.validate import validate
from remit.policy.rules import Rules
from remit.skills import Skill
from remit.state.store import State
from remit.state.switches import Switches
from remit.telemetry.telemetry import OFF, Telemetry
from remit.values import Call, ReadOnly, Result

if TYPE_CHECKING:
    from remit.pipeline.tape import Tape
    from remit_sandbox import Sandbox

T = TypeVar("T", Ran, Result)

_AT_ONCE = 8
_GATES = (resolve, switched_off, validate, decide, in_doubt, sign_off, switched_off)


class Pipeline:
    """Takes calls through every stage and gives a result for each.

    Attributes:
        skills: full name to skill, of those that the model may know; host skills included.
    """

    def __init__(
        self,
        *,
        skills: Mapping[str, Skill],
        rules: Rules,
        state: State,
        sandbox: Sandbox | None,
        approver: Approver | None = None,
        unattended: Literal["park", "deny"] = "park",
        principal: str = "person",
        agent: str = "",
        agents: tuple[str, ...] = (),
        read_only: ReadOnly = False,
        yes_to_writes: bool = False,
        cap: int = CAP,
        durable_reads: bool = False,
        checkpoints: Checkpoints | None = None,
        redactor: Redactor | None = None,
        telemetry: Telemetry = OFF,
        on_event: Callable[[PipelineEvent], None] | None = None,
        notify: Notifier | None = None,
        tape: Tape | None = None,
    ) -> None:
        """Set a pipeline up; nothing is opened or started yet.

        Args:
            skills: full name to skill; with `read_only`, also those that are hidden then.
            rules: of the deployment.
            state: where everything is recorded.
            sandbox: where skills of packs run; None when there are only functions of the host.
            approver: who is asked; None when nobody is there.
            unattended: what happens to a call that needs a person when nobody is there.
            principal: for whom calls are made.
            agent: name of the agent, for rules.
            agents: who asked whom, the agent itself first; empty for one that a person asked.
            read_only: hide every skill that does more than read.
            yes_to_writes: the person agreed to writes beforehand; counts where the deployment says
                `allow_yes`, and never for impact.
            cap: characters of a result that the model reads.
            durable_reads: records of reads are on the disk, too, before the skill runs.
            checkpoints: signs what the log holds now and then; None for never.
            redactor: what must not be stored; None for the standard kinds.
            telemetry: what is exported where the program has configured OpenTelemetry.
            on_event: is told what happens, in the thread of the event loop.
            notify: tells people of calls that wait for them; None where `remit signoff` cannot find such calls.
            tape: keeps what calls give, or plays it instead of running them; None for neither.
        """
        own = host_skills(state, cap=cap)
        self._around = Surroundings(
            skills={**skills, **own},
            rules=rules,
            state=state,
            switches=Switches(state.folder),
            sandbox=sandbox,
            approver=None if isinstance(approver, Nobody) else approver,
            unattended=unattended,
            principal=principal,
            agent=agent,
            agents=agents,
            read_only=read_only,
            yes_to_writes=yes_to_writes,
            cap=cap,
            durable_reads=durable_reads,
            redactor=redactor or Redactor(),
            telemetry=telemetry,
            on_event=on_event,
            notify=notify,
            tape=tape,
        )
        around = self._around
        self._looked = False
        self._checkpoints = checkpoints
        state.who = state.who or principal
        self.skills: Mapping[str, Skill] = {n: s for n, s in around.skills.items() if around.visible(s)}

    @property
    def weighs_origins(self) -> bool:
        """Whether a verdict may depend on where values come from, so that calls carry a ledger."""
        defaults = self._around.rules.defaults
        return defaults.provenance != "off" or defaults.egress

    async def call(self, call: Call) -> Result:
        """Take one call through every stage.

        Whatever a model, skill or pack does wrong becomes a result.

        Raises:
            StateError: the log cannot be written; nothing runs that was not recorded.
            EnforcementError: this machine cannot confine skills as the deployment demands.
            NotRecorded: the tape lacks the call that it is to play, or cannot be written.
        """
        attempt = Attempt(call=call, around=self._around)
        try:
            result = await self._through(attempt)
        finally:
            if attempt.observed is not None:
                attempt.observed.close()
        if self._checkpoints is not None:
            self._checkpoints.grown(attempt.sequence)
        attempt.raise_from_listener()
        return result

    async def call_many(self, calls: Sequence[Call]) -> tuple[Result, ...]:
        """Take the calls of one step: in parallel when all of them only read, else in order.

        Results are in the order of the calls. After a person stopped the run, the calls that are
        left do not run.

        Raises:
            StateError, EnforcementError: as `call`.
        """
        if len(calls) > 1 and all(map(self._only_reads, calls)):
            return await self._together(calls)
        results: list[Result] = []
        for call in calls:
            stopped = any(result.stop for result in results)
            results.append(await (self._skipped(call) if stopped else self.call(call)))
        return tuple(results)

    async def _together(self, calls: Sequence[Call]) -> tuple[Result, ...]:
        few = asyncio.Semaphore(_AT_ONCE)

        async def one(call: Call) -> Result:
            async with few:
                return await self.call(call)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(call)) for call in calls]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return tuple(task.result() for task in tasks)

    async def _skipped(self, call: Call) -> Result:
        attempt = Attempt(call=call, around=self._around)
        return await record(attempt, outcome.ended(attempt, "cancelled", "A person stopped the run before this call."))

    def _only_reads(self, call: Call) -> bool:
        name = call.skill.strip()
        return any(skill.effect == "read" for skill in self.skills.values() if name in (skill.full, skill.wire))

    async def _through(self, attempt: Attempt) -> Result:
        try:
            result = await self._stages(attempt)
        except (StateError, EnforcementError, NotRecorded):
            await self._leave(attempt, "failed", "a fault of the host")
            raise
        except asyncio.CancelledError:
            await self._leave(attempt, "cancelled", "the run was cancelled")
            raise
        except Exception as error:
            attempt.note("call.fault", {"error": type(error).__name__}, {"traceback": traceback.format_exc()})
            text = f"A fault inside Remit ({type(error).__name__}) stopped this call; it is in the log."
            result = outcome.failed(attempt, text)
        return await record(attempt, result)

    async def _stages(self, attempt: Attempt) -> Result:
        self._find_lost()
        for gate in _GATES:
            ended = await gate(attempt)
            if ended is not None:
                return ended
        with written_with_labels(attempt):
            ran = await self._run(attempt)
        if isinstance(ran, Result):
            return self._kept(attempt, with_labels_of_files(attempt, ran))
        ran = self._kept(attempt, with_labels_of_files(attempt, ran))
        follow_ups = await follow_up(attempt, ran, self.call)
        result = capped(attempt, ran, follow_ups)
        if result.status == "ok":
            cache.keep(attempt, ran)
        return result

    async def _run(self, attempt: Attempt) -> Ran | Result:
        played = await self._around.tape.play(attempt) if self._around.tape is not None else None
        return played or cache.cached(attempt) or await execute(attempt)

    def _kept(self, attempt: Attempt, ran: T) -> T:
        """Return what a call gave, once the tape has it."""
        if self._around.tape is not None:
            self._around.tape.keep(attempt, ran)
        return ran

    def _find_lost(self) -> None:
        """Before the first call: calls of processes that died are lost; say so in the log."""
        if not self._looked:
            self._around.state.find_lost()
            self._looked = True

    async def _leave(self, attempt: Attempt, status: Literal["failed", "cancelled"], reason: str) -> None:
        """Record the end of a call that gives no result; what cannot be written is left in doubt."""
        try:
            await record(attempt, outcome.ended(attempt, status, f"{attempt.name}: {reason}."))
        except StateError:
            return
