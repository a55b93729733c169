"""`Agent`: a model with the skills of a deployment, or of the program it is part of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from remit.delegation.team import team_of
from remit.extensions.extensions import NO_EXTENSIONS
from remit.loop.belongings import Closing, all_skills, opened_deployment, rules_for, state_for
from remit.loop.events import Event
from remit.loop.from_pipeline import from_pipeline
from remit.loop.given import (
    free_session,
    instead_of,
    limits_of,
    require_approver,
    require_no_loop,
    require_unfinished,
    standard_config,
    taken,
)
from remit.loop.granting import Granting, Settled
from remit.loop.guards import Limits, chosen_limits
from remit.loop.kept import Kept
from remit.loop.observing import watched
from remit.loop.outcome import Instead, RunResult
from remit.loop.parked import entered
from remit.loop.preview import Preview, preview
from remit.loop.prompt import Fragment
from remit.loop.recall import Recall
from remit.loop.remembering import memory_for, opening_of, remembering
from remit.loop.run import Run
from remit.loop.running import Running, within_span
from remit.loop.showing import Showing
from remit.loop.sight import sighted, with_images
from remit.loop.speakers import Given, prompt_of, require_prices, speakers_of
from remit.loop.terms import Asked, Terms, narrowed, terms_for
from remit.loop.voices import Choir
from remit.loop.whole import read_back
from remit.models.protocol import Model
from remit.pipeline.configured import checkpoints_of, notifier_of, redactor_of, telemetry_of
from remit.pipeline.events import PipelineEvent
from remit.pipeline.observing import observed
from remit.pipeline.pipeline import Pipeline
from remit.skills import Skill
from remit.values import ReadOnly

if TYPE_CHECKING:
    from remit.delegation.spec import AgentSpec
    from remit.deployment.deployment import Deployment
    from remit.pipeline.attempt import Approver
    from remit.pipeline.tape import Tape


class Agent:
    """Answers questions with skills. Reusable; sessions may run side by side; close it at the end.

    ```python
    with Agent("path/to/deployment") as agent:
        print(agent.run("How warm is it in Oslo?").answer)
    ```

    Args:
        deployment: an open deployment, or its folder; None for an agent in code, whose skills are the
            functions given here and whose state is gone when it is closed.
        model: a model, or the name of one; None for the deployment's own.
        base_url: of the model's endpoint, instead of the deployment's; its key is then not used.
        api_key: the key, or a reference (`env:NAME`).
        dialect: `native`, or how the model writes calls in text (`react`, `tagged`, ...).
        skills: functions of this program, marked with `@remit.skill` or plain; not confined.
        prompt: the system prompt, instead of the deployment's or the standard one.
        approver: who is asked for sign-off; None for the deployment's sign-off channel, or nobody.
        max_steps: most model turns of one run.
        read_only: no skill that changes anything; `strict`: no network either.
        keep_raw: keep the raw request and response of every model turn as records.
        unattended: what happens to a call that needs a person when nobody is there.
        agents: agents that this one may delegate to, beside those of the deployment.
        only_delegates: it calls no skill itself; those that it asks can be given all of its skills.
        limits: further guards of a run; `max_steps` counts before its `steps`, a smaller budget of the deployment
            before its own.
        fallback: what is answered when the model or the host failed: a text, or a function of the `RunResult`; None
            for the deployment's.
        yes_to_writes: writes need no sign-off, where the deployment allows that.
        principal: for whom it acts; None for the deployment's own.
        name: of the agent, for rules.
        tape: keeps what calls give, or plays it instead of running them; None for neither.

    Attributes:
        deployment: the open deployment, None for an agent in code.
        model: who is asked first.
        prompt: the fragments of the system prompt.
        state: where sessions and records are kept.

    Raises:
        UsageError: it lacks a model, or contradicts the deployment.
        DeploymentError: the deployment cannot be opened, or does not allow a function.
    """

    def __init__(
        self,
        deployment: Deployment | str | Path | None = None,
        *,
        model: Model | str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dialect: str | None = None,
        skills: Sequence[Callable[..., Any]] = (),
        agents: Sequence[AgentSpec] = (),
        only_delegates: bool = False,
        prompt: str | None = None,
        approver: Approver | None = None,
        max_steps: int | None = None,
        read_only: ReadOnly = False,
        keep_raw: bool = False,
        unattended: Literal["park", "deny"] | None = None,
        limits: Limits | None = None,
        fallback: str | Instead | None = None,
        yes_to_writes: bool = False,
        principal: str | None = None,
        name: str = "",
        tape: Tape | None = None,
    ) -> None:
        require_approver(approver)
        self._closing: Closing = []
        self._running: dict[str, Running] = {}
        self._taken: set[str] = set()
        try:
            self.deployment = opened_deployment(deployment, read_only, self._closing)
            config = self.deployment.config if self.deployment is not None else standard_config()
            folder = self.deployment.folder if self.deployment is not None else Path()
            extensions = self.deployment.extensions if self.deployment is not None else NO_EXTENSIONS
            given = Given(model=model, base_url=base_url, api_key=api_key, dialect=dialect, prompt=prompt)
            self.prompt: tuple[Fragment, ...] = prompt_of(given, config, extensions)
            speakers = speakers_of(given, self.prompt, config, folder, extensions)
            self.model: Model = speakers[0].model
            self._limits = chosen_limits(limits, max_steps, limits_of(config))
            require_prices(speakers, self._limits.cost)
            self._instead = instead_of(config.agent.fallback if fallback is None else fallback)
            self._keep_raw = keep_raw or config.log.keep_raw
            self.state = state_for(self, self.deployment, self._closing)
            extensions.listen(self.state)
            self._redactor = redactor_of(config)
            self._watched = partial(watched, extensions, self.state, self._redactor)
            self._telemetry = telemetry_of(config, self._redactor)
            self._name = name
            who = principal or (self.deployment.principal if self.deployment is not None else "person")
            mode = read_only or (self.deployment.read_only if self.deployment is not None else False)
            self._memory = memory_for(config, extensions, self.state, self._redactor, who)
            known = all_skills(self.deployment, skills, config)
            known |= remembering(self._memory, self.state, read_only=bool(mode))
            self._team = team_of(config, agents, known, self.deployment, name, only_delegates=only_delegates)
            known = self._team.skills
            self._showing = Showing.of(config, self.state, self._redactor)
            self._closing.append(self._showing.close)
            known = self._showing.searchable(known, read_only=mode)
            self._new_pipeline = partial(
                Pipeline,
                rules=rules_for(self.deployment, config, known),
                state=self.state,
                sandbox=self.deployment.sandbox if self.deployment is not None else None,
                approver=approver or extensions.approver,
                unattended=unattended or config.defaults.unattended,
                principal=who,
                agent=name,
                read_only=mode,
                yes_to_writes=yes_to_writes,
                durable_reads=config.log.reads == "durable",
                checkpoints=checkpoints_of(config, self.state) if self.deployment is not None else None,
                redactor=self._redactor,
                telemetry=self._telemetry,
                on_event=observed(extensions, self.state, known, self._redactor, self._heard),
                notify=notifier_of(config, folder) if self.deployment is not None else None,
                tape=tape,
            )
            self._pipeline = self._new_pipeline(skills=known)
            self._choir = Choir(speakers, self._pipeline.skills)
            shared = (self.state, self._redactor, self._telemetry, self._showing, self._running)
            self._team.start(self._new_pipeline, speakers, given, self._limits, *shared, keep_raw=self._keep_raw)
            self._granting = Granting(
                config.defaults.session_grants,
                state=self.state,
                store=Kept(self.state, self._redactor),
                skills=self._pipeline.skills,
                pipeline=self._new_pipeline,
                choir=self._choir,
                seen=self._telemetry.model,
                keep_raw=self._keep_raw,
            )
        except BaseException:
            self.close()
            raise

    @property
    def skills(self) -> Mapping[str, Skill]:
        """Full name to skill: what the model may call."""
        return self._pipeline.skills

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that every call of this agent goes through."""
        return self._pipeline

    def terms(self, **asked: Unpack[Asked]) -> Terms:
        """Return the terms of a run; they may name skills of agents below, too. Raises UsageError, see `arun`."""
        return terms_for(self.skills, below=self._team.below(), **asked)

    def preview(self, question: str = "", *, agent: str = "") -> Preview:
        """Return what the model gets before anybody said a word, with the skills that a first `question` finds.

        Raises UsageError where there is no `agent` of that name below, StateError where no fact can be read.
        """
        if agent:
            return self._team.preview(agent, question)
        return preview(self._choir, self.prompt, self._showing, question=question, memory=self._memory)

    def run(
        self,
        question: str,
        *,
        session: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        **asked: Unpack[Asked],
    ) -> RunResult:
        """Answer `question`, where no event loop runs; else see `arun`.

        Ctrl-C saves the session and raises KeyboardInterrupt.

        Raises:
            UsageError: an event loop is running, or see `arun`.
            StateError: the session cannot be read.
        """
        require_no_loop("run")
        return asyncio.run(self._disconnected(self.arun(question, session=session, on_event=on_event, **asked)))

    async def arun(
        self,
        question: str,
        *,
        session: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        **asked: Unpack[Asked],
    ) -> RunResult:
        """Answer `question` and return what came of it; an endpoint or host that fails is an outcome, too.

        Cancelled at any point, it saves the session with a result for every call.

        Args:
            question: what a person says.
            session: id of a session to go on with, or a new id; None for a new session.
            on_event: gets every event as it happens; the model is then asked to stream.
            asked: the terms of this run alone, which only narrow: `skills` and `without` (names of skills or packs
                that may be called, or not), `required` (skills without a call of which no answer counts), `first`
                (`auto`, `required`, `none`, or the skill that the first turn calls), `answer_type` (a pydantic model
                or other type, or a JSON Schema: the answer has it, as `RunResult.value`), `max_steps`, `grant` (skills
                that a person chose for the session, from this run on), `withdraw` (take back what waits in it).

        Raises:
            SessionWaits: a call waits in the session for a person, or for `aresume`, and `withdraw` is not asked for.
            UsageError: the id is none, the session has a run going on, or the terms cannot be kept.
            StateError: the session cannot be read.
        """
        return await self._alone(free_session(session, self._taken), question, on_event, self.terms(**asked))

    def resume(
        self, session: str, *, on_event: Callable[[Event], None] | None = None, **asked: Unpack[Asked]
    ) -> RunResult:
        """Go on with a stored session, where no event loop runs; else see `aresume`. Raises as `aresume`."""
        require_no_loop("resume")
        return asyncio.run(self._disconnected(self.aresume(session, on_event=on_event, **asked)))

    async def aresume(
        self, session: str, *, on_event: Callable[[Event], None] | None = None, **asked: Unpack[Asked]
    ) -> RunResult:
        """Go on with a stored session: one that waited for a sign-off, or was interrupted.

        A call that was approved meanwhile runs once, in whichever process comes first; one that was denied is
        told to the model; one that nobody answered waits on. A run that was narrowed to some skills has no others.

        Raises:
            UsageError: there is no such session, it has come to its end, it has a run going on, or see `arun`.
            StateError: the session cannot be read.
        """
        terms = self.terms(**asked)
        require_unfinished(self.state, free_session(session, self._taken))
        return await self._alone(session, None, on_event, terms)

    async def _alone(
        self, session: str, question: str | None, on_event: Callable[[Event], None] | None, terms: Terms
    ) -> RunResult:
        """Run in a session that no other process has at the same time."""
        emit = self._watched(on_event or (lambda _: None))
        with self.state.leased(session), taken(session, self._taken):
            terms = entered(terms, self.state, session, asks=question is not None)
            terms = with_images(terms, self.state, session)
            settled = await self._granting.settle(session, question, terms)
            run = await self._new_run(session, emit, stream=on_event is not None, settled=settled)
            self._running[session] = Running(run=run, emit=emit)
            try:
                return await self._observed(run, question)
            finally:
                del self._running[session]

    async def stream(
        self, question: str, *, session: str | None = None, **asked: Unpack[Asked]
    ) -> AsyncIterator[Event]:
        """Answer `question`, yielding every event; the last one is `RunEnded` with the result.

        Leaving the loop early cancels the run. Takes and raises what `arun` does.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        run = asyncio.create_task(self.arun(question, session=session, on_event=events.put_nowait, **asked))
        run.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await run
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)

    def close(self) -> None:
        """Close what this agent opened. Calling it again does nothing."""
        while self._closing:
            self._closing.pop()()

    async def aclose(self) -> None:
        """Close what this agent opened, and the models' connections on the running event loop."""
        await self._choir.aclose()
        await self._team.aclose()
        self.close()

    def __enter__(self) -> Agent:
        """Return the agent itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    async def __aenter__(self) -> Agent:
        """Return the agent itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()

    async def _disconnected(self, running: Awaitable[RunResult]) -> RunResult:
        try:
            return await running
        finally:
            await self._choir.aclose()
            await self._team.aclose()

    async def _new_run(self, session: str, emit: Callable[[Event], None], *, stream: bool, settled: Settled) -> Run:
        terms = settled.terms
        saved = self.state.load_session(session)
        begun = saved.transcript if saved is not None else await opening_of(self._memory, self.state, session)
        caller, seen = self._pipeline, sighted(self._telemetry.model, self.state, session)
        if terms.open is not None:
            caller = self._new_pipeline(skills=self._showing.searchable(narrowed(self.skills, terms.open)))
        if terms.open is None and terms.answer is None:
            voices = self._choir.voices(seen)
        else:
            voices = self._choir.with_terms(caller.skills, settled.instructions, seen)
        run = Run(
            session=session,
            transcript=read_back(begun, self.state, session),
            voices=voices,
            caller=caller,
            store=Kept(self.state, self._redactor),
            limits=terms.limited(self._limits),
            terms=terms,
            instead=self._instead,
            keep_raw=self._keep_raw,
            stream=stream,
            emit=emit,
            recall=Recall(self.state, session, caller.skills, "" if saved is None else saved.status).of,
            ended=settled.ended,
            showing=self._showing,
        )
        if settled.spent is not None:
            run.spend(*settled.spent)
        return run

    async def _observed(self, run: Run, question: str | None) -> RunResult:
        answer = run.resume() if question is None else run.execute(question)
        return await within_span(self._telemetry, run, answer, agent=self._name, model=self.model.name)

    def _heard(self, event: PipelineEvent) -> None:
        running = self._running.get(event.call.session)
        if running is not None and (told := from_pipeline(event)) is not None:
            running.run.hear_of_call(told)
