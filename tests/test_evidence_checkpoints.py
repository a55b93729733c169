"""Checkpoints: over everything before them, signed, made by whoever comes first."""

from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from remit.errors import EvidenceError
from remit.evidence.checkpoints import Checkpoints, last_checkpoint, make_checkpoint
from remit.evidence.keys import load_signer, load_verifier, make_key, read_verifier
from remit.evidence.verify import verify
from remit.state.chain import Entry
from remit.state.store import State


def test_an_empty_log_has_none(tmp_path: Path) -> None:
    with State(tmp_path) as state, pytest.raises(EvidenceError, match="empty"):
        make_checkpoint(state)


def test_nothing_new_gives_the_last_one_again(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("x")
        first = make_checkpoint(state)
        assert make_checkpoint(state) == first == last_checkpoint(state)
        state.append("y")
        second = make_checkpoint(state)
        assert (first.size, second.size) == (1, 3) and first.origin == second.origin


def test_many_pages_and_what_is_remembered_give_the_same_root(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        for count in (1, 5_500, 10):
            state.append_all([Entry(event="x") for _ in range(count)], durable=False)
            make_checkpoint(state)
    found = verify(tmp_path / "state.db")
    assert found.holds and found.checkpoints == 3


def test_a_log_with_a_gap_is_not_signed(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        for _ in range(5):
            state.append("x")
        state.close()
        connection = sqlite3.connect(tmp_path / "state.db")
        connection.execute("DELETE FROM records WHERE seq = 3")
        connection.commit()
        connection.close()
        with pytest.raises(EvidenceError, match="gaps") as caught:
            make_checkpoint(state)
        assert "verify" in caught.value.remedy


def test_one_is_made_whenever_the_log_has_grown(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        checkpoints = Checkpoints(state, every=10)
        for _ in range(35):
            checkpoints.grown(state.append("x", durable=False))
        sizes = [record.body["size"] for record in state.records(event="log.checkpoint")]
        assert sizes == [10, 20, 30]
        Checkpoints(state, every=0).grown(40)
        assert len(list(state.records(event="log.checkpoint"))) == 3


def test_a_key_that_cannot_be_read_stops_no_call(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        checkpoints = Checkpoints(state, key=f"file:{tmp_path / 'none'}", every=5)
        for _ in range(20):
            checkpoints.grown(state.append("x"))
        assert last_checkpoint(state) is None
        with pytest.raises(EvidenceError, match="cannot be read"):
            make_checkpoint(state, key=f"file:{tmp_path / 'none'}")


def test_many_that_make_checkpoints_at_once_leave_a_log_that_verifies(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.append("x")

        def work() -> None:
            with State(tmp_path) as mine:
                for _ in range(10):
                    mine.append("x")
                    make_checkpoint(mine)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        own = load_verifier(tmp_path)
        assert own is not None
        found = verify(tmp_path / "state.db", keys=[own])
        assert found.holds and found.checkpoints >= 10


def test_the_key_is_private_and_made_once(tmp_path: Path) -> None:
    first = load_signer(tmp_path, name="a")
    assert load_signer(tmp_path, name="b").secret() == first.secret()
    assert stat.S_IMODE((tmp_path / "keys" / "log.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert load_verifier(tmp_path) == first.verifier == read_verifier(str(tmp_path / "keys" / "log.pub"))
    assert first.secret().strip() not in (tmp_path / "keys" / "log.pub").read_text()


def test_a_key_elsewhere_signs(tmp_path: Path) -> None:
    place = f"file:{tmp_path / 'elsewhere.key'}"
    made = make_key(place, name="keeper")
    assert stat.S_IMODE((tmp_path / "elsewhere.key").stat().st_mode) == 0o600
    with pytest.raises(EvidenceError, match="cannot be made"):
        make_key(place, name="keeper")
    with State(tmp_path / "state") as state:
        state.append("x")
        checkpoint = make_checkpoint(state, key=place)
        assert checkpoint.signed_by(made.verifier)
        found = verify(state.database.path, keys=[made.verifier])
        assert found.holds and found.signed == 1


def test_a_key_in_the_keystore_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backend import KeyringBackend
    from keyring.errors import NoKeyringError

    class InMemory(KeyringBackend):
        """A keystore of the test's own."""

        priority = 1.0

        def __init__(self) -> None:
            self.kept: dict[tuple[str, str], str] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

    before, store = keyring.get_keyring(), InMemory()
    keyring.set_keyring(store)
    try:
        made = make_key("keyring:remit/log", name="keeper")
        assert load_signer(tmp_path, "keyring:remit/log") == made and ("remit", "log") in store.kept
        with pytest.raises(EvidenceError, match="no key"):
            load_signer(tmp_path, "keyring:remit/other")

        def refuse(*_: object) -> None:
            raise NoKeyringError("locked")

        monkeypatch.setattr(store, "get_password", refuse)
        with pytest.raises(EvidenceError, match="keystore of this system"):
            load_signer(tmp_path, "keyring:remit/log")
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("reference", ["", "file:", "keyring:", "keyring:x", "env:KEY", "nonsense"])
def test_what_is_no_reference_is_refused(tmp_path: Path, reference: str) -> None:
    with pytest.raises(EvidenceError):
        load_signer(tmp_path, reference)
    with pytest.raises(EvidenceError):
        make_key(reference, name="x")
