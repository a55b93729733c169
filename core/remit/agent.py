"""`Agent`: a model with the skills of a deployment, or of the program it is part of."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from remit.errors import StateError, UsageError
from remit.extensions.extensions import NO_EXTENSIONS
from remit.loop.chosen_model import chosen_model
from remit.loop.events import Event
from remit.loop.from_pipeline import from_pipeline
from remit.loop.guards import Limits, chosen_limits
from remit.loop.interpreters import Speech, interpreter_for
from remit.loop.kept import Kept
from remit.loop.outcome import RunResult
from remit.loop.prompt import with_fragments
from remit.loop.run import Run
from remit.loop.transcript import Transcript
from remit.models.protocol import Model
from remit.pipeline.configured import checkpoints_of, notifier_of, redactor_of, telemetry_of
from remit.pipeline.events import PipelineEvent
from remit.pipeline.observing import observed
from remit.pipeline.pipeline import Pipeline
from remit.policy.rules import Rules
from remit.skills import Skill
from remit.state.store import State
from remit.values import ReadOnly

if TYPE_CHECKING:
    from remit.deployment.config import Config
    from remit.deployment.deployment import Deployment
    from remit.pipeline.attempt import Approver

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}")
_STRICTNESS: Sequence[ReadOnly] = (False, True, "strict")


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
        limits: further guards of a run; `max_steps` counts before its `steps`.
        yes_to_writes: writes need no sign-off, where the deployment allows that.
        principal: for whom it acts; None for the deployment's own.
        name: of the agent, for rules.

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
        prompt: str | None = None,
        approver: Approver | None = None,
        max_steps: int | None = None,
        read_only: ReadOnly = False,
        keep_raw: bool = False,
        unattended: Literal["park", "deny"] | None = None,
        limits: Limits | None = None,
        yes_to_writes: bool = False,
        principal: str | None = None,
        name: str = "",
    ) -> None:
        _require_approver(approver)
        self._closing: list[Callable[[], object]] = []
        self._running: dict[str, Callable[[Event], None]] = {}
        try:
            self.deployment = self._opened(deployment, read_only)
            config = self.deployment.config if self.deployment is not None else _standard()
            folder = self.deployment.folder if self.deployment is not None else Path()
            extensions = self.deployment.extensions if self.deployment is not None else NO_EXTENSIONS
            self.model: Model = chosen_model(model, base_url, api_key, config, folder, extensions)
            self._limits = chosen_limits(limits, max_steps, config.agent.max_steps)
            self._keep_raw = keep_raw or config.log.keep_raw
            self._context = config.model.context_length
            self.state = self._new_state()
            extensions.listen(self.state)
            self._redactor = redactor_of(config)
            self._telemetry = telemetry_of(config, self._redactor)
            self._name = name
            known = self._all_skills(skills, config)
            self._pipeline = Pipeline(
                skills=known,
                rules=self._rules(config, skills),
                state=self.state,
                sandbox=self.deployment.sandbox if self.deployment is not None else None,
                approver=approver or extensions.approver,
                unattended=unattended or config.defaults.unattended,
                principal=principal or (self.deployment.principal if self.deployment is not None else "person"),
                agent=name,
                read_only=read_only or (self.deployment.read_only if self.deployment is not None else False),
                yes_to_writes=yes_to_writes,
                durable_reads=config.log.reads == "durable",
                checkpoints=checkpoints_of(config, self.state) if self.deployment is not None else None,
                redactor=self._redactor,
                telemetry=self._telemetry,
                on_event=observed(extensions, self.state, known, self._redactor, self._heard),
                notify=notifier_of(config, folder) if self.deployment is not None else None,
            )
            speech = Speech(
                dialect=dialect or config.model.dialect,
                prompt=with_fragments(config.agent.prompt if prompt is None else prompt, extensions.fragments),
                text_calls=config.model.text_calls,
                tag=config.model.tag,
                examples=config.model.examples,
                temperature=config.model.temperature,
                max_tokens=config.model.max_tokens,
                context=self._context,
            )
            self._interpreter = interpreter_for(self._pipeline.skills, speech)
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

    def run(
        self, question: str, *, session: str | None = None, on_event: Callable[[Event], None] | None = None
    ) -> RunResult:
        """Answer `question`, where no event loop runs; else see `arun`.

        Ctrl-C saves the session and raises KeyboardInterrupt.

        Raises:
            UsageError: an event loop is running, or see `arun`.
            StateError: the session cannot be read.
        """
        _no_loop("run")
        return asyncio.run(self._run_and_disconnect(session, question, on_event))

    async def arun(
        self, question: str, *, session: str | None = None, on_event: Callable[[Event], None] | None = None
    ) -> RunResult:
        """Answer `question` and return what came of it; an endpoint or host that fails is an outcome, too.

        Cancelled at any point, it saves the session with a result for every call.

        Args:
            question: what a person says.
            session: id of a session to go on with, or a new id; None for a new session.
            on_event: gets every event as it happens; the model is then asked to stream.

        Raises:
            UsageError: the id is none, or the session has a run going on.
            StateError: the session cannot be read.
        """
        return await self._alone(self._free(session), question, on_event)

    def resume(self, session: str, *, on_event: Callable[[Event], None] | None = None) -> RunResult:
        """Go on with a stored session, where no event loop runs; else see `aresume`. Raises as `aresume`."""
        _no_loop("resume")
        return asyncio.run(self._run_and_disconnect(session, None, on_event))

    async def aresume(self, session: str, *, on_event: Callable[[Event], None] | None = None) -> RunResult:
        """Go on with a stored session: one that waited for a sign-off, or was interrupted.

        A call that was approved meanwhile runs once, in whichever process comes first; one that was denied is
        told to the model; one that nobody answered waits on.

        Raises:
            UsageError: there is no such session, it has come to its end, or it has a run going on.
            StateError: the session cannot be read.
        """
        saved = self.state.load_session(self._free(session))
        if saved is None:
            raise UsageError(f"there is no session {session}", remedy="remit sessions list")
        if saved.status == "answered" or not saved.transcript:
            raise UsageError(f"session {session} has come to its end", remedy=f"ask on with --session {session}")
        return await self._alone(session, None, on_event)

    async def _alone(self, session: str, question: str | None, on_event: Callable[[Event], None] | None) -> RunResult:
        """Run in a session that no other process has at the same time."""
        emit = on_event or _ignore
        with self.state.leased(session):
            self._running[session] = emit
            try:
                return await self._observed(self._new_run(session, emit, stream=on_event is not None), question)
            finally:
                del self._running[session]

    async def stream(self, question: str, *, session: str | None = None) -> AsyncIterator[Event]:
        """Answer `question`, yielding every event; the last one is `RunEnded` with the result.

        Leaving the loop early cancels the run. Raises as `arun`.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        run = asyncio.create_task(self.arun(question, session=session, on_event=events.put_nowait))
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
        """Close what this agent opened, and the model's connections on the running event loop."""
        await self.model.aclose()
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

    async def _run_and_disconnect(
        self, session: str | None, question: str | None, on_event: Callable[[Event], None] | None
    ) -> RunResult:
        try:
            if question is None:
                return await self.aresume(session or "", on_event=on_event)
            return await self.arun(question, session=session, on_event=on_event)
        finally:
            await self.model.aclose()

    def _new_run(self, session: str, emit: Callable[[Event], None], *, stream: bool) -> Run:
        saved = self.state.load_session(session)
        return Run(
            session=session,
            transcript=Transcript.from_json(saved.transcript if saved is not None else ()),
            model=self._telemetry.model(self.model),
            interpreter=self._interpreter,
            caller=self._pipeline,
            store=Kept(self.state, self._redactor),
            limits=self._limits,
            context=self._context,
            keep_raw=self._keep_raw,
            stream=stream,
            emit=emit,
        )

    async def _observed(self, run: Run, question: str | None) -> RunResult:
        """Execute a run inside its span, where OpenTelemetry is configured."""
        seen = self._telemetry.run(session=run.session, agent=self._name, model=self.model.name)
        answer = run.resume() if question is None else run.execute(question)
        if seen is None:
            return await answer
        with seen:
            result = await answer
            seen.ended(result)
        return result

    def _free(self, session: str | None) -> str:
        if session is None:
            return secrets.token_hex(8)
        if not _SESSION.fullmatch(session):
            raise UsageError(f"{session[:100]!r} is no id of a session: write letters, digits and _ . : @ -")
        if session in self._running:
            raise UsageError(f"session {session} has a run going on", remedy="wait for it, or use another session")
        return session

    def _heard(self, event: PipelineEvent) -> None:
        emit = self._running.get(event.call.session)
        if emit is not None and (told := from_pipeline(event)) is not None:
            emit(told)

    def _opened(self, deployment: Deployment | str | Path | None, read_only: ReadOnly) -> Deployment | None:
        if deployment is None:
            return None
        if isinstance(deployment, (str, Path)):
            from remit.deployment.deployment import Deployment

            opened = Deployment.open(deployment, read_only=read_only)
            self._closing.append(opened.close)
            return opened
        if _STRICTNESS.index(read_only) > _STRICTNESS.index(deployment.read_only):
            raise UsageError(
                "the deployment is open with more rights than this agent may have",
                remedy=f"open it with read_only={read_only!r}",
            )
        return deployment

    def _new_state(self) -> State:
        if self.deployment is not None:
            state = State(self.deployment.state_folder)
            self._closing.append(state.close)
            return state
        folder = tempfile.mkdtemp(prefix="remit-")
        state = State(Path(folder))
        self._closing.append(weakref.finalize(self, _discard, state, folder))
        return state

    def _all_skills(self, functions: Sequence[Callable[..., Any]], config: Config) -> dict[str, Skill]:
        skills = dict(self.deployment.skills) if self.deployment is not None else {}
        if not functions:
            return skills
        from remit.local_skills import local_skill, require_allowed

        for function in functions:
            local = local_skill(function)
            if local.full in skills:
                raise UsageError(f"two functions are called {local.name}", remedy='rename one: @skill(name="...")')
            if self.deployment is not None:
                require_allowed(local, config.host_skills.allow)
            skills[local.full] = local
        return skills

    def _rules(self, config: Config, functions: Sequence[Callable[..., Any]]) -> Rules:
        if self.deployment is not None:
            return self.deployment.rules
        return Rules.load((), config.defaults, skills=self._all_skills(functions, config))


def _no_loop(method: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"Agent.{method} cannot be used while an event loop is running", remedy=f"write: await agent.a{method}(...)"
    )


def _require_approver(approver: object) -> None:
    if approver is not None and not callable(getattr(approver, "ask", None)):
        raise UsageError(
            f"approver is {type(approver).__name__}, which has no method ask",
            remedy="give an object with `async def ask(self, request: SignoffRequest) -> SignoffDecision`",
        )


def _standard() -> Config:
    from remit.deployment.config import Config

    return Config()


def _discard(state: State, folder: str) -> None:
    try:
        state.close()
    except StateError:
        pass
    shutil.rmtree(folder, ignore_errors=True)


def _ignore(_: Event) -> None:
    """Let an event pass."""
