"""Answers to sign-offs that come from elsewhere, and the run that goes on once they are there."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from remit.errors import StateError, UsageError
from remit.state.chain import Chain, Entry, prepared
from remit.state.database import Database
from remit.state.signoffs import Remembered, apply_decision, insert_request
from remit.state.standing import StandingSignoff, insert_standing, standing_entry
from remit_sandbox.canonical import restored
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest, SignoffState

if TYPE_CHECKING:
    import sqlite3

SHORTEST_ID = 6
"""Characters of a request's id that a person types at least."""

COLUMNS = "nonce, digest, action, session, call, state, created, expires, request, decision, who, approvers, people"
"""Columns of a request, as `stored` takes them."""


@dataclass(frozen=True, kw_only=True)
class StoredSignoff:
    """A request as it was kept, with its answer.

    Attributes:
        nonce: its id.
        digest: what an answer must name.
        action: digest of the action, the same however often it is asked.
        session, call: where it came from.
        state: `pending`, `approved`, `denied`, `expired` or `consumed`.
        created, expires: seconds since 1970.
        request: the request as JSON, secret arguments left out.
        decision: the answer as JSON; None as long as there is none.
        who: for whom the action is.
        approvers: how many people must approve.
        people: who has approved so far.
    """

    nonce: str
    digest: str
    action: str
    session: str
    call: str
    state: SignoffState
    created: float
    expires: float
    request: Mapping[str, Any]
    decision: Mapping[str, Any] | None
    who: str
    approvers: int = 1
    people: tuple[str, ...] = ()

    @property
    def skill(self) -> str:
        """Full name of the skill; empty when the request was erased."""
        return str(self.request.get("action", {}).get("skill", ""))

    def rebuilt(self) -> SignoffRequest:
        """Return the request as it was asked, secret arguments left out.

        Raises:
            StateError: it was erased, or is not what its digest was made of.
        """
        kept = restored(self.request)
        try:
            action = Action(**kept.pop("action"))
            known = {field.name for field in fields(SignoffRequest)}
            request = SignoffRequest(action=action, **{name: _frozen(kept[name]) for name in kept if name in known})
        except (KeyError, TypeError, AttributeError):
            raise StateError(f"request {self.nonce[:12]} cannot be shown: what it asked was erased") from None
        if not request.secret and request.digest != self.digest:
            raise StateError(f"request {self.nonce[:12]} was changed after it was asked; deny it")
        return request


class _NotTaken(Exception):
    """An answer does not count; raised inside a transaction, it undoes what was done there."""

    def __init__(self, state: SignoffState, why_not: str) -> None:
        super().__init__(why_not)
        self.state, self.why_not = state, why_not


