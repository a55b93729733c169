"""Verifying a log from its first record to its last, offline, and naming the first bad record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.errors import EvidenceError
from remit.evidence.checkpoints import EVENT, origin_name
from remit.evidence.conduct import Conduct
from remit.evidence.findings import Finding, Findings
from remit.evidence.merkle import Frontier
from remit.evidence.notes import Checkpoint, VerifierKey, parse_checkpoint
from remit.evidence.reading import LogFile, opened
from remit.evidence.structure import Structure
from remit.state.chain import Row


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What came of it.

    Attributes:
        records: how many there are.
        root: hash over them, hexadecimal.
        origin: name of the log; empty when it has no first record.
        first: the first bad record, None when all is well.
        findings: the first findings, in the order in which they were found.
        count: how many there were.
        checkpoints: signed checkpoints in the log that hold.
        anchored: the record up to which an anchor vouches for the log; 0 for none.
        signed: the record up to which a checkpoint signed by a known key does.
        payloads, erased: payloads that fit their records, and such as were erased.
        restarted: the log was begun anew after another one, which is named here; empty when not.
        latest: number of the newest record that is a checkpoint; 0 for none.
        unsigned: why no signature vouches for the log, although there are checkpoints or keys; empty when one does,
            or an anchor.
    """

    records: int
    root: str
    origin: str
    first: Finding | None
    findings: tuple[Finding, ...]
    count: int
    checkpoints: int
    anchored: int
    signed: int
    payloads: int
    erased: int
    restarted: str
    latest: int = 0
    unsigned: str = ""

    @property
    def holds(self) -> bool:
        """Nothing is wrong with the records, as far as could be checked: see `unsigned`."""
        return self.first is None


def verify(
    path: Path,
    *,
    anchors: Iterable[Checkpoint] = (),
    keys: Sequence[VerifierKey] = (),
    head: tuple[int, bytes] | None = None,
) -> Verified:
    """Verify the log in the file `path`, as far as it goes now; others may go on writing.

    Without an anchor it is found out what contradicts itself, or a signed checkpoint in the log. With one,
    everything up to the anchor is compared with what it was when the anchor was made.

    Args:
        path: of `state.db` or a copy of it.
        anchors: checkpoints that were kept elsewhere.
        keys: whose signatures count; an anchor must be signed by one of them when there are any.
        head: number and leaf of the last record, as they were kept beside the log when it was closed.

    Raises:
        EvidenceError: it is no log, or an anchor is signed by none of the keys.
    """
    kept = tuple(anchors)
    for anchor in kept:
        _require_signed(anchor, keys)
    with opened(path) as log:
        return _Pass(log, kept, keys).run(head)


