"""Parts for tests of the evidence: a log with calls, sign-offs and checkpoints, and every way to falsify it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.evidence.checkpoints import make_checkpoint, origin_name
from remit.evidence.findings import Kind
from remit.evidence.keys import load_verifier
from remit.evidence.merkle import Frontier
from remit.evidence.notes import Checkpoint, SignerKey, VerifierKey
from remit.evidence.verify import Verified, verify
from remit.state.chain import COLUMNS, Entry, Row, leaf_hash
from remit.state.store import State
from remit_sandbox.canonical import canonical

NAMES = COLUMNS.split(", ")
EDITABLE: dict[str, Any] = {
    "time": 1.5,
    "session": "other",
    "event": "call.noted",
    "skill": "other.skill",
    "call": "c-other",
    "who": "mallory",
    "effect": "none",
    "verdict": "never",
    "status": "fine",
    "trace": "0" * 32,
    "body": b'{"edited":true}',
    "sealed": b"\x01" * 32,
    "prev": b"\x02" * 32,
    "leaf": b"\x03" * 32,
}
"""Column to what an edit puts there."""


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A log file, the anchor over all but its last record, and the key that signed it."""

    path: Path
    anchor: Checkpoint
    key: VerifierKey

    def verify(self, path: Path, *, anchored: bool = True) -> Verified:
        """Verify a copy of it, with the anchor and key or with neither."""
        if anchored:
            return verify(path, anchors=[self.anchor], keys=[self.key])
        return verify(path)


def call_entries(number: int) -> list[Entry]:
    """Return the records of one call; every fifth was signed off."""
    about: dict[str, Any] = {"session": f"s{number // 10}", "call": f"c{number}"}
    about |= {"skill": "files.write_file", "who": "ann"}
    asks = number % 5 == 0
    nonce, digest, action = f"nonce{number}", f"digest{number}", f"action{number}"
    verdict: dict[str, Any] = {"verdict": "ask" if asks else "allow", "effect": "write"}
    proposed = Entry(event="call.proposed", body={"step": 1}, sealed={"arguments": {"n": number}}, **about)
    decided = Entry(event="call.decided", body={"source": "default write"}, **verdict, **about)
    started: dict[str, Any] = {"signoff": None, "digest": None, "signed": action}
    signed: list[Entry] = []
    if asks:
        started |= {"signoff": nonce, "digest": digest}
        question = {"nonce": nonce, "digest": digest, "action": action}
        signed.append(Entry(event="signoff.asked", body=question, **verdict, **about))
        answer = {"nonce": nonce, "digest": digest, "answer": "once", "by": "ben", "void": ""}
        signed.append(Entry(event="signoff.answered", body=answer, **verdict, **about))
    return [
        proposed,
        decided,
        *signed,
        Entry(event="call.started", body=started, **verdict, **about),
        Entry(event="call.finished", body={"duration": 0.5}, sealed={"text": f"done {number}"}, status="ok", **about),
    ]


def make_log(folder: Path, records: int = 1_000, *, every: int = 250) -> Signed:
    """Write a log of so many records with a checkpoint now and then, and anchor it."""
    with State(folder) as state:
        written = number = 0
        while written < records:
            if written // every > number_of_checkpoints(state):
                make_checkpoint(state)
                written += 1
                continue
            written = state.append_all(call_entries(number)[: records - written], durable=False)
            number += 1
        anchor = make_checkpoint(state)
    key = load_verifier(folder)
    assert key is not None and anchor.size == records
    return Signed(path=folder / "state.db", anchor=anchor, key=key)


def slim(log: Signed) -> Signed:
    """Take the indexes that only listing needs out of the file: it is copied and falsified many times."""
    connection = sqlite3.connect(log.path, isolation_level=None)
    names = "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'records_by_%'"
    for (name,) in connection.execute(names).fetchall():
        connection.execute(f"DROP INDEX {name}")
    connection.execute("PRAGMA journal_mode = MEMORY")
    connection.execute("VACUUM")
    connection.close()
    return log


def number_of_checkpoints(state: State) -> int:
    """Return how many checkpoints there are."""
    query = "SELECT count(*) FROM records WHERE event = 'log.checkpoint'"
    return int(state.database.read(lambda connection: connection.execute(query).fetchone())[0])