class Answering:
    """Finding requests, answering them from another process, and finding approvals that wait to be used."""

    database: Database

    def signoffs(self, *, everything: bool = False, limit: int = 1_000) -> tuple[StoredSignoff, ...]:
        """Return the requests that wait for an answer, or all of them, oldest first.

        Raises:
            StateError: they cannot be read.
        """
        query = f"SELECT {COLUMNS} FROM signoffs WHERE ? OR state = 'pending' ORDER BY created DESC, nonce LIMIT ?"
        rows = self.database.read(lambda c: c.execute(query, (everything, limit)).fetchall())
        found = map(stored, reversed(rows))
        return tuple(one for one in found if everything or one.state == "pending")

    def signoff(self, start: str) -> StoredSignoff:
        """Return the request whose id begins with `start`.

        Raises:
            UsageError: there is none, or more than one.
            StateError: it cannot be read.
        """
        if len(start) < SHORTEST_ID or not start.isalnum():
            raise UsageError(f"{start[:64]!r} is no id of a request", remedy="remit signoff list")
        query = f"SELECT {COLUMNS} FROM signoffs WHERE substr(nonce, 1, ?) = ? LIMIT 2"
        rows = self.database.read(lambda c: c.execute(query, (len(start), start.lower())).fetchall())
        if len(rows) != 1:
            found = "more than one request begins" if rows else "no request begins"
            raise UsageError(f"{found} with {start}", remedy="remit signoff list --all")
        return stored(rows[0])

    def answer_signoff(self, asked: StoredSignoff, decision: SignoffDecision) -> SignoffState:
        """Keep an answer and its record in one transaction, and return the state that the request has now.

        An answer for another digest, too late, or to what is settled already changes nothing and leaves no record.

        Raises:
            StateError: it cannot be written.
        """
        return self.give_answer(asked, decision)[0]

    def give_answer(
        self, asked: StoredSignoff, decision: SignoffDecision, *, standing: StandingSignoff | None = None
    ) -> tuple[SignoffState, str]:
        """Do what `answer_signoff` does, and say why an answer did not count; empty when it did.

        Args:
            asked: the request.
            decision: the answer to it.
            standing: a standing sign-off that comes with the answer, in the same transaction.

        Raises:
            StateError: it cannot be written.
        """

        def work(connection: sqlite3.Connection) -> tuple[SignoffState, str]:
            state, why_not = apply_decision(connection, asked.nonce, decision)
            if why_not:
                return state, why_not
            entries = [_answered(asked, decision, state)]
            if not decision.approves:
                remembered: Remembered = "stopped" if decision.answer == "stop" else "denied"
                answer = (asked.session, asked.action, remembered, decision.reason, time.time())
                connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", answer)
            covers = asked.request.get("covers")
            if decision.answer == "session" and state == "approved" and covers:
                row = (asked.session, covers, "allowed", asked.nonce, time.time())
                connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)
            if standing is not None:
                insert_standing(connection, standing)
                entries.append(standing_entry("signoff.standing", standing, by=decision.by, session=asked.session))
            Chain(connection, self.database.scratch).add_all([prepared(entry) for entry in entries])
            return state, ""

        return self.database.write(work)

    def give_edit(
        self, asked: StoredSignoff, refusal: SignoffDecision, request: SignoffRequest, decision: SignoffDecision
    ) -> tuple[SignoffState, str]:
        """Refuse a request and put one with other arguments in its place, answered, in one transaction.

        Where the answer does not count, the request is as it was. What is edited again stands for what was asked first.

        Returns:
            The state of the new request, and why nothing was changed; empty when it was.

        Raises:
            StateError: it cannot be written.
        """

        def work(connection: sqlite3.Connection) -> tuple[SignoffState, str]:
            state, why_not = apply_decision(connection, asked.nonce, refusal)
            if why_not:
                return state, why_not
            query = "SELECT edits FROM signoffs WHERE nonce = ?"
            (first,) = connection.execute(query, (asked.nonce,)).fetchone()
            insert_request(connection, request, call=asked.call, edits=first or asked.action)
            state, why_not = apply_decision(connection, request.nonce, decision)
            if why_not:
                raise _NotTaken(state, why_not)
            about = {
                "nonce": request.nonce,
                "digest": request.digest,
                "action": request.action.digest,
                "expires": request.expires,
                "verdict": request.verdict,
                "source": request.source,
                "approvers": request.approvers,
                "edits": asked.nonce,
            }
            entries = [
                _answered(asked, refusal, "denied"),
                request_entry("signoff.asked", asked, about, {}),
                _answered(asked, decision, state, nonce=request.nonce),
            ]
            Chain(connection, self.database.scratch).add_all([prepared(entry) for entry in entries])
            return state, ""

        try:
            return self.database.write(work)
        except _NotTaken as untaken:
            return untaken.state, untaken.why_not

    def withdraw_approval(self, asked: StoredSignoff, *, by: str) -> bool:
        """Take an approval back that has not been used, and what it allowed for its session; False for neither.

        Raises:
            StateError: it cannot be written.
        """
        entry = request_entry("signoff.revoked", asked, {"nonce": asked.nonce, "by": by}, {})

        def work(connection: sqlite3.Connection) -> bool:
            query = "UPDATE signoffs SET state = 'denied' WHERE nonce = ? AND state = 'approved'"
            unused = connection.execute(query, (asked.nonce,)).rowcount
            query = "DELETE FROM answers WHERE session = ? AND answer = 'allowed' AND reason = ?"
            if not connection.execute(query, (asked.session, asked.nonce)).rowcount and not unused:
                return False
            Chain(connection, self.database.scratch).add_all([prepared(entry)])
            return True

        return self.database.write(work)

    def edit_of(self, session: str, action: str) -> StoredSignoff | None:
        """Return the approved request that a person put in the place of this action, or None.

        Raises:
            StateError: it cannot be read.
        """
        return self._one("session = ? AND edits = ? AND state = 'approved' AND expires > ?", session, action)

    def approval(self, session: str, action: str) -> StoredSignoff | None:
        """Return the approval of this very action in this session that has not been used, or None.

        Raises:
            StateError: it cannot be read.
        """
        return self._one("session = ? AND action = ? AND state = 'approved' AND expires > ?", session, action)

    def refusal_of(self, session: str, call: str) -> tuple[Remembered, str] | None:
        """Return how a person refused this very call, with the reason, or None; edits are no refusals.

        A refusal holds for the call that was asked about, also when what it would act on is another by now.

        Raises:
            StateError: it cannot be read.
        """
        query = (
            "SELECT decision FROM signoffs AS one WHERE session = ? AND call = ? AND state = 'denied'"
            " AND decision IS NOT NULL AND NOT EXISTS"
            " (SELECT 1 FROM signoffs WHERE session = one.session AND (edits = one.action"
            " OR (edits <> '' AND edits = one.edits AND created > one.created)))"
            " ORDER BY created DESC LIMIT 1"
        )
        row = self.database.read(lambda c: c.execute(query, (session, call)).fetchone())
        said = {} if row is None else json.loads(row[0])
        if said.get("answer") not in ("deny", "stop") or said.get("by") == "Remit":
            return None
        return "stopped" if said["answer"] == "stop" else "denied", str(said.get("reason", ""))

    def lapsed_of(self, session: str, call: str) -> StoredSignoff | None:
        """Return the last request about this very call when it has lapsed, or None.

        Raises:
            StateError: it cannot be read.
        """
        query = (
            f"SELECT {COLUMNS} FROM signoffs WHERE session = ? AND call = ? ORDER BY created DESC, rowid DESC LIMIT 1"
        )
        row = self.database.read(lambda c: c.execute(query, (session, call)).fetchone())
        found = None if row is None else stored(row)
        return found if found is not None and found.state == "expired" else None

    def lapse(self, asked: StoredSignoff) -> bool:
        """Settle a request that has lapsed, with a record; False when that was done before.

        Raises:
            StateError: it cannot be written.
        """
        body = {"nonce": asked.nonce, "expired": asked.expires}
        entry = prepared(request_entry("signoff.lapsed", asked, body, {}))

        def work(connection: sqlite3.Connection) -> bool:
            query = (
                "UPDATE signoffs SET state = 'expired'"
                " WHERE nonce = ? AND state IN ('pending', 'approved') AND expires < ?"
            )
            if not connection.execute(query, (asked.nonce, time.time())).rowcount:
                return False
            Chain(connection, self.database.scratch).add_all([entry])
            return True

        return self.database.write(work)

    def asked_already(self, session: str, action: str) -> StoredSignoff | None:
        """Return the request about this very action in this session that waits for an answer, or None.

        One that a person put in its place, and that waits for another person, is about it, too.

        Raises:
            StateError: it cannot be read.
        """
        return self._one("session = ? AND ? IN (action, edits) AND state = 'pending' AND expires > ?", session, action)

    def _one(self, term: str, session: str, action: str) -> StoredSignoff | None:
        query = f"SELECT {COLUMNS} FROM signoffs WHERE {term} ORDER BY created LIMIT 1"
        row = self.database.read(lambda c: c.execute(query, (session, action, time.time())).fetchone())
        return None if row is None else stored(row)


