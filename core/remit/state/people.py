"""People with a token of their own: who may ask over HTTP, and who answers sign-offs under a name that it proves."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from remit.errors import UsageError
from remit.state.chain import Chain, Entry, prepared
from remit.state.database import Database
from remit.state.old_tokens import OldToken, old_files, old_tokens, remove_old, still_there
from remit_sandbox.signoff import same_person
from remit_sandbox.unseen import is_unseen

if TYPE_CHECKING:
    import sqlite3

Role = Literal["user", "approver"]
"""`user`: runs the agent, for themselves. `approver`: sees and decides the sign-offs of everybody."""

BOTH: frozenset[Role] = frozenset({"user", "approver"})
APPROVER: frozenset[Role] = frozenset({"approver"})

PREFIX = "remit_"
"""What every token begins with, so that a scanner for secrets finds one that leaked."""

LONGEST = 64
"""Characters of a name."""

_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token as it is kept; only its hash is.

    Attributes:
        name: of the person that it stands for.
        roles: what they may do.
        created: seconds since 1970.
        by: who made it; empty where an earlier Remit did not write that down.
        in_file: it lies in a file of an earlier Remit.
    """

    name: str
    roles: frozenset[Role]
    created: float
    by: str = ""
    in_file: bool = False


class People:
    """Making, checking and voiding tokens. Programs that run see at once what is added or removed."""

    database: Database

    def add_token(self, name: str, *, by: str, roles: frozenset[Role] = APPROVER, in_place: bool = True) -> str:
        """Make a token for `name` and return it; it cannot be shown again.

        Args:
            name: of the person.
            by: who makes it.
            roles: what they may do; what they might do before they still may.
            in_place: an earlier token of theirs is void from now on; else one is refused.

        Raises:
            UsageError: the name is none, or has a token already.
            StateError: it cannot be written.
        """
        plain = name.strip()
        if not plain or len(plain) > LONGEST or any(map(is_unseen, plain)):
            raise UsageError(f"{name[:LONGEST]!a} is no name: write up to {LONGEST} characters that show")
        token = PREFIX + secrets.token_urlsafe(_BYTES)
        folder = self.database.path.parent
        old = [one for one in old_tokens(folder) if same_person(one.name, plain)]
        if old and not in_place:
            raise _has_one(plain)

        def work(connection: sqlite3.Connection) -> None:
            before = [one for one in _rows(connection) if same_person(one.name, plain)]
            if before and not in_place:
                raise _has_one(plain)
            may = roles.union(*(one.roles for one in before), *(cast("frozenset[Role]", one.roles) for one in old))
            for one in before:
                connection.execute("DELETE FROM approvers WHERE name = ?", (one.name,))
            for gone in dict.fromkeys([*(one.name for one in before), *(one.name for one in old)]):
                self._record(connection, "token.removed", {"name": gone, "by": by, "replaced": True})
            _insert(connection, plain, _hash(token), time.time(), by, may)
            self._record(connection, "token.added", {"name": plain, "roles": sorted(may), "by": by})

        remove_old(folder, plain)  # before the new one counts: a crash in between leaves none, never both
        self.database.write(work)
        return token

    def remove_token(self, name: str, *, by: str) -> bool:
        """Make the token of `name` void, over HTTP and everywhere else; False when there is none.

        Raises:
            StateError: it cannot be written.
        """
        in_file = remove_old(self.database.path.parent, name)

        def work(connection: sqlite3.Connection) -> bool:
            found = [one.name for one in _rows(connection) if same_person(one.name, name)]
            for one in found:
                connection.execute("DELETE FROM approvers WHERE name = ?", (one,))
            if found or in_file:
                self._record(connection, "token.removed", {"name": name.strip(), "by": by})
            return bool(found) or in_file

        return self.database.write(work)

    def tokens(self) -> tuple[Token, ...]:
        """Return who has a token, by name; those in files of an earlier Remit, too.

        Raises:
            StateError: they cannot be read.
        """
        found = [*self.database.read(_rows), *map(_of_file, old_tokens(self.database.path.parent))]
        return tuple(sorted(found, key=lambda one: (one.name, one.in_file)))

    def tokens_exist(self) -> bool:
        """Tell whether there is a token, even a damaged one. Raises StateError."""
        query = "SELECT 1 FROM approvers LIMIT 1"
        if self.database.read(lambda c: c.execute(query).fetchone()) is not None:
            return True
        return bool(old_files(self.database.path.parent))

    def token_holder(self, token: str) -> Token | None:
        """Return whose token this is, None when it is nobody's. It has 256 random bits: there is nothing to guess.

        Raises:
            StateError: they cannot be read.
        """
        digest = _hash(token.strip())
        query = "SELECT name, roles, created, who FROM approvers WHERE hash = ?"
        row = self.database.read(lambda c: c.execute(query, (digest,)).fetchone())
        if row is not None:
            return _token(row)
        in_files = old_tokens(self.database.path.parent)
        return next((_of_file(one) for one in in_files if hmac.compare_digest(one.hash, digest)), None)

    def approver_of(self, token: str) -> str | None:
        """Return which approver's token this is, None when it is nobody's or of somebody who may only run.

        Raises:
            StateError: they cannot be read.
        """
        found = self.token_holder(token)
        return found.name if found is not None and "approver" in found.roles else None

    def take_over_tokens(self) -> tuple[str, ...]:
        """Move tokens from files of an earlier Remit into the state; return whose. They work as before.

        One of a person who has another token here stays where it is until it is removed.

        Raises:
            StateError: they cannot be moved.
        """
        moved = []
        for old in old_tokens(self.database.path.parent):
            if self.database.write(partial(self._take_over, old=old)):
                old.path.unlink(missing_ok=True)
                moved.append(old.name)
        return tuple(moved)

    def _take_over(self, connection: sqlite3.Connection, old: OldToken) -> bool:
        if not still_there(old) or any(same_person(one.name, old.name) for one in _rows(connection)):
            return False
        _insert(connection, old.name, old.hash, old.created, "", cast("frozenset[Role]", old.roles))
        self._record(connection, "token.moved", {"name": old.name, "roles": sorted(old.roles)})
        return True

    def _record(self, connection: sqlite3.Connection, event: str, body: Mapping[str, Any]) -> None:
        Chain(connection, self.database.scratch).add_all([prepared(Entry(event=event, body=body))])


def _rows(connection: sqlite3.Connection) -> list[Token]:
    return [_token(row) for row in connection.execute("SELECT name, roles, created, who FROM approvers")]


def _token(row: tuple[str, str, float, str]) -> Token:
    name, roles, created, by = row
    return Token(name=name, roles=BOTH & cast("set[Role]", set(roles.split())), created=created, by=by)


def _of_file(old: OldToken) -> Token:
    return Token(name=old.name, roles=cast("frozenset[Role]", old.roles), created=old.created, in_file=True)


def _insert(
    connection: sqlite3.Connection, name: str, digest: bytes, created: float, by: str, roles: frozenset[Role]
) -> None:
    query = "INSERT INTO approvers (name, hash, created, who, roles) VALUES (?, ?, ?, ?, ?)"
    connection.execute(query, (name, digest, created, by, " ".join(sorted(roles))))


def _has_one(name: str) -> UsageError:
    return UsageError(f"{name} has a token already", remedy=f"remit serve token remove {name}")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