class Forger:
    """Somebody who may write the file, and does not have the key."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self.connection.execute("BEGIN")

    def done(self) -> None:
        """Keep what was forged."""
        self.connection.execute("COMMIT")
        self.connection.close()

    def row(self, seq: int) -> Row:
        """Return a record."""
        return Row(*self.connection.execute(f"SELECT {COLUMNS} FROM records WHERE seq = ?", (seq,)).fetchone())

    def rows(self, first: int) -> Iterator[Row]:
        """Return the records from `first` on."""
        for row in self.connection.execute(
            f"SELECT {COLUMNS} FROM records WHERE seq >= ? ORDER BY seq", (first,)
        ).fetchall():
            yield Row(*row)

    def put(self, row: Row) -> None:
        """Write a record, over another one if there is one."""
        marks = ", ".join("?" * len(NAMES))
        self.connection.execute(f"INSERT OR REPLACE INTO records ({COLUMNS}) VALUES ({marks})", row)

    def take(self, seq: int) -> None:
        """Delete a record with its payload."""
        self.connection.execute("DELETE FROM records WHERE seq = ?", (seq,))
        self.connection.execute("DELETE FROM payloads WHERE seq = ?", (seq,))

    def shift(self, first: int, by: int) -> None:
        """Give every record from `first` on another number."""
        for table in ("records", "payloads"):
            self.connection.execute(f"UPDATE {table} SET seq = -(seq + ?) WHERE seq >= ?", (by, first))
            self.connection.execute(f"UPDATE {table} SET seq = -seq WHERE seq < 0")
        self.connection.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'records'", (by,))

    def cut(self, last: int) -> None:
        """Delete all after `last`, and the trace of it."""
        for table in ("records", "payloads"):
            self.connection.execute(f"DELETE FROM {table} WHERE seq > ?", (last,))
        self.connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'records'", (last,))

    def chain_from(self, first: int) -> None:
        """Make every hash from `first` on anew."""
        prev = self.row(first - 1).leaf if first > 1 else b""
        for row in self.rows(first):
            new = hashed(row._replace(prev=prev))
            self.put(new)
            prev = new.leaf


def hashed(row: Row) -> Row:
    """Return a record with the leaf that it must have."""
    return row._replace(leaf=leaf_hash(row.record()))


def edit(forger: Forger, seq: int) -> None:
    """Edit one column, another one for each record."""
    column = list(EDITABLE)[seq % len(EDITABLE)]
    forger.put(forger.row(seq)._replace(**{column: EDITABLE[column]}))


def edit_hashed(forger: Forger, seq: int) -> None:
    """Edit a record, and make its own hash anew."""
    forger.put(hashed(forger.row(seq)._replace(who="mallory")))


def edit_payload(forger: Forger, seq: int) -> None:
    """Edit what lies apart from the next record that has such."""
    query = "UPDATE payloads SET data = x'7b7d' WHERE seq = (SELECT min(seq) FROM payloads WHERE seq >= ?)"
    forger.connection.execute(query, (seq,))


def blank_payload(forger: Forger, seq: int) -> None:
    """Remove what lies apart from the next record that has such, as erasing does, and tell nobody."""
    query = (
        "UPDATE payloads SET data = NULL, salt = NULL, erased = 1.0, why = 'person'"
        " WHERE seq = (SELECT min(seq) FROM payloads WHERE seq >= ?)"
    )
    forger.connection.execute(query, (seq,))


def delete(forger: Forger, seq: int) -> None:
    """Delete a record."""
    forger.take(seq)


def delete_renumbered(forger: Forger, seq: int) -> None:
    """Delete a record and close the gap."""
    forger.take(seq)
    forger.shift(seq + 1, -1)


def swap_neighbours(forger: Forger, seq: int) -> None:
    """Let two records that follow each other change places."""
    one, two = forger.row(seq), forger.row(seq + 1)
    forger.put(one._replace(seq=seq + 1))
    forger.put(two._replace(seq=seq))


def swap_distant(forger: Forger, seq: int) -> None:
    """Let two records far from each other change places."""
    other = seq + 100
    one, two = forger.row(seq), forger.row(other)
    forger.put(one._replace(seq=other))
    forger.put(two._replace(seq=seq))


def duplicate(forger: Forger, seq: int) -> None:
    """Put a record in once more, after itself."""
    copy = forger.row(seq)
    forger.shift(seq + 1, 1)
    forger.put(copy._replace(seq=seq + 1, sealed=None))


def duplicate_at_end(forger: Forger, seq: int) -> None:
    """Put a record in once more, at the end."""
    last = forger.connection.execute("SELECT max(seq) FROM records").fetchone()[0]
    forger.put(forger.row(seq)._replace(seq=last + 1))


def insert(forger: Forger, seq: int) -> None:
    """Put a false record in, with a hash that fits."""
    prev = forger.row(seq - 1).leaf if seq > 1 else b""
    model = forger.row(seq)
    forger.shift(seq, 1)
    forger.put(hashed(model._replace(seq=seq, event="call.noted", sealed=None, prev=prev)))


def cut(forger: Forger, seq: int) -> None:
    """Cut the log off before a record."""
    forger.cut(seq - 1)


def rechain(forger: Forger, seq: int) -> None:
    """Edit a record, and make every hash from there on anew."""
    forger.put(forger.row(seq)._replace(who="mallory"))
    forger.chain_from(seq)


def rechain_silently(forger: Forger, seq: int) -> None:
    """Do the same, and make the checkpoints, which cannot be signed, into something else."""
    forger.connection.execute(
        "UPDATE records SET event = 'log.noted' WHERE event = 'log.checkpoint' AND seq >= ?", (seq,)
    )
    rechain(forger, seq)


def rechain_resigned(forger: Forger, seq: int) -> None:
    """Do the same, and sign the checkpoints with another key."""
    forger.put(forger.row(seq)._replace(who="mallory"))
    signer, tree, prev, origin = SignerKey.generate("mallory"), Frontier(), b"", ""
    for row in forger.rows(1):
        if row.seq >= seq:
            if row.event == "log.checkpoint":
                note = signer.sign(Checkpoint(origin=origin, size=tree.size, root=tree.root()).text)
                row = row._replace(body=canonical({"size": tree.size, "root": tree.root().hex(), "note": note}))
            row = hashed(row._replace(prev=prev))
            forger.put(row)
        tree.add(row.leaf)
        prev, origin = row.leaf, origin or origin_name(row.leaf)


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A way to falsify a log.

    Attributes:
        name: as the documents call it.
        make: does it at one record.
        kinds: what it may be called.
        exact: the first bad record is known exactly.
        after: the first bad record comes so many after the one that was named.
        room: records that must follow.
    """

    name: str
    make: Callable[[Forger, int], None]
    kinds: tuple[Kind, ...]
    exact: bool = True
    after: int = 0
    room: int = 0


