"""Runs the attempts of an evaluation: each in a session, a principal and, where asked for, a workspace of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remit.agent import Agent
from remit.deployment.deployment import Deployment
from remit.errors import RemitError
from remit.evaluation.approving import WHO, approver_for
from remit.evaluation.attempt import Attempt, Ran, TurnOutcome, ended_as, judge
from remit.evaluation.case import Case, Turn
from remit.evaluation.hiding import hidden
from remit.evaluation.places import workspace_for
from remit.evaluation.report import CaseReport
from remit.evaluation.trajectory import MadeCall
from remit.evaluation.voices import Voices
from remit.loop.events import CallFinished, Delegated, Event, TurnEnded
from remit.loop.outcome import RunResult
from remit.memory.kept import StateFacts
from remit.models.protocol import Usage
from remit.pipeline.redact import Redactor
from remit.skills import Skill
from remit.state.sessions import EVALUATION
from remit.state.store import State
from remit.state_folder import remove_data
from remit.values import Call
from remit_sandbox.signoff import SignoffDecision

OnAttempt = Callable[[Case, Attempt], None]
"""Is told of each attempt when it is done."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What all attempts share.

    Attributes:
        deployment: that is evaluated; None for an agent in code.
        functions: skills of the program.
        voices: gives each attempt its model.
        redactor: what reports must not keep.
        dialect: how the model writes calls; None for the deployment's way.
        beside: folder of the suite.
        approve_listed: calls that a case lists may run.
    """

    deployment: Deployment | None
    functions: Sequence[Callable[..., Any]]
    voices: Voices
    redactor: Redactor
    dialect: str | None
    beside: Path
    approve_listed: bool

    def agent(self, case: Case, number: int, session: str, workspace: Path | None, stack: ExitStack) -> Agent:
        """Return the agent of one attempt; `stack` closes what was opened for it."""
        who = f"{EVALUATION}{session}"
        deployment = self.deployment
        if deployment is not None:
            deployment = stack.enter_context(deployment.rehearsing(who, workspace=workspace))
        places = {str(workspace): "${workspace}"} if workspace is not None else {}
        skills: Mapping[str, Skill] = deployment.skills if deployment is not None else {}
        return stack.enter_context(
            Agent(
                deployment,
                model=self.voices.of(case.id, number, places),
                tape=self.voices.calls_of(case.id, number, places),
                dialect=self.dialect,
                skills=self.functions,
                approver=approver_for(case, skills, approve_listed=self.approve_listed),
                principal=who,
            )
        )


@dataclass(kw_only=True)
class Running:
    """An evaluation that is going on; what it has found so far survives its end.

    Attributes:
        cases: that are run, with why one is skipped.
        repeat: attempts at each.
        jobs: attempts at the same time.
        fail_fast: begin nothing more after a failure.
    """

    cases: Sequence[tuple[Case, str]]
    ground: Ground
    repeat: int = 1
    jobs: int = 1
    fail_fast: bool = False
    on_attempt: OnAttempt | None = None
    done: dict[str, dict[int, Attempt]] = field(default_factory=dict)

    async def run(self) -> None:
        """Make every attempt, in order, as many at a time as there are jobs.

        Raises:
            UsageError: a workspace cannot be made.
        """
        few = asyncio.Semaphore(self.jobs)
        wanted = [(case, number) for case, why in self.cases if not why for number in range(1, self.repeat + 1)]

        async def one(case: Case, number: int) -> None:
            async with few:
                if self.fail_fast and self._failed:
                    return
                attempt = await attempted(case, number, self.ground)
                self.done.setdefault(case.id, {})[number] = attempt
                if self.on_attempt is not None:
                    self.on_attempt(case, attempt)

        try:
            async with asyncio.TaskGroup() as group:
                for case, number in wanted:
                    group.create_task(one(case, number))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await self.ground.voices.aclose()

    @property
    def _failed(self) -> bool:
        return any(not attempt.passed for attempts in self.done.values() for attempt in attempts.values())

    def reports(self, *, interrupted: bool) -> tuple[CaseReport, ...]:
        """Return what was found, a report for each case."""
        left = "the evaluation was interrupted" if interrupted else "an earlier case failed (--fail-fast)"
        found: list[CaseReport] = []
        for case, why in self.cases:
            attempts = self.done.get(case.id, {})
            ordered = tuple(attempts[number] for number in sorted(attempts))
            found.append(CaseReport(case=case, attempts=ordered, skipped=why or ("" if ordered else left)))
        return tuple(found)


async def attempted(case: Case, number: int, ground: Ground) -> Attempt:
    """Make one attempt at a case, and judge it.

    Raises:
        UsageError: its workspace cannot be made.
    """
    session = f"eval-{case.id}-{number}-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        workspace = stack.enter_context(workspace_for(case, ground.beside))
        agent = ground.agent(case, number, session, workspace, stack)
        stack.callback(_tidy, agent, session)
        try:
            judged = judge(case, await _conversation(case, number, session, agent))
            own: Mapping[str, Skill] = agent.deployment.skills if agent.deployment is not None else {}
            return hidden(judged, ground.redactor, {**own, **agent.skills})
        finally:
            await agent.aclose()


async def _conversation(case: Case, number: int, session: str, agent: Agent) -> Ran:
    outcomes: list[TurnOutcome] = []
    usage = Usage(input_tokens=0, output_tokens=0)
    cost: float | None = 0.0
    began = time.perf_counter()
    for turn in case.turns:
        outcome, result = await _turn(turn, session, agent, case.max_seconds)
        outcomes.append(outcome)
        usage += result.usage if result is not None else Usage()  # what a turn without a result took, nobody knows
        cost = None if result is None or result.cost is None or cost is None else cost + result.cost
        if ended_as(turn, outcome):
            break
    return Ran(
        number=number,
        session=session,
        turns=outcomes,
        tokens=usage.total_tokens,
        cost=cost,
        seconds=time.perf_counter() - began,
        skills=agent.skills,
    )


async def _turn(turn: Turn, session: str, agent: Agent, seconds: float | None) -> tuple[TurnOutcome, RunResult | None]:
    """Ask one question; a fault of the host is an outcome, too."""
    asked: dict[str, CallFinished] = {}
    others: list[CallFinished] = []
    steps = 0

    def on_event(event: Event) -> None:
        nonlocal steps
        steps += isinstance(event, TurnEnded)
        inner = event.inner if isinstance(event, Delegated) else event
        if isinstance(inner, CallFinished):
            if inner is event and inner.call.asked_by == "model":
                asked[inner.call.id] = inner
            else:
                others.append(inner)

    try:
        async with asyncio.timeout(seconds) as limit:
            result = await agent.arun(
                turn.question, session=session, attached=turn.attached, withdraw=True, on_event=on_event
            )
    except TimeoutError:
        if seconds is None or not limit.expired():
            raise
        reason = f"it took longer than {seconds:g} seconds"
        return _broken_off("stopped", reason, steps, asked.values(), others), None
    except RemitError as error:
        return _broken_off("failed", error.message, steps, asked.values(), others), None
    except Exception as error:  # a model or extension of the program, or a fault of ours: the other attempts go on
        return _broken_off("failed", f"{type(error).__name__}: {error}", steps, asked.values(), others), None
    outcome = TurnOutcome(
        answer=result.answer,
        status=result.status,
        reason=result.stop_reason,
        steps=result.steps,
        calls=_made(asked[made.call] for made in result.calls if made.call in asked),
        others=_made(others),
    )
    return outcome, result


def _broken_off(
    status: str, reason: str, steps: int, calls: Iterable[CallFinished], others: Iterable[CallFinished]
) -> TurnOutcome:
    """Return what came of a turn that has no result: what was called until then counts all the same."""
    made, further = _made(calls), _made(others)
    return TurnOutcome(answer="", status=status, reason=reason, steps=steps, calls=made, others=further)


def _made(finished: Iterable[CallFinished]) -> tuple[MadeCall, ...]:
    return tuple(
        MadeCall(
            skill=one.result.skill,
            arguments=_arguments(one.call),
            status=one.result.status,
            reason=one.result.reason,
        )
        for one in finished
    )


def _arguments(call: Call) -> Mapping[str, Any]:
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _stop(state: State, session: str) -> None:
    """Have a session stopped, with the tasks that were given in it: `remit sessions work` is not to go on with it."""
    saved = state.load_session(session)
    if saved is not None and saved.status in ("parked", "running"):
        state.save_session(session, saved.transcript, status="stopped", durable=False)
    for task in state.children_of(session):
        _stop(state, task.id)


def _tidy(agent: Agent, session: str) -> None:
    """Take back what an attempt asked of people, and remove what packs kept for it; its records stay."""
    if agent.deployment is None:
        return
    with suppress(RemitError), State(agent.deployment.state_folder) as state:
        for asked in state.signoffs():
            if state.root_of(asked.session) == session:
                reason = "an evaluation asked this; it is over"
                answer = SignoffDecision(answer="deny", digest=asked.digest, reason=reason, by=WHO)
                state.decide_signoff(answer, nonce=asked.nonce)
        _stop(state, session)
        remembered = StateFacts(state)
        for fact in remembered.facts(agent.deployment.principal):
            remembered.forget(agent.deployment.principal, fact.name)
    remove_data(agent.deployment.state_folder, agent.deployment.principal)
