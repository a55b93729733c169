"""Runs over HTTP: within the limits of each person, and ended when nobody listens any more."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from remit.errors import SessionWaits, UsageError
from remit.http.agents import Agents
from remit.http.answers import Refused, answer, of_error
from remit.http.identity import Identity
from remit.http.rate import Rates
from remit.loop.event_json import result_json

if TYPE_CHECKING:
    from starlette.types import Receive

    from remit.agent import Agent
    from remit.http.bodies import FileBody, RunBody
    from remit.loop.events import Event
    from remit.loop.outcome import RunResult
    from remit.loop.terms import Asked
    from remit.state.store import State

    Listen = Callable[[Event], None] | None
    Work = Callable[[Agent, Listen], Awaitable[RunResult]]


class Runs:
    """Runs that are under way; all end when the app does."""

    def __init__(self, agents: Agents, rates: Rates) -> None:
        """Take where agents come from, and how many runs there may be."""
        self._agents = agents
        self._rates = rates
        self._running: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[RunResult]] = set()
        self._stopping = False

    async def whole(self, request: Request, who: Identity, work: Work) -> Response:
        """Run, and answer with the result. Raises Refused: as `require_room`, or as `outcome`."""
        self.require_room(who)
        async with self.started(who, work, None) as run:
            await until_gone(run, request.receive)
            return answer(result_json(outcome(run)))

    @asynccontextmanager
    async def started(self, who: Identity, work: Work, listen: Listen) -> AsyncIterator[asyncio.Task[RunResult]]:
        """Yield a run that is under way; leaving ends it, with its session saved."""
        run = asyncio.create_task(self._work(who, work, listen))
        self._tasks.add(run)
        try:
            yield run
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            self._tasks.discard(run)

    def require_room(self, who: Identity) -> None:
        """Raise Refused where there are too many runs (429), or no more begin (503)."""
        later = {"retry-after": "5"}
        if self._stopping:
            raise Refused(503, "the server is ending", remedy="ask again in a moment", headers=later)
        full = self._running.total() >= self._rates.all_runs
        if full or self._running[who.name] >= self._rates.runs:
            raise Refused(429, "too many runs at the same time", remedy="wait until one has ended", headers=later)

    @contextmanager
    def room(self, who: Identity) -> Iterator[None]:
        """Keep a place while what is to be run comes in, which may be large. Raises Refused as `require_room`."""
        self.require_room(who)
        with self._counted(who):
            yield

    def stop(self) -> None:
        """End all runs and begin no more; their sessions are saved, and can be resumed."""
        self._stopping = True
        for run in tuple(self._tasks):
            run.cancel()

    async def aclose(self) -> None:
        """Do what `stop` does, and wait until every session is saved."""
        self.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, who: Identity, work: Work, listen: Listen) -> RunResult:
        with self._counted(who):
            async with self._agents.of(who.name) as agent:
                return await work(agent, listen)

    @contextmanager
    def _counted(self, who: Identity) -> Iterator[None]:
        self._running[who.name] += 1
        try:
            yield
        finally:
            self._running[who.name] -= 1
            if not self._running[who.name]:
                del self._running[who.name]


def fit(agent: Agent, asked: Asked) -> None:
    """Raise Refused (422) for terms that a run of this agent cannot have."""
    try:
        agent.terms(**asked)
    except UsageError as error:
        raise Refused(422, error.message, remedy=error.remedy) from None


async def kept_files(agent: Agent, body: RunBody) -> tuple[str | None, tuple[str, ...]]:
    """Return the session of a question, and the handles of its images and documents; what was sent is kept there.

    Raises:
        Refused: a file is not what is said of it, or too large for a model, or the session has none of such a handle
            (422). Then nothing is kept.
    """
    if not body.images:
        return body.session, ()
    session = body.session or secrets.token_hex(8)
    try:
        return session, await asyncio.to_thread(_keep, agent.state, session, body.images)
    except UsageError as error:
        raise Refused(422, error.message, remedy=error.remedy) from None


def _keep(state: State, session: str, images: Sequence[str | FileBody]) -> tuple[str, ...]:
    from remit.loop.sight import keep_image, require_kept, require_shown

    for one in images:
        if isinstance(one, str):
            require_kept(state, session, one)
        else:
            require_shown(one.media_type, one.content)
    return tuple(
        one if isinstance(one, str) else keep_image(state, session, one.media_type, one.content) for one in images
    )


def outcome(run: asyncio.Task[RunResult]) -> RunResult:
    """Return what came of a run that is over.

    Raises:
        Refused: the server ended it (503), it was wrong to begin it (409, 422), or the host failed (500).
    """
    if not run.done() or run.cancelled():
        raise Refused(503, "the run was ended", remedy="its session is saved: POST /sessions/{id}/resume goes on")
    error = run.exception()
    if isinstance(error, Refused):
        raise error
    if isinstance(error, SessionWaits):
        raise Refused(409, error.message, remedy=_after(error))
    if isinstance(error, UsageError):
        raise Refused(409, error.message, remedy=error.remedy)
    if error is not None:
        raise of_error(error)
    return run.result()


def _after(waits: SessionWaits) -> str:
    """Return what is to be sent before a session takes another question."""
    answers = [f"POST /signoffs/{waits.requests[0]}/decision"] if waits.requests else []
    first = ", then ".join([*answers, f"POST /sessions/{waits.session}/resume"])
    return f'{first}; or send the question with "withdraw": true, which takes the call back'


async def until_gone(work: asyncio.Task[Any], receive: Receive) -> None:
    """Return when `work` is over, or the client has gone away."""
    gone = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
