"""Sign-offs: requests, decisions, and answers that hold for a session."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from remit.state.chain import Chain, Entry, Prepared, prepared
from remit.state.database import Database
from remit_sandbox.canonical import canonical
from remit_sandbox.signoff import Asked, SignoffDecision, SignoffRequest, SignoffState, answered

if TYPE_CHECKING:
    import sqlite3


HIDDEN = "[not recorded]"
"""Stands in a kept request for an argument that its pack declared secret."""


Remembered = Literal["allowed", "denied", "stopped"]
"""What is remembered for a session: calls may run, the action is refused, or it is and its run has yet to end."""


@dataclass(frozen=True, kw_only=True)
class PendingSignoff:
    """A request that waits for a person.

    Attributes:
        nonce: its id.
        digest: what an answer must name.
        session, call: where it came from.
        created, expires: seconds since 1970.
        request: the request as JSON, for display.
    """

    nonce: str
    digest: str
    session: str
    call: str
    created: float
    expires: float
    request: dict[str, Any]


class Signoffs:
    """Keeping requests until they are consumed; each is consumed at most once."""

    database: Database
    _tell: Callable[[Sequence[Prepared], int], None]

    def put_signoff(self, request: SignoffRequest, *, call: str = "") -> None:
        """Keep a new pending request; secret arguments stay out of it, and are bound by its digest.

        Raises:
            StateError: it cannot be written.
        """
        row = _row(request, call)
        self.database.write(lambda connection: connection.execute(_INSERT, row))

    def decide_signoff(self, decision: SignoffDecision, *, nonce: str) -> SignoffState:
        """Apply `decision` to a pending request and return the state that it has now.

        A decision for another digest, or about a request that is settled already, changes nothing.

        Raises:
            StateError: it cannot be written.
        """
        return self.database.write(lambda connection: apply_decision(connection, nonce, decision)[0])

    def start_call(self, entries: Sequence[Entry], *, nonce: str, digest: str) -> bool:
        """Consume an approval and write `call.started` in one transaction.

        Returns:
            False when the approval does not exist, is for another digest, has expired, or was
            consumed before; then nothing is written and the call must not run.

        Raises:
            StateError: it cannot be written; the call must not run.
        """
        rows = [prepared(entry) for entry in entries]
        return self._started(rows, self.database.write(self._consuming(rows, nonce, digest)))

    async def astart_call(self, entries: Sequence[Entry], *, nonce: str, digest: str) -> bool:
        """Do what `start_call` does, without holding up the event loop while the disk works."""
        rows = [prepared(entry) for entry in entries]
        return self._started(rows, await self.database.awrite(self._consuming(rows, nonce, digest)))

    def _consuming(self, rows: list[Prepared], nonce: str, digest: str) -> Callable[[sqlite3.Connection], int | None]:
        def work(connection: sqlite3.Connection) -> int | None:
            found = _look_up(connection, nonce)
            if found is None or found[:2] != (digest, "approved") or time.time() > found[2]:
                return None
            connection.execute("UPDATE signoffs SET state = 'consumed' WHERE nonce = ?", (nonce,))
            return Chain(connection, self.database.scratch).add_all(rows)

        return work

    def _started(self, rows: list[Prepared], last: int | None) -> bool:
        if last is not None:
            self._tell(rows, last)
        return last is not None

    def pending_signoffs(self) -> tuple[PendingSignoff, ...]:
        """Return the requests that wait for a person and have not expired, oldest first.

        Raises:
            StateError: they cannot be read.
        """
        query = (
            "SELECT nonce, digest, session, call, created, expires, request FROM signoffs"
            " WHERE state = 'pending' AND expires > ? ORDER BY created, nonce"
        )
        rows = self.database.read(lambda c: c.execute(query, (time.time(),)).fetchall())
        names = ("nonce", "digest", "session", "call", "created", "expires")
        return tuple(PendingSignoff(**dict(zip(names, row, strict=False)), request=json.loads(row[6])) for row in rows)

    def remember_answer(self, session: str, action: str, answer: Remembered, reason: str = "") -> None:
        """Keep a person's answer about an action for the rest of the session.

        The reason of what is allowed is the id of the request that allowed it, by which it can be taken back.

        Raises:
            StateError: it cannot be written.
        """
        row = (session, action, answer, reason, time.time())
        query = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)"
        self.database.write(lambda connection: connection.execute(query, row))

    def remembered_answer(self, session: str, action: str) -> tuple[Remembered, str] | None:
        """Return the answer kept for an action of this session with its reason, or None.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT answer, reason FROM answers WHERE session = ? AND action = ?"
        row = self.database.read(lambda c: c.execute(query, (session, action)).fetchone())
        return None if row is None else cast("tuple[Remembered, str]", tuple(row))


def apply_decision(connection: sqlite3.Connection, nonce: str, decision: SignoffDecision) -> tuple[SignoffState, str]:
    """Apply a decision inside a transaction; return the state that the request has now, and why it did not count."""
    query = "SELECT digest, who, expires, approvers, state, people FROM signoffs WHERE nonce = ?"
    row = connection.execute(query, (nonce,)).fetchone()
    if row is None:
        return "expired", "there is no such request"
    digest, who, expires, approvers, state, people = row
    before = Asked(
        digest=digest,
        principal=who,
        expires=expires,
        approvers=approvers,
        state=state,
        people=tuple(json.loads(people)),
    )
    after, why_not = answered(before, decision)
    if after != before:
        update = "UPDATE signoffs SET state = ?, people = ?, decision = ? WHERE nonce = ?"
        connection.execute(update, (after.state, json.dumps(after.people), canonical(vars(decision)), nonce))
    return after.state, why_not


def insert_request(connection: sqlite3.Connection, request: SignoffRequest, *, call: str, edits: str = "") -> None:
    """Keep a pending request inside a transaction; `edits` is the action in whose place it comes."""
    connection.execute(_INSERT, _row(request, call, edits))


_INSERT = (
    "INSERT INTO signoffs"
    " (nonce, digest, action, session, call, state, created, expires, request, who, approvers, edits)"
    " VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)"
)


def _row(request: SignoffRequest, call: str, edits: str = "") -> tuple[Any, ...]:
    action = request.action
    shown = {n: HIDDEN if n in request.secret else v for n, v in action.arguments.items()}
    body = canonical({**vars(request), "action": {**vars(action), "arguments": shown}})
    about = (request.nonce, request.digest, action.digest, action.session, call)
    return (*about, time.time(), request.expires, body, action.principal, request.approvers, edits)


def _look_up(connection: sqlite3.Connection, nonce: str) -> tuple[str, SignoffState, float] | None:
    query = "SELECT digest, state, expires FROM signoffs WHERE nonce = ?"
    return cast("tuple[str, SignoffState, float] | None", connection.execute(query, (nonce,)).fetchone())
