"""Sign-offs: requests, decisions, and answers that hold for a session."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from remit.state.database import Database
from remit.state.records import Entry, insert, row_of
from remit_sandbox.canonical import canonical
from remit_sandbox.signoff import SignoffDecision, SignoffRequest, SignoffState, may_follow

if TYPE_CHECKING:
    import sqlite3


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

    def put_signoff(self, request: SignoffRequest, *, call: str = "") -> None:
        """Keep a new pending request; secret arguments stay out of it, and are bound by its digest.

        Raises:
            StateError: it cannot be written.
        """
        action = request.action
        shown = {n: "[not recorded]" if n in request.secret else v for n, v in action.arguments.items()}
        body = canonical({**vars(request), "action": {**vars(action), "arguments": shown}})
        row = (
            request.nonce, request.digest, action.digest, action.session, call, "pending",
            time.time(), request.expires, body, None,
        )  # fmt: skip
        query = "INSERT INTO signoffs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self.database.write(lambda connection: connection.execute(query, row))

    def decide_signoff(self, decision: SignoffDecision, *, nonce: str) -> SignoffState:
        """Apply `decision` to a pending request and return the state that it has now.

        A decision for another digest, or about a request that is settled already, changes nothing.

        Raises:
            StateError: it cannot be written.
        """
        wanted: SignoffState = "approved" if decision.approves else "denied"

        def work(connection: sqlite3.Connection) -> SignoffState:
            found = _look_up(connection, nonce)
            if found is None:
                return "expired"
            digest, state, expires = found
            after: SignoffState = "expired" if time.time() > expires and decision.approves else wanted
            if digest != decision.digest or not may_follow(state, after):
                return state
            connection.execute(
                "UPDATE signoffs SET state = ?, decision = ? WHERE nonce = ?",
                (after, canonical(vars(decision)), nonce),
            )
            return after

        return self.database.write(work)

    def start_call(self, entries: Sequence[Entry], *, nonce: str, digest: str) -> bool:
        """Consume an approval and write `call.started` in one transaction.

        Returns:
            False when the approval does not exist, is for another digest, has expired, or was
            consumed before; then nothing is written and the call must not run.

        Raises:
            StateError: it cannot be written; the call must not run.
        """
        rows = [row_of(entry) for entry in entries]

        def work(connection: sqlite3.Connection) -> bool:
            found = _look_up(connection, nonce)
            if found is None or found[:2] != (digest, "approved") or time.time() > found[2]:
                return False
            connection.execute("UPDATE signoffs SET state = 'consumed' WHERE nonce = ?", (nonce,))
            insert(connection, rows)
            return True

        return self.database.write(work)

    def pending_signoffs(self) -> tuple[PendingSignoff, ...]:
        """Return the requests that wait for a person and have not expired, oldest first.

        Raises:
            StateError: they cannot be read.
        """
        import json

        query = (
            "SELECT nonce, digest, session, call, created, expires, request FROM signoffs"
            " WHERE state = 'pending' AND expires > ? ORDER BY created, nonce"
        )
        rows = self.database.read(lambda c: c.execute(query, (time.time(),)).fetchall())
        names = ("nonce", "digest", "session", "call", "created", "expires")
        return tuple(PendingSignoff(**dict(zip(names, row, strict=False)), request=json.loads(row[6])) for row in rows)

    def remember_answer(
        self, session: str, action: str, answer: Literal["allowed", "denied"], reason: str = ""
    ) -> None:
        """Keep a person's answer about an action for the rest of the session.

        Raises:
            StateError: it cannot be written.
        """
        row = (session, action, answer, reason, time.time())
        query = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)"
        self.database.write(lambda connection: connection.execute(query, row))

    def remembered_answer(self, session: str, action: str) -> tuple[Literal["allowed", "denied"], str] | None:
        """Return the answer kept for an action of this session with its reason, or None.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT answer, reason FROM answers WHERE session = ? AND action = ?"
        row = self.database.read(lambda c: c.execute(query, (session, action)).fetchone())
        return None if row is None else cast("tuple[Literal['allowed', 'denied'], str]", tuple(row))


def _look_up(connection: sqlite3.Connection, nonce: str) -> tuple[str, SignoffState, float] | None:
    query = "SELECT digest, state, expires FROM signoffs WHERE nonce = ?"
    return cast("tuple[str, SignoffState, float] | None", connection.execute(query, (nonce,)).fetchone())
