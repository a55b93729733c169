"""`create_app`: the ASGI app. It mounts in somebody's program, or runs with `remit serve`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit import __version__
from remit.errors import RemitError
from remit.http.agents import Agents, NewAgent, standard_agent
from remit.http.answers import Refused, answer, of_error, of_status
from remit.http.bodies import DecisionBody, DecisionsBody, EditBody, RunBody, read
from remit.http.failures import EVENT, Failures
from remit.http.gate import Gate
from remit.http.identity import Identify, Identity, Role
from remit.http.local_key import LocalKey
from remit.http.matrix import matrix
from remit.http.rate import Rates
from remit.http.reachable import reaching_this_machine
from remit.http.runs import Runs, fit, kept_files
from remit.http.sessions import SessionShelf
from remit.http.signoffs import SignoffDesk
from remit.http.standing import StandingDesk
from remit.http.streams import STREAM, Streamed
from remit.http.tokens import Tokens
from remit.state.store import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from remit.agent import Agent
    from remit.deployment.deployment import Deployment
    from remit.http.runs import Listen, Work
    from remit.loop.outcome import RunResult
    from remit.loop.terms import Asked

    Handler = Callable[[Request, Identity], Awaitable[Response]]


def create_app(
    deployment: Deployment,
    *,
    identify: Identify | None = None,
    tokens: Tokens | None = None,
    key: LocalKey | None = None,
    anyone_here: bool = False,
    agent: NewAgent = standard_agent,
    origins: Sequence[str] = (),
    rates: Rates | None = None,
) -> App:
    """Return the ASGI app of a deployment.

    Several apps, in several processes, may serve one deployment: an approval is still used once. Close the app
    before the deployment (`await app.aclose()`); where it is the whole server, its lifespan does that.

    Args:
        deployment: an open deployment. It stays yours to close.
        identify: tells who sends a request: a name, an `Identity`, or None. It may be async.
        tokens: that count beside `identify`; without `identify` the deployment's own count, where there are any.
        key: without `identify` and tokens, who sends this key from this machine is the person here.
        anyone_here: without `identify` and tokens, whoever connects from this machine is the person here. Behind a
            proxy on this machine that is everybody.
        agent: makes the agent of a person, from their view of the deployment and their name.
        origins: other origins whose pages may ask.
        rates: limits; None for the usual ones.
    """
    return App(
        deployment,
        identify=identify,
        tokens=tokens,
        key=key,
        anyone_here=anyone_here,
        agent=agent,
        origins=origins,
        rates=rates or Rates(),
    )


class App:
    """The ASGI app of a deployment; see `create_app`."""

    def __init__(
        self,
        deployment: Deployment,
        *,
        identify: Identify | None,
        tokens: Tokens | None,
        key: LocalKey | None,
        anyone_here: bool,
        agent: NewAgent,
        origins: Sequence[str],
        rates: Rates,
    ) -> None:
        """Put the app together; nothing is opened yet."""
        self._deployment = deployment
        self._new_agent = agent
        self._state = State(deployment.state_folder)
        deployment.extensions.listen(self._state)
        self._agents = Agents(deployment, agent)
        self._runs = Runs(self._agents, rates)
        self._desk = SignoffDesk(self._state)
        self._standing = StandingDesk(self._state, deployment)
        self._shelf = SessionShelf(self._state, deployment.principal)
        self._gate = Gate(
            person=deployment.principal,
            identify=identify,
            tokens=(tokens or Tokens(deployment.state_folder)).over(self._state),
            own_tokens=tokens is not None,
            failures=Failures(self._record_failure, rates),
            rates=rates,
            key=key,
            anyone_here=anyone_here,
            origins=origins,
        )
        self._app = self._built()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    @property
    def routes(self) -> tuple[str, ...]:
        """What can be asked: `GET /signoffs`, ..."""
        found = [route for route in self._app.routes if isinstance(route, Route)]
        return tuple(f"{min((route.methods or set()) - {'HEAD'})} {route.path}" for route in found)

    def stop(self) -> None:
        """End all runs and begin no more; what is under way is saved."""
        self._runs.stop()

    async def aclose(self) -> None:
        """End all runs, and close the agents and the state. Calling it again does nothing."""
        await self._runs.aclose()
        await self._agents.aclose()
        self._state.close()

    def _built(self) -> Starlette:
        get, post = partial(self._route, methods=["GET"]), partial(self._route, methods=["POST"])
        app = Starlette(
            routes=[
                Route("/health", self._health, methods=["GET"]),
                get("/signoffs", self._list_signoffs, None),
                post("/signoffs/decisions", self._decide_all, "approver"),
                get("/signoffs/{id}", self._show_signoff, None),
                post("/signoffs/{id}/decision", self._decide, "approver"),
                post("/signoffs/{id}/edit", self._edit, "approver"),
                post("/signoffs/{id}/revoke", self._revoke, "approver"),
                get("/standing", self._list_standing, None),
                post("/standing/{id}/revoke", self._revoke_standing, "approver"),
                post("/runs", self._run, "user"),
                get("/sessions", self._list_sessions, "user"),
                get("/sessions/{id}", self._show_session, "user"),
                post("/sessions/{id}/resume", self._resume, "user"),
                get("/audit", self._audit, None),
            ],
            exception_handlers={
                HTTPException: _http_error,
                Refused: _refused,
                RemitError: _remit_error,
                Exception: _unexpected,
            },
            lifespan=self._lifespan,
        )
        app.router.redirect_slashes = False
        return app

    def _route(self, path: str, handler: Handler, role: Role | None, *, methods: list[str]) -> Route:
        async def endpoint(request: Request) -> Response:
            return await handler(request, await self._gate.admit(request, role))

        return Route(path, endpoint, methods=methods)

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[None]:
        yield
        await self.aclose()

    async def _health(self, request: Request) -> Response:
        self._gate.look_at(request)
        await asyncio.to_thread(self._state.database.read, lambda c: c.execute("SELECT 1").fetchone())
        return answer({"status": "ok", "version": __version__})

    async def _list_signoffs(self, request: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._desk.list, who, everything=_all(request)))

    async def _show_signoff(self, request: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._desk.show, request.path_params["id"], who))

    async def _decide(self, request: Request, who: Identity) -> Response:
        body, able = await read(request, DecisionBody), await self._able(who)
        return answer(await asyncio.to_thread(self._desk.decide, request.path_params["id"], body, who, able=able))

    async def _edit(self, request: Request, who: Identity) -> Response:
        body, able = await read(request, EditBody), await self._able(who)
        id_, deployment = request.path_params["id"], self._deployment
        return answer(await asyncio.to_thread(self._desk.edit, id_, body, who, deployment, able=able))

    async def _revoke(self, request: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._desk.revoke, request.path_params["id"], who))

    async def _list_standing(self, request: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._standing.list, who, everything=_all(request)))

    async def _revoke_standing(self, request: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._standing.revoke, request.path_params["id"], who))

    async def _decide_all(self, request: Request, who: Identity) -> Response:
        body, able = await read(request, DecisionsBody), await self._able(who)
        return answer(await asyncio.to_thread(self._desk.decide_all, body, who, able=able))

    async def _run(self, request: Request, who: Identity) -> Response:
        with self._runs.room(who):
            body = await read(request, RunBody)
        if body.session is not None:
            await asyncio.to_thread(self._shelf.find, body.session, who)

        async def work(agent: Agent, listen: Listen) -> RunResult:
            fit(agent, body.asked)
            session, images = await kept_files(agent, body)
            asked: Asked = {**body.asked, "images": images}
            return await agent.arun(body.question, session=session, on_event=listen, **asked)

        return await self._answered(request, who, work)

    async def _resume(self, request: Request, who: Identity) -> Response:
        found = await asyncio.to_thread(self._shelf.find, request.path_params["id"], who)

        async def work(agent: Agent, listen: Listen) -> RunResult:
            return await agent.aresume(agent.state.root_of(found.id), on_event=listen)

        return await self._answered(request, who, work)

    async def _answered(self, request: Request, who: Identity, work: Work) -> Response:
        if STREAM in request.headers.get("accept", ""):
            return Streamed(self._runs, who, work)
        return await self._runs.whole(request, who, work)

    async def _list_sessions(self, _: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._shelf.list, who))

    async def _show_session(self, request: Request, who: Identity) -> Response:
        return answer(await asyncio.to_thread(self._shelf.show, request.path_params["id"], who))

    async def _audit(self, _: Request, __: Identity) -> Response:
        return answer(await asyncio.to_thread(matrix, self._deployment, self._state))

    async def _able(self, who: Identity) -> tuple[str, ...]:
        """Return the skills that could send this decision themselves: none where it takes a token."""
        if not who.alone:
            return ()
        skills = self._deployment.skills
        if self._new_agent is not standard_agent:
            async with self._agents.of(who.name) as agent:
                skills = agent.skills
        allowed = self._deployment.config.host_skills.allow
        return await asyncio.to_thread(reaching_this_machine, tuple(skills.values()), allowed)

    def _record_failure(self, body: dict[str, Any]) -> None:
        self._state.append(EVENT, body=body, who="", durable=False)


def _all(request: Request) -> bool:
    return request.query_params.get("all", "0") not in ("", "0", "false")


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response


def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return of_status(error.status_code, error.headers).response


def _remit_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RemitError)
    return of_error(error).response


def _unexpected(_: Request, __: Exception) -> Response:
    """Answer without a word of what happened: the server that the app runs in logs the traceback."""
    return Refused(500, "Remit failed", remedy="the log of the server says more").response
