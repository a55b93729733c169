"""Standing sign-offs: a person's decision on every call of one skill in which some arguments are fixed."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from remit.argument_paths import fixed, is_covered
from remit.errors import UsageError
from remit.state.chain import Chain, Entry, Prepared, prepared
from remit.state.database import Database
from remit_sandbox.canonical import canonical, restored
from remit_sandbox.signoff import Action

if TYPE_CHECKING:
    import sqlite3

SHORTEST_ID = 6
"""Characters of an id that a person types at least."""

_COLUMNS = "id, created, expires, uses, revoked, body"


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Which calls a standing sign-off covers: everything here must be the same.

    Attributes:
        skill, version, skill_hash, policy, principal: as in `remit_sandbox.signoff.Action`; any other version,
            skill or policy is not covered, so an upgrade or an edit of the policy ends it.
        source: what asks.
        fields: names of the arguments that are fixed, or ways into them; see `remit.argument_paths`.
        fixed: their values, as canonical JSON.
        resolved: what those of them that are places stand for.
    """

    skill: str
    version: str
    skill_hash: str
    policy: str
    principal: str
    source: str
    fields: tuple[str, ...]
    fixed: str
    resolved: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, action: Action, *, source: str, fields: Iterable[str]) -> Pattern:
        """Return the pattern that `action` fits with these arguments fixed."""
        names = tuple(sorted(set(fields)))
        values = fixed(action.arguments, names)
        return cls(
            skill=action.skill,
            version=action.version,
            skill_hash=action.skill_hash,
            policy=action.policy,
            principal=action.principal,
            source=source,
            fields=names,
            fixed=canonical(values).decode(),
            resolved={name: place for name, place in action.resolved.items() if is_covered(name, values)},
        )

    def covers(self, action: Action, source: str) -> bool:
        """Tell whether `action`, asked about by `source`, fits."""
        return self == Pattern.of(action, source=source, fields=self.fields)

    def void(self, *, version: str, skill_hash: str, policy: str) -> str:
        """Return why it covers nothing any more, as things are now; empty when it does."""
        if (version, skill_hash) != (self.version, self.skill_hash):
            return f"{self.skill} was changed or upgraded"
        return "" if policy == self.policy else "the policy was changed"


@dataclass(frozen=True, kw_only=True)
class StandingSignoff:
    """A standing sign-off.

    Attributes:
        id: 16 hexadecimal digits.
        pattern: what it covers.
        given: how many calls it was given for.
        uses: how many of them are left.
        created, expires: seconds since 1970.
        by, channel: who gave it, and where.
        nonce: id of the request with which it was given.
        revoked: when it was taken back, None when it was not.
    """

    pattern: Pattern
    given: int
    expires: float
    by: str
    channel: str
    nonce: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    uses: int = 0
    created: float = field(default_factory=time.time)
    revoked: float | None = None

    @property
    def state(self) -> Literal["active", "used up", "expired", "revoked"]:
        """What it is in now."""
        if self.revoked is not None:
            return "revoked"
        if self.uses <= 0:
            return "used up"
        return "expired" if time.time() > self.expires else "active"