def _answered(asked: StoredSignoff, decision: SignoffDecision, state: str, *, nonce: str = "") -> Entry:
    """Return the record of an answer; the person's own words can be erased from it."""
    facts = {name: value for name, value in vars(decision).items() if name != "reason"}
    body = {**facts, "nonce": nonce or asked.nonce, "state": state, "void": ""}
    return request_entry("signoff.answered", asked, body, {"reason": decision.reason})


def request_entry(event: str, asked: StoredSignoff, body: Mapping[str, Any], sealed: Mapping[str, Any]) -> Entry:
    """Return a record about a request."""
    return Entry(
        event=event,
        session=asked.session,
        skill=asked.skill,
        call=asked.call,
        who=asked.who,
        effect=str(asked.request.get("effect", "")),
        verdict=str(asked.request.get("verdict", "")),
        body=body,
        sealed=sealed,
    )


def _frozen(value: Any) -> Any:
    """Return what JSON made a list as the tuple that it was."""
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


def stored(row: tuple[Any, ...]) -> StoredSignoff:
    """Return a request from the `COLUMNS` of its row."""
    nonce, digest, action, session, call, state, created, expires, request, decision, who, approvers, people = row
    late = state in ("pending", "approved") and time.time() > expires
    return StoredSignoff(
        nonce=nonce,
        digest=digest,
        action=action,
        session=session,
        call=call,
        state="expired" if late else state,
        created=created,
        expires=expires,
        request=json.loads(request),
        decision=None if decision is None else json.loads(decision),
        who=who,
        approvers=approvers,
        people=tuple(json.loads(people)),
    )