class _Pass:
    """One pass over a log."""

    def __init__(self, log: LogFile, anchors: Sequence[Checkpoint], keys: Sequence[VerifierKey]) -> None:
        self._log, self._keys = log, keys
        self._last = log.last
        self._findings = Findings()
        self._structure = Structure(log, self._last, self._findings)
        self._conduct = Conduct(log, self._findings)
        self._tree = Frontier()
        self._anchors = sorted(anchors, key=lambda anchor: anchor.size)
        self._origin = ""
        self._restarted = ""
        self._agreed = self._anchored = self._signed = self._checkpoints = 0
        self._latest = self._size = 0
        self._by_key = False

    def run(self, head: tuple[int, bytes] | None) -> Verified:
        waiting = [anchor for anchor in self._anchors if anchor.size]
        for stored in self._log.stored(self._last):
            row = stored.row
            if not self._origin:
                self._begin(row)
            self._structure.check(stored)  # tells of the record before it, too, so that an anchor comes after
            self._anchors_here(waiting)
            self._conduct.check(row)
            if row.event == EVENT:
                self._checkpoint(row)
            self._tree.add(row.leaf)
        self._structure.end(head)
        self._anchors_here(waiting)
        for anchor in waiting:
            self._beyond(anchor)
        for anchor in self._anchors:
            self._origins(anchor)
        return self._verified()

    def _begin(self, row: Row) -> None:
        self._origin = origin_name(row.leaf)
        if row.event == "log.restarted":
            first = str(_parsed(row.body).get("first", ""))
            self._restarted = origin_name(bytes.fromhex(first)) if _is_hash(first) else "an unknown log"

    def _checkpoint(self, row: Row) -> None:
        """Check a checkpoint in the log: it speaks of everything before it."""
        try:
            found = parse_checkpoint(str(_parsed(row.body).get("note", "")))
        except EvidenceError as error:
            return self._findings.add(row.seq, "forged checkpoint", error.message)
        signed = _signed_by(found, self._keys)
        self._latest, self._size, self._by_key = row.seq, found.size, signed is True
        if signed is False:
            return self._findings.add(row.seq, "forged checkpoint", "it is not signed by the key that it names")
        if found.size != self._tree.size and self._findings.count:
            return None  # it stands in another's place, and that has been said
        if (found.origin, found.size, found.root) != (self._origin, self._tree.size, self._tree.root()):
            text = "a signed checkpoint" if signed else "a checkpoint"
            return self._differs(found, f"{text} at record {row.seq}")
        self._checkpoints += 1
        if signed or not self._keys:
            self._agreed = found.size
        if signed:
            self._signed = found.size
        return None

    def _anchors_here(self, waiting: list[Checkpoint]) -> None:
        while waiting and waiting[0].size <= self._tree.size:
            self._anchor(waiting.pop(0))

    def _anchor(self, anchor: Checkpoint) -> None:
        if (anchor.size, anchor.root) == (self._tree.size, self._tree.root()):
            self._anchored = self._agreed = anchor.size
        else:
            self._differs(anchor, "the anchor")

    def _differs(self, checkpoint: Checkpoint, what: str) -> None:
        """Say that the records are not those that were signed, unless it is known already which of them are not."""
        if any(finding.seq <= checkpoint.size for finding in self._findings.kept):
            return
        first = min(self._agreed + 1, checkpoint.size)
        text = f"records {first} to {checkpoint.size} fit each other, and are not those that {what} was made of"
        self._findings.add(first, "re-chained", text)

    def _beyond(self, anchor: Checkpoint) -> None:
        last = self._tree.size
        if any(finding.kind == "truncated" for finding in self._findings.kept):
            return
        text = f"the anchor was made when there were {anchor.size} records, and there are {last}"
        self._findings.add(last + 1, "truncated", text)

    def _origins(self, anchor: Checkpoint) -> None:
        """Say that the anchor is of another log, unless the first record is known to be bad."""
        if anchor.origin != self._origin and not any(finding.seq == 1 for finding in self._findings.kept):
            text = f"the anchor is of {anchor.origin}, and this log began as {self._origin or 'nothing'}"
            self._findings.add(1, "another log", text)

    def _unsigned(self) -> str:
        """Say why nothing vouches for the newest checkpoint: a key, an anchor as new, or without keys any anchor."""
        if self._anchored and (not self._keys or self._anchored >= self._size):
            return ""
        these = "this key" if len(self._keys) == 1 else "one of these keys"
        if not self._latest:
            return f"no checkpoint in the log is signed by {these}" if self._keys else ""
        if not self._keys:
            return "no signature could be checked"
        return "" if self._by_key else f"the checkpoint at record {self._latest} is not signed by {these}"

    def _verified(self) -> Verified:
        findings, structure = self._findings, self._structure
        return Verified(
            records=self._tree.size,
            root=self._tree.root().hex(),
            origin=self._origin,
            first=findings.first,
            findings=tuple(findings.kept),
            count=findings.count,
            checkpoints=self._checkpoints,
            anchored=self._anchored,
            signed=self._signed,
            payloads=structure.payloads,
            erased=structure.erased,
            restarted=self._restarted,
            latest=self._latest,
            unsigned=self._unsigned(),
        )


def _require_signed(anchor: Checkpoint, keys: Sequence[VerifierKey]) -> None:
    if keys and not _signed_by(anchor, keys):
        names = ", ".join(key.name for key in keys)
        raise EvidenceError(
            f"the anchor is not signed by {names}", remedy="give the key that signed it: --key, as text or as a file"
        )


def _signed_by(checkpoint: Checkpoint, keys: Sequence[VerifierKey]) -> bool | None:
    """Tell whether one of the keys signed it; None when it is signed by other keys only."""
    found = [checkpoint.signed_by(key) for key in keys]
    return True if True in found else False if False in found else None


def _is_hash(text: str) -> bool:
    return len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
