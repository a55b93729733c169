"""What waits for a person in a session, and what another question there means for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.errors import SessionWaits
from remit.loop.given import require_own, require_unfinished
from remit.loop.terms import Terms, going_on
from remit.loop.transcript import Transcript
from remit.skills import ENABLE_SKILLS

if TYPE_CHECKING:
    from remit.state.answering import StoredSignoff
    from remit.state.sessions import SavedSession
    from remit.state.store import State

SHOWN_ID = 12
"""Characters of an id that people are shown."""


def waiting_in(state: State, session: str) -> tuple[StoredSignoff, ...]:
    """Return the requests for calls that a session would go on with, also those of the tasks given in it.

    Each waits for a person, or is approved and waits for the run to go on. A request that no run would come back to
    is not among them: of a single call (`remit call`), or of a call that the session has gone on without.

    Raises:
        StateError: the session cannot be read.
    """
    live = state.live_signoffs(session)
    open_ = {one: _calls_to_make(state.load_session(one)) for one in {one.session for one in live}}
    return tuple(one for one in live if one.call in open_[one.session])


def goes_on_with(saved: SavedSession, asked: StoredSignoff) -> bool:
    """Tell whether a session that is gone on with comes back to what was asked: a call, or what it has at all.

    Raises:
        StateError: the session cannot be read.
    """
    return asked.call in _calls_to_make(saved) or (asked.skill == ENABLE_SKILLS and saved.status == "parked")


def _calls_to_make(saved: SavedSession | None) -> frozenset[str]:
    """Return the ids of the calls that a session makes when it is gone on with; none where it has come to its end."""
    if saved is None or saved.status == "answered" or (saved.parent and saved.status not in ("parked", "running")):
        return frozenset()
    transcript = Transcript.from_json(saved.transcript, keep_open=True)
    transcript.reopen()
    return frozenset(call.id for call in transcript.open_calls)


def entered(terms: Terms, state: State, session: str, *, asks: bool) -> Terms:
    """Return the terms with which a run begins in a session whose lease this process holds.

    Args:
        terms: as they were asked for.
        state: has the session.
        session: its id.
        asks: there is a question; else the session is gone on with.

    Raises:
        SessionWaits: see `make_way`.
        UsageError: it is somebody else's, or there is nothing to go on with.
        StateError: the state cannot be read or written.
    """
    require_own(state, session)
    if asks:
        make_way(state, session, withdraw=terms.withdraw)
        return terms
    require_unfinished(state, session)  # another process may have come first, until the lease
    return going_on(terms, state, session)


def make_way(state: State, session: str, *, withdraw: bool) -> None:
    """Let another question be asked in a session; this process holds its lease.

    Args:
        state: has the session.
        session: its id.
        withdraw: take back what waits there. Its calls are told to the model as not run, and tasks that wait end.

    Raises:
        SessionWaits: something waits there, and is not to be taken back.
        StateError: the state cannot be read or written.
    """
    waiting = waiting_in(state, session)
    if waiting and not withdraw:
        raise SessionWaits(
            f"session {session} takes no other question yet: {_words(waiting)}",
            session=session,
            requests=tuple(one.nonce for one in waiting if one.state == "pending"),
            remedy=_remedy(session, waiting),
        )
    if waiting:
        state.withdraw_signoffs(waiting, by=state.who or "a person")
    state.stop_tasks(session)


def _words(waiting: Sequence[StoredSignoff]) -> str:
    parts = []
    for state, words in (("pending", "waits for a person's sign-off"), ("approved", "is approved and has not run yet")):
        names = list(dict.fromkeys(one.skill or "a call" for one in waiting if one.state == state))
        if names:
            parts.append(f"{', '.join(names)} {words}")
    return "; ".join(parts)


def _remedy(session: str, waiting: Sequence[StoredSignoff]) -> str:
    open_ = next((one.nonce[:SHOWN_ID] for one in waiting if one.state == "pending"), "")
    resume = f"remit sessions resume {session} (goes on with what was asked there before)"
    lines = [f"remit signoff show {open_}, and then approve or deny it", f"then: {resume}"] if open_ else [resume]
    return "\n".join(
        [*lines, "or: ask with --withdraw (withdraw=True in a program): the call is taken back, and never runs"]
    )
