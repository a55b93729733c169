"""Proof that one record is in the log, in the format tlog-proof of C2SP; anybody can check it with a checkpoint."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from remit.errors import EvidenceError
from remit.evidence.checkpoints import last_checkpoint, leaves_between, make_checkpoint
from remit.evidence.keys import STANDARD
from remit.evidence.merkle import includes, inclusion_path
from remit.evidence.notes import Checkpoint, VerifierKey, parse_checkpoint
from remit.state.chain import COLUMNS, Row, leaf_hash
from remit.state.store import State

_FIRST = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A record, and why it is in the log.

    Attributes:
        record: the canonical record.
        index: its place in the tree, from 0.
        path: hashes beside it, lowest first.
        checkpoint: of the tree.
    """

    record: bytes
    index: int
    path: tuple[bytes, ...]
    checkpoint: Checkpoint

    def __str__(self) -> str:
        lines = [_FIRST, f"extra {_base64(self.record)}", f"index {self.index}", *map(_base64, self.path)]
        return "\n".join([*lines, "", self.checkpoint.note])

    @classmethod
    def parse(cls, text: str) -> Proof:
        """Return the proof that a file holds; nothing of it is checked yet.

        Raises:
            EvidenceError: it is none.
        """
        head, gap, note = text.partition("\n\n")
        lines = head.split("\n")
        if not gap or lines[0] != _FIRST or len(lines) < 3 or not lines[1].startswith("extra "):
            raise EvidenceError("this is no proof", remedy="remit log prove writes one")
        index = lines[2].removeprefix("index ")
        if not (index.isascii() and index.isdigit()):
            raise EvidenceError("the proof names no index")
        return cls(
            record=_bytes(lines[1].removeprefix("extra ")),
            index=int(index),
            path=tuple(map(_bytes, lines[3:])),
            checkpoint=parse_checkpoint(note),
        )

    def problem(self, key: VerifierKey) -> str:
        """Return why the proof does not hold, or an empty text when it does."""
        checkpoint = self.checkpoint
        if not checkpoint.signed_by(key):
            return f"its checkpoint is not signed by {key.name}"
        if not includes(leaf_hash(self.record), self.index, checkpoint.size, self.path, checkpoint.root):
            return "the record is not in the tree of the checkpoint"
        return ""


def prove(state: State, seq: int, *, key: str = STANDARD) -> Proof:
    """Return the proof that record `seq` is in the log; a checkpoint is made when none covers it yet.

    Raises:
        EvidenceError: there is no such record, the log has gaps, or there is no key.
        StateError: it cannot be read.
    """
    query = f"SELECT {COLUMNS} FROM records WHERE seq = ?"
    found = state.database.read(lambda connection: connection.execute(query, (seq,)).fetchone())
    if found is None:
        raise EvidenceError(f"there is no record {seq}", remedy="remit log list")
    checkpoint = last_checkpoint(state)
    if checkpoint is None or checkpoint.size < seq:
        checkpoint = make_checkpoint(state, key=key, at_least=seq)
    path = inclusion_path(seq - 1, checkpoint.size, lambda start, end: leaves_between(state, start, end))
    return Proof(record=Row(*found).record(), index=seq - 1, path=tuple(path), checkpoint=checkpoint)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise EvidenceError("the proof holds what is no base64") from None
