"""The form of a record, its hash, and the chain that records are written into.

A record is the canonical JSON (RFC 8785) of `body`, `call`, `effect`, `event`, `prev`, `sealed`, `seq`,
`session`, `skill`, `status`, `time`, `trace`, `verdict` and `who`. Its leaf is the SHA-256 over a zero byte
and that text, as RFC 9162 hashes the leaves of a Merkle tree; `prev` is the leaf of the record before. What may
have to be erased one day lies apart under a random salt, and only its commitment is part of the record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from json.encoder import encode_basestring as quoted
from time import time as now
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.trace import trace_id
from remit_sandbox.canonical import canonical

if TYPE_CHECKING:
    import sqlite3

SALT = 16
"""Bytes of the random salt of a commitment."""

COLUMNS = "seq, time, session, event, skill, call, who, effect, verdict, status, trace, body, sealed, prev, leaf"
"""The columns of `records`, in the order of `Row`."""

_INSERT = f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_PAYLOAD = "INSERT INTO payloads (seq, salt, data, size) VALUES (?, ?, ?, ?)"
_OPEN = (
    "INSERT INTO open_calls (seq, session, call, skill, who, effect, action, key, owner, state, time)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?)"
)
_HEAD = (
    "SELECT seq, leaf, (SELECT seq FROM sqlite_sequence WHERE name = 'records') FROM records ORDER BY seq DESC LIMIT 1"
)
_CLOSE = "DELETE FROM open_calls WHERE session = ? AND call = ? AND state = 'running'"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A record to be written.

    Attributes:
        event: `call.proposed`, `call.decided`, `call.started`, `call.finished`, `signoff.asked`, ...
        session: id of the session; empty for what belongs to none.
        skill: full name of the skill; empty where there is none.
        call: id of the call; empty where there is none.
        body: everything that stays as long as the log, written as canonical JSON.
        sealed: further fields that can be erased without breaking the chain: arguments, texts, raw turns.
        time: seconds since 1970.
        who: for whom it was done.
        effect, verdict, status: of the call, as far as they are known by then.
        trace: id of the trace that it belongs to, 32 hexadecimal digits.
    """

    event: str
    session: str = ""
    skill: str = ""
    call: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    sealed: Mapping[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=now)
    who: str = ""
    effect: str = ""
    verdict: str = ""
    status: str = ""
    trace: str = field(default_factory=trace_id)


class Row(NamedTuple):
    """A row of `records`."""

    seq: int
    time: float
    session: str
    event: str
    skill: str
    call: str
    who: str
    effect: str
    verdict: str
    status: str
    trace: str
    body: bytes
    sealed: bytes | None
    prev: bytes
    leaf: bytes

    def record(self, seq: int | None = None) -> bytes:
        """Return the canonical record; `seq` puts it at another place."""
        head, tail = _form(self)
        return head + _middle(self.prev, self.sealed, self.seq if seq is None else seq) + tail


class Prepared(NamedTuple):
    """An entry in the form in which it is written; what is left to know is its place.

    Attributes:
        names: the columns from `time` to `trace`.
        event, session, call: three of them.
        body: canonical JSON.
        payload: salt and canonical JSON of what is sealed, None when nothing is.
        sealed: the commitment to it.
        opens: for `call.started`, the columns of `open_calls` after `call`.
    """

    names: tuple[Any, ...]
    event: str
    session: str
    call: str
    body: bytes
    payload: tuple[bytes, bytes] | None
    sealed: bytes | None
    head: bytes
    tail: bytes
    opens: tuple[Any, ...]


