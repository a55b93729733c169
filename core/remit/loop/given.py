"""What a program gives an agent, checked and completed."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.loop.guards import Limits
from remit.loop.outcome import Instead
from remit.state.store import State

if TYPE_CHECKING:
    from remit.deployment.config import Config

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}")


def require_no_loop(method: str) -> None:
    """Raise UsageError where an event loop is running, in which `method` of an agent would block everything."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"Agent.{method} cannot be used while an event loop is running", remedy=f"write: await agent.a{method}(...)"
    )


def require_approver(approver: object) -> None:
    """Raise UsageError for an approver that nobody could be asked through."""
    if approver is not None and not callable(getattr(approver, "ask", None)):
        raise UsageError(
            f"approver is {type(approver).__name__}, which has no method ask",
            remedy="give an object with `async def ask(self, request: SignoffRequest) -> SignoffDecision`",
        )


def standard_config() -> Config:
    """Return the configuration of an agent without a deployment."""
    from remit.deployment.config import Config

    return Config()


def limits_of(config: Config) -> Limits:
    """Return the limits that a deployment sets for a run."""
    own = config.agent
    return Limits(steps=own.max_steps, tokens=own.max_tokens, seconds=own.max_seconds, cost=own.max_cost)


def instead_of(fallback: str | Instead | None) -> Instead | None:
    """Return what makes the answer of a failed run; a text is that answer itself."""
    return (lambda _: fallback) if isinstance(fallback, str) else fallback


def free_session(session: str | None, running: Container[str]) -> str:
    """Return the id of a session in which nothing runs, a new one for None.

    Raises:
        UsageError: the id is none, or the session has a run going on.
    """
    if session is None:
        return secrets.token_hex(8)
    if not _SESSION.fullmatch(session):
        raise UsageError(f"{session[:100]!r} is no id of a session: write letters, digits and _ . : @ -")
    if session in running:
        raise UsageError(f"session {session} has a run going on", remedy="wait for it, or use another session")
    return session


@contextmanager
def taken(session: str, sessions: set[str]) -> Iterator[None]:
    """Have `session` among those in which something runs, as long as the block does."""
    sessions.add(session)
    try:
        yield
    finally:
        sessions.discard(session)


def require_own(state: State, session: str) -> None:
    """Raise UsageError for a session that is another person's: what they said and what is remembered stands in it.

    So it does for that of a task that an agent gave: only that agent's session goes on with it.
    """
    owner = state.owner_of(session)
    if owner and state.who and owner != state.who:
        raise UsageError(
            f"session {session} is not one of {state.who}",
            remedy="begin another one; remit sessions resume goes on with it in the name of the person whose it is",
        )
    root = state.root_of(session)
    if root != session:
        raise UsageError(
            f"session {session} is a task that an agent gave in session {root}",
            remedy=f"go on with session {root}",
        )


def require_unfinished(state: State, session: str) -> None:
    """Raise UsageError for a session that is not there, or in which there is nothing to go on with."""
    saved = state.load_session(session)
    if saved is None:
        raise UsageError(f"there is no session {session}", remedy="remit sessions list")
    if saved.status == "answered" or not saved.transcript:
        raise UsageError(
            f"session {session} has come to its end",
            remedy=f"ask another question in it (on the command line: --session {session})",
        )