class Standings:
    """Keeping standing sign-offs; each use is taken in the transaction that starts its call."""

    database: Database
    _tell: Callable[[Sequence[Prepared], int], None]

    def standing_signoffs(self, *, everything: bool = False) -> tuple[StandingSignoff, ...]:
        """Return those that cover calls, or all of them, oldest first.

        Raises:
            StateError: they cannot be read.
        """
        query = f"SELECT {_COLUMNS} FROM standing ORDER BY created, id"
        found = map(_stored, self.database.read(lambda c: c.execute(query).fetchall()))
        return tuple(one for one in found if everything or one.state == "active")

    def standing_signoff(self, start: str) -> StandingSignoff | None:
        """Return the one whose id begins with `start`, or None.

        Raises:
            UsageError: more than one does.
            StateError: it cannot be read.
        """
        query = f"SELECT {_COLUMNS} FROM standing WHERE substr(id, 1, ?) = ? LIMIT 2"
        rows = self.database.read(lambda c: c.execute(query, (len(start), start.lower())).fetchall())
        if len(rows) > 1:
            raise UsageError(f"more than one standing sign-off begins with {start}", remedy="remit signoff standing")
        return _stored(rows[0]) if rows and len(start) >= SHORTEST_ID else None

    def standing_for(self, action: Action, source: str) -> StandingSignoff | None:
        """Return a standing sign-off that covers `action`, asked about by `source`, or None.

        Raises:
            StateError: they cannot be read.
        """
        query = (
            f"SELECT {_COLUMNS} FROM standing WHERE skill = ? AND who = ? AND revoked IS NULL AND uses > 0"
            " AND expires > ? ORDER BY expires"
        )
        about = (action.skill, action.principal, time.time())
        rows = self.database.read(lambda c: c.execute(query, about).fetchall())
        return next((one for one in map(_stored, rows) if one.pattern.covers(action, source)), None)

    async def astart_under(self, entries: Sequence[Entry], *, standing: str) -> bool:
        """Take one use of a standing sign-off and write `call.started` in one transaction.

        Returns:
            False when it has expired, was revoked, or has no use left; then nothing is written.

        Raises:
            StateError: it cannot be written; the call must not run.
        """
        rows = [prepared(entry) for entry in entries]

        def work(connection: sqlite3.Connection) -> int | None:
            query = "UPDATE standing SET uses = uses - 1 WHERE id = ? AND revoked IS NULL AND uses > 0 AND expires > ?"
            if not connection.execute(query, (standing, time.time())).rowcount:
                return None
            return Chain(connection, self.database.scratch).add_all(rows)

        last = await self.database.awrite(work)
        if last is not None:
            self._tell(rows, last)
        return last is not None

    def revoke_standing(self, one: StandingSignoff, *, by: str) -> bool:
        """Take a standing sign-off back; False when that was done before.

        Raises:
            StateError: it cannot be written.
        """
        entry = prepared(standing_entry("signoff.revoked", one, by=by))

        def work(connection: sqlite3.Connection) -> bool:
            query = "UPDATE standing SET revoked = ? WHERE id = ? AND revoked IS NULL"
            if not connection.execute(query, (time.time(), one.id)).rowcount:
                return False
            Chain(connection, self.database.scratch).add_all([entry])
            return True

        return self.database.write(work)


def insert_standing(connection: sqlite3.Connection, one: StandingSignoff) -> None:
    """Keep a new standing sign-off inside a transaction, with all of its uses."""
    about = {"by": one.by, "channel": one.channel, "nonce": one.nonce, "given": one.given}
    body = canonical({"pattern": asdict(one.pattern), **about})
    query = "INSERT INTO standing (id, skill, who, created, expires, uses, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
    pattern = one.pattern
    row = (one.id, pattern.skill, pattern.principal, one.created, one.expires, one.given, body)
    connection.execute(query, row)


def standing_entry(event: str, one: StandingSignoff, *, by: str, session: str = "") -> Entry:
    """Return a record about a standing sign-off; the values that it fixes can be erased from it."""
    pattern = one.pattern
    body = {
        "standing": one.id,
        "nonce": one.nonce,
        "by": by,
        "channel": one.channel,
        "given": one.given,
        "expires": one.expires,
        "fields": pattern.fields,
        "source": pattern.source,
    }
    sealed = {"fixed": pattern.fixed, "resolved": pattern.resolved}
    return Entry(event=event, session=session, skill=pattern.skill, who=pattern.principal, body=body, sealed=sealed)


def _stored(row: tuple[Any, ...]) -> StandingSignoff:
    id_, created, expires, uses, revoked, text = row
    body = restored(json.loads(text))
    pattern = body.pop("pattern")
    return StandingSignoff(
        pattern=Pattern(**{**pattern, "fields": tuple(pattern["fields"])}),
        id=id_,
        created=created,
        expires=expires,
        uses=uses,
        revoked=revoked,
        **body,
    )