def prepared(entry: Entry, *, body: bytes | None = None) -> Prepared:
    """Return `entry` ready to be written. Never raises.

    Args:
        entry: what to write.
        body: its body, when that is canonical JSON already.
    """
    given = (entry.session, entry.event, entry.skill, entry.call)
    rest = (entry.who, entry.effect, entry.verdict, entry.status, entry.trace)
    session, event, skill, call, who, *facts = map(_storable, (*given, *rest))
    names = (float(entry.time), session, event, skill, call, who, *facts)
    written = canonical(entry.body) if body is None else body
    payload = (os.urandom(SALT), canonical(entry.sealed)) if entry.sealed else None
    sealed = None if payload is None else commitment(*payload)
    head, tail = _form(Row._make((0, *names, written, sealed, b"", b"")))
    opens: tuple[Any, ...] = ()
    if entry.event == "call.started":
        about = [_storable(str(entry.body.get(name) or "")) for name in ("action", "key", "owner")]
        opens = (skill, who, facts[0], *about, names[0])
    return Prepared(names, event, session, call, written, payload, sealed, head, tail, opens)


def leaf_hash(record: bytes) -> bytes:
    """Return the hash of a record as a leaf of a Merkle tree (RFC 9162, 2.1.1)."""
    return sha256(b"\0" + record).digest()


def commitment(salt: bytes, data: bytes) -> bytes:
    """Return what a record says of a payload that lies apart."""
    return sha256(salt + data).digest()


class Chain:
    """Writes records inside one transaction, each after the one before it."""

    def __init__(self, connection: sqlite3.Connection, scratch: dict[str, Any]) -> None:
        """Name the connection, and what its transaction remembers (see `Database.scratch`)."""
        self._connection, self._scratch = connection, scratch
        if "head" not in scratch:
            scratch["head"] = _head(connection)

    def add(self, entry: Prepared) -> int:
        """Write one record and return its sequence number."""
        before, prev = self.head
        seq = before + 1
        leaf = leaf_hash(entry.head + _middle(prev, entry.sealed, seq) + entry.tail)
        execute = self._connection.execute
        execute(_INSERT, (seq, *entry.names, entry.body, entry.sealed, prev, leaf))
        if entry.payload is not None:
            execute(_INSERT_PAYLOAD, (seq, *entry.payload, len(entry.payload[1])))
        if entry.opens:
            execute(_OPEN, (seq, entry.session, entry.call, *entry.opens))
        elif entry.event == "call.finished":
            execute(_CLOSE, (entry.session, entry.call))
        self._scratch["head"] = (seq, leaf)
        return seq

    def add_all(self, entries: list[Prepared]) -> int:
        """Write records and return the last sequence number."""
        last = 0
        for entry in entries:
            last = self.add(entry)
        return last

    @property
    def head(self) -> tuple[int, bytes]:
        """Sequence number and leaf of the last record; (0, b"") when there is none."""
        seq, leaf = self._scratch["head"]
        return seq, leaf


def _head(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """Return where the chain goes on: numbers are never given twice, even when somebody cut the end off."""
    found = connection.execute(_HEAD).fetchone()
    if found is not None:
        return max(found[0], found[2] or 0), found[1]
    given = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'records'").fetchone()
    return (given[0] if given is not None else 0), b""


def _form(row: Row) -> tuple[bytes, bytes]:
    """Return the canonical record before its `prev` and after its `seq`."""
    head = f',"call":{quoted(row.call)},"effect":{quoted(row.effect)},"event":{quoted(row.event)},"prev":"'
    tail = (
        f',"session":{quoted(row.session)},"skill":{quoted(row.skill)},"status":{quoted(row.status)}'
        f',"time":{_number(row.time)},"trace":{quoted(row.trace)},"verdict":{quoted(row.verdict)}'
        f',"who":{quoted(row.who)}}}'
    )
    return b'{"body":' + row.body + head.encode(), tail.encode()


def _middle(prev: bytes, sealed: bytes | None, seq: int) -> bytes:
    return f'{prev.hex()}","sealed":"{sealed.hex() if sealed is not None else ""}","seq":{seq}'.encode()


def _number(value: float) -> str:
    if 1e-4 <= value < 1e15 and not value.is_integer():
        return repr(value)
    return canonical(value).decode()


def _storable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
