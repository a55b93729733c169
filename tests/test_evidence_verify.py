"""Every way to falsify a log is found, and an honest log always passes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from remit.evidence.verify import Verified, verify
from remit_sandbox.canonical import canonical
from tests.evidence_parts import EDITABLE, MUTATIONS, Forger, Mutation, Signed, hashed, make_log, slim

STEP = int(os.environ.get("REMIT_MUTATION_STEP", "331"))
"""Every so manyth record is falsified; 1 for all of them (some minutes)."""

RECORDS = 1_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    return slim(make_log(tmp_path_factory.mktemp("log"), RECORDS))


def forged(log: Signed, folder: Path, mutation: Mutation, seq: int) -> Path:
    """Return a copy of the log, falsified at one record."""
    path = Path(shutil.copy(log.path, folder / "forged.db"))
    forger = Forger(path)
    mutation.make(forger, seq)
    forger.done()
    return path


def test_an_untouched_log_passes(log: Signed) -> None:
    for anchored in (True, False):
        found = log.verify(log.path, anchored=anchored)
        assert found.holds and found.count == 0, found
    found = log.verify(log.path)
    assert (found.records, found.anchored, found.signed) == (RECORDS + 1, RECORDS, RECORDS)
    assert found.checkpoints == 4 and found.payloads > 300


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_every_falsification_is_found_against_the_anchor(log: Signed, tmp_path: Path, mutation: Mutation) -> None:
    for seq in range(1, RECORDS - mutation.room + 1, STEP):
        found = log.verify(forged(log, tmp_path, mutation, seq))
        assert found.first is not None, (mutation.name, seq)
        assert found.first.kind in mutation.kinds, (mutation.name, seq, found.findings)
        if mutation.exact:
            assert found.first.seq == seq + mutation.after, (mutation.name, seq, found.findings)
        elif mutation.kinds[0] == "re-chained":
            assert found.first.seq <= seq, (seq, found.findings)


@pytest.mark.parametrize("column", EDITABLE)
def test_no_column_can_be_edited(log: Signed, tmp_path: Path, column: str) -> None:
    path = Path(shutil.copy(log.path, tmp_path / "forged.db"))
    for seq in range(3, RECORDS, max(STEP, 1) * 3):
        forger = Forger(path)
        honest = forger.row(seq)
        forger.put(honest._replace(**{column: EDITABLE[column]}))
        forger.done()
        for anchored in (True, False):
            found = log.verify(path, anchored=anchored)
            assert found.first is not None and (found.first.seq, found.first.kind) == (seq, "edited"), found.findings
        forger = Forger(path)
        forger.put(honest)
        forger.done()
    assert log.verify(path).holds


def without_anchor(log: Signed, folder: Path, mutation: Mutation) -> str:
    """Return what verification without anchor and key makes of a falsification: found, not found, or sometimes."""
    results = {log.verify(forged(log, folder, mutation, seq), anchored=False).holds for seq in (1, 402, 900)}
    return "sometimes" if len(results) == 2 else "not found" if results == {True} else "found"


def test_the_documents_say_what_cannot_be_found_without_an_anchor(log: Signed, tmp_path: Path) -> None:
    page = Path(__file__).resolve().parent.parent / "docs" / "evidence.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    said = {row[0]: (row[1], row[2].strip()) for row in rows if len(row) == 3}
    for mutation in MUTATIONS:
        assert said.get(mutation.name) == ("found", without_anchor(log, tmp_path, mutation)), mutation.name


def test_a_payload_that_is_gone_without_a_mark_is_found(log: Signed, tmp_path: Path) -> None:
    path = Path(shutil.copy(log.path, tmp_path / "forged.db"))
    forger = Forger(path)
    seq = forger.connection.execute("SELECT min(seq) FROM payloads WHERE seq > 500").fetchone()[0]
    forger.connection.execute("DELETE FROM payloads WHERE seq = ?", (seq,))
    forger.done()
    found = log.verify(path)
    assert found.first is not None and (found.first.seq, found.first.kind) == (seq, "deleted")


def test_erased_payloads_leave_the_proof_whole(log: Signed, tmp_path: Path) -> None:
    path = Path(shutil.copy(log.path, tmp_path / "erased.db"))
    erase = "UPDATE payloads SET data = NULL, salt = NULL, erased = 1.0, why = 'person' WHERE seq % 2 AND seq < 900"
    forger = Forger(path)
    last = forger.row(forger.connection.execute("SELECT max(seq) FROM records").fetchone()[0])
    erased = forger.connection.execute(erase).rowcount
    body = canonical({"who": "ann", "session": ""})
    forger.put(
        hashed(last._replace(seq=last.seq + 1, event="log.erased", body=body, sealed=None, call="", prev=last.leaf))
    )
    forger.done()
    found = log.verify(path)
    assert found.holds and found.erased == erased > 100


def test_a_payload_that_is_gone_must_fit_a_record_that_removed_it(tmp_path: Path) -> None:
    from remit.state.retention import Selection, remove
    from remit.state.store import State

    blank = "UPDATE payloads SET data = NULL, salt = NULL, erased = 1.0, why = 'person' WHERE seq = ?"
    with State(tmp_path) as state:
        for who, session in (("ann", "s1"), ("ann", "s2"), ("ben", "s1")):
            state.append("x", session=session, sealed={"text": who}, who=who)
        for selection in (Selection(who="ann", session="s1"), Selection(before=1.0)):
            seq = state.append("log.pruned" if selection.before else "log.erased", body=selection.announced())
            remove(state.database, selection, why="person", announced=seq)
        state.append("x", session="s1", sealed={"text": "later"}, who="ann")
        assert verify(tmp_path / "state.db").holds and verify(tmp_path / "state.db").erased == 1
        for seq in (6, 3, 2):
            state.database.write(lambda connection, seq=seq: connection.execute(blank, (seq,)))  # type: ignore[misc]
            found = verify(tmp_path / "state.db")
            assert found.first is not None, seq
            assert (found.first.seq, found.first.kind) == (seq, "payload removed without a record")
        assert "nor that of 2 more" in found.first.text


def test_a_log_that_grew_after_the_anchor_passes(tmp_path: Path) -> None:
    from remit.state.store import State

    log = make_log(tmp_path, 40, every=20)
    with State(tmp_path) as state:
        state.append("policy.changed")
    found = log.verify(log.path)
    assert found.holds and (found.anchored, found.records) == (40, 42)


def test_an_anchor_of_another_log_is_named(log: Signed, tmp_path: Path) -> None:
    other = make_log(tmp_path, 30, every=10)
    found = verify(other.path, anchors=[log.anchor], keys=[log.key])
    assert found.first is not None and found.first.kind == "another log"


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    from remit.errors import EvidenceError

    (tmp_path / "x.db").write_bytes(b"this is no database" * 99)
    for path in (tmp_path / "x.db", tmp_path / "none.db"):
        with pytest.raises(EvidenceError):
            verify(path)


def test_a_log_is_verified_while_others_write_to_it(tmp_path: Path) -> None:
    from remit.state.store import State

    log = make_log(tmp_path, 40, every=20)
    with State(tmp_path) as state:
        for number in range(5):
            state.append("x", body={"n": number})
            found: Verified = log.verify(log.path)
            assert found.holds and found.records == 42 + number
