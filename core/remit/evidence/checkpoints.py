"""Checkpoints: the root over all records so far, signed, and written as the record that follows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from remit.errors import EvidenceError, RemitError, StateError
from remit.evidence.keys import STANDARD, keep_public, load_signer
from remit.evidence.merkle import Frontier
from remit.evidence.notes import Checkpoint, SignerKey, parse_checkpoint
from remit.state.chain import Chain, Entry, prepared
from remit.state.store import State

if TYPE_CHECKING:
    import sqlite3

EVENT = "log.checkpoint"

EVERY = 1_000
"""Records after which the next checkpoint is made by itself."""

_PAGE = 5_000
_BROKEN = "the log has gaps, so no checkpoint can be made of it"


def make_checkpoint(
    state: State, signer: SignerKey | None = None, *, key: str = STANDARD, at_least: int = 0
) -> Checkpoint:
    """Write a checkpoint over everything in the log and return it; when nothing was added since, the last one.

    Args:
        state: whose log it is.
        signer: the key; None for the one that `key` refers to.
        key: see `load_signer`.
        at_least: a record that it must speak of; the last checkpoint may be the last record.

    Raises:
        EvidenceError: the log is empty or has gaps, or there is no key.
        StateError: it cannot be read or written.
    """
    origin = origin_of(state)
    signer = signer or load_signer(state.folder, key, name=origin)
    frontier = _kept(state)
    while _grow(state, frontier):  # most of the work is done before anybody is kept from writing
        pass

    def work(connection: sqlite3.Connection) -> Checkpoint:
        chain = Chain(connection, state.database.scratch)
        size = chain.head[0]
        last = _last(connection)
        if last is not None and last[0] == size and size > at_least:
            return parse_checkpoint(last[1])
        tree = frontier.copy()
        for leaf in _leaves(connection, tree.size, size):
            tree.add(leaf)
        if tree.size != size:
            raise EvidenceError(_BROKEN, remedy="remit log verify")
        signed = _sign(Checkpoint(origin=origin, size=size, root=tree.root()), signer)
        body = {"size": size, "root": signed.root.hex(), "note": signed.note}
        chain.add(prepared(Entry(event=EVENT, body=body)))
        connection.execute("DELETE FROM tree")
        connection.execute("INSERT INTO tree (size, hashes) VALUES (?, ?)", (size, tree.pack()))
        return signed

    made = state.database.write(work)
    with suppress(OSError, ValueError, RemitError):
        keep_public(state.folder, signer.verifier)
    return made


def last_checkpoint(state: State) -> Checkpoint | None:
    """Return the newest checkpoint in the log, or None.

    Raises:
        StateError, EvidenceError: it cannot be read.
    """
    found = state.database.read(_last)
    return None if found is None else parse_checkpoint(found[1])


def origin_of(state: State) -> str:
    """Return the name of this very log: it comes from its first record.

    Raises:
        EvidenceError: nothing was written yet, or the first record is gone.
    """
    query = "SELECT leaf FROM records WHERE seq = 1"
    row = state.database.read(lambda connection: connection.execute(query).fetchone())
    if row is None:
        raise EvidenceError("the log is empty, or its first record is gone", remedy="remit log verify")
    return origin_name(row[0])


def origin_name(first_leaf: bytes) -> str:
    """Return the name of the log whose first record has this leaf."""
    return f"remit.log/{first_leaf.hex()[:24]}"


class Checkpoints:
    """Makes a checkpoint whenever the log has grown enough; what goes wrong with that stops no call."""

    def __init__(self, state: State, *, key: str = STANDARD, every: int = EVERY) -> None:
        """Say which log, signed with what, and after how many records; 0 for never."""
        self._state, self._key, self._every = state, key, every
        self._reached: int | None = None

    def grown(self, seq: int) -> None:
        """Hear that the log has come to record `seq`."""
        if not self._every or not seq:
            return
        mark = seq // self._every
        if self._reached is None or mark <= self._reached:
            self._reached = mark if self._reached is None else self._reached
            return
        self._reached = mark
        try:
            make_checkpoint(self._state, key=self._key)
        except (EvidenceError, StateError):
            return  # the log itself is written; `remit log verify` and `anchor` say what is wrong


def leaves_between(state: State, start: int, end: int) -> Iterator[bytes]:
    """Yield the leaves from index `start` (from 0) up to, not with, `end`, in pages.

    Raises:
        EvidenceError: some are missing.
        StateError: they cannot be read.
    """
    at = start
    while at < end:
        upto = min(end, at + _PAGE)
        page = state.database.read(lambda c, at=at, upto=upto: list(_leaves(c, at, upto)))  # type: ignore[misc]
        if len(page) != upto - at:
            raise EvidenceError(_BROKEN, remedy="remit log verify")
        yield from page
        at = upto


def _leaves(connection: sqlite3.Connection, start: int, end: int) -> Iterator[bytes]:
    query = "SELECT leaf FROM records WHERE seq > ? AND seq <= ? ORDER BY seq"
    return (row[0] for row in connection.execute(query, (start, end)))


def _grow(state: State, frontier: Frontier) -> bool:
    """Take a page of further leaves in; False when there was less than a page."""
    start = frontier.size
    page = state.database.read(lambda connection: list(_leaves(connection, start, start + _PAGE)))
    if len(page) < _PAGE:
        return False
    for leaf in page:
        frontier.add(leaf)
    return True


def _kept(state: State) -> Frontier:
    row = state.database.read(lambda connection: connection.execute("SELECT size, hashes FROM tree").fetchone())
    return (Frontier.unpack(*row) if row is not None else None) or Frontier()


def _last(connection: sqlite3.Connection) -> tuple[int, str] | None:
    import json

    query = "SELECT seq, body FROM records WHERE event = ? ORDER BY seq DESC LIMIT 1"
    row = connection.execute(query, (EVENT,)).fetchone()
    return None if row is None else (row[0], json.loads(row[1])["note"])


def _sign(checkpoint: Checkpoint, signer: SignerKey) -> Checkpoint:
    return parse_checkpoint(signer.sign(checkpoint.text))
