"""An agent for each person: what it does is for them, and what it keeps is theirs."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.agent import Agent
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment

_LOG = logging.getLogger("remit.http")

NewAgent = Callable[["Deployment", str], Agent]
"""Makes the agent of a person, over their view of the deployment. It must be for that principal."""

_AS_GIVEN = "write: lambda deployment, principal: Agent(deployment, principal=principal, ...)"

_KEPT = 32
"""Agents of people who ask nothing at the moment that are kept open."""


def standard_agent(deployment: Deployment, principal: str) -> Agent:
    """Return the agent that the deployment describes."""
    return Agent(deployment, principal=principal)


@dataclass(frozen=True, kw_only=True)
class _Open:
    agent: Agent
    view: Deployment


@dataclass(kw_only=True)
class _Place:
    """Where an agent is, or will be: whoever needs it meanwhile waits for the same one."""

    opening: asyncio.Task[_Open]
    users: int = 0


class Agents:
    """Opens agents when they are needed, and closes those that nobody needed for longest."""

    def __init__(self, deployment: Deployment, new_agent: NewAgent, *, kept: int = _KEPT) -> None:
        """Take the deployment that everybody has a view of, what makes an agent, and how many stay open unused."""
        self._deployment = deployment
        self._new_agent = new_agent
        self._kept = kept
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._leaving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def of(self, principal: str) -> AsyncIterator[Agent]:
        """Yield the agent of a person.

        Raises:
            RemitError: it cannot be made; no model is named, for one.
        """
        place = self._places.get(principal)
        if place is None:
            opening = asyncio.create_task(asyncio.to_thread(self._made, principal))
            place = self._places[principal] = _Place(opening=opening)
        self._places.move_to_end(principal)
        place.users += 1
        try:
            # Somebody who goes away while it is opened must not take it away from the others.
            opened = await asyncio.shield(place.opening)
            yield opened.agent
        finally:
            place.users -= 1
            if _failed(place) and self._places.get(principal) is place:
                del self._places[principal]
            self._let_go()

    async def aclose(self) -> None:
        """Close all of them. Calling it again does nothing."""
        while self._places:
            _, place = self._places.popitem()
            await self._close(place)
        while self._leaving:
            await asyncio.wait(self._leaving)

    def _let_go(self) -> None:
        """Take out those that are too many, at once: nobody gets one of them any more. They are closed by the way."""
        idle = [principal for principal, place in self._places.items() if not place.users]
        for principal in idle[: max(0, len(self._places) - self._kept)]:
            leaving = asyncio.create_task(self._close(self._places.pop(principal)))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def _close(self, place: _Place) -> None:
        """Close an agent; that it cannot be closed is nothing that a request could help, and is logged."""
        try:
            kept = await place.opening
        except Exception:
            return  # whoever asked for it was told
        try:
            await kept.agent.aclose()
        except Exception:
            _LOG.exception("an agent that nobody needs could not be closed")
        finally:
            if kept.view is not self._deployment:
                kept.view.close()

    def _made(self, principal: str) -> _Open:
        own = principal == self._deployment.principal
        view = self._deployment if own else self._deployment.acting_for(principal)
        try:
            agent = self._new_agent(view, principal)
            if agent.deployment is not view or agent.state.who != principal:
                agent.close()
                raise UsageError("the agent that was made acts for somebody else", remedy=_AS_GIVEN)
            return _Open(agent=agent, view=view)
        except BaseException:
            if not own:
                view.close()
            raise


def _failed(place: _Place) -> bool:
    return place.opening.done() and (place.opening.cancelled() or place.opening.exception() is not None)