MUTATIONS = (
    Mutation(name="a record edited", make=edit, kinds=("edited",)),
    Mutation(name="a record edited, its own hash made anew", make=edit_hashed, kinds=("edited",)),
    Mutation(name="a payload edited", make=edit_payload, kinds=("edited",), exact=False),
    Mutation(
        name="a payload removed as if it had been erased",
        make=blank_payload,
        kinds=("payload removed without a record",),
        exact=False,
    ),
    Mutation(name="a record deleted", make=delete, kinds=("deleted",)),
    Mutation(name="a record deleted, the rest renumbered", make=delete_renumbered, kinds=("deleted",)),
    Mutation(name="two neighbours swapped", make=swap_neighbours, kinds=("reordered",), room=1),
    Mutation(name="two distant records swapped", make=swap_distant, kinds=("reordered",), room=100),
    Mutation(name="a record duplicated after itself", make=duplicate, kinds=("inserted",), after=1),
    Mutation(name="a record duplicated at the end", make=duplicate_at_end, kinds=("inserted",), exact=False),
    Mutation(name="a false record inserted", make=insert, kinds=("inserted",)),
    Mutation(name="the end cut off, with every trace of it", make=cut, kinds=("truncated",)),
    Mutation(
        name="everything after an edit chained anew",
        make=rechain,
        kinds=("re-chained", "forged checkpoint"),
        exact=False,
    ),
    Mutation(
        name="the same, and the checkpoints removed",
        make=rechain_silently,
        kinds=("re-chained",),
        exact=False,
    ),
    Mutation(
        name="the same, and the checkpoints signed with another key",
        make=rechain_resigned,
        kinds=("re-chained",),
        exact=False,
    ),
)
