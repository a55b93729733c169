"""What people said goes by age, by size and by person, from every corner of the file; the records stay."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.evidence.verify import verify
from remit.memory.fact import Fact
from remit.memory.kept import StateFacts
from remit.state.reading import Wanted, read
from remit.state.retention import DAY, Selection, before_size, empty_wal, remove, rewrite, would_remove
from remit.state.store import State
from remit.state_folder import StateFolder, data_folder
from remit_sandbox.signoff import Action, SignoffRequest
from tests.log_parts import Here, call_entries, here, written

__all__ = ["here"]

WORDS = {name: f"the-words-of-{name}" for name in ("ada", "bob")}


def lived(folder: Path, who: str, *, age: float = 0.0) -> None:
    """Leave what a person leaves behind: records, a session, a result, a cached result, a sign-off request."""
    with State(folder) as state:
        state.who = who
        words = WORDS[who]
        at = time.time() - age * DAY
        state.append_all(
            call_entries(f"c-{who}", session=f"s-{who}", who=who, at=at, text=words, arguments={"q": words})
        )
        for size in (9000, 60, 3000, 1):
            state.save_session(
                f"s-{who}", [{"role": "user", "content": words * size}], status="answered", durable=False
            )
        state.put_blob(words.encode() * 3, "text/plain", session=f"s-{who}")
        state.cache_put(f"key-{who}", words.encode(), seconds=1e6)
        state.put_signoff(request(who), call=f"c-{who}")
        back_to(state, who, at)


def request(who: str) -> SignoffRequest:
    action = Action(
        skill="mail.send",
        version="1",
        skill_hash="h",
        arguments={"text": WORDS[who]},
        resolved={},
        session=f"s-{who}",
        principal=who,
        policy="p",
    )
    return SignoffRequest(action=action, expires=time.time() + 1e6, verdict="ask", source="rule x", effect="external")


def back_to(state: State, who: str, at: float) -> None:
    """Let everything have happened at a time in the past."""

    def work(connection: Any) -> None:
        connection.execute("UPDATE sessions SET updated = ? WHERE who = ?", (at, who))
        connection.execute("UPDATE blobs SET created = ? WHERE who = ?", (at, who))
        connection.execute("UPDATE cache SET expires = ? WHERE who = ?", (at + 60, who))
        connection.execute("UPDATE signoffs SET created = ?, state = 'consumed' WHERE who = ?", (at, who))

    state.database.write(work)


def raw(folder: Path) -> bytes:
    """Return every byte of the state, the write-ahead log included."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("state.db*")))


def payloads(folder: Path) -> dict[str, bool]:
    with State(folder) as state:
        found = list(read(state.database, Wanted(events=("call.finished",))))
    return {one.record.who: one.payload is not None for one in found}


def test_one_person_is_erased_from_every_corner(here: Here) -> None:
    lived(here.folder, "ada")
    lived(here.folder, "bob")
    with State(here.folder) as state:
        for who, words in WORDS.items():
            StateFacts(state).put(who, Fact(name="said", kind="text", value=words))
    before = raw(here.folder)
    assert all(words.encode() in before for words in WORDS.values())
    erased = here.log("erase", "--who", "ada", "--yes", "--json").json["removed"][0]
    assert erased.pop("bytes") > 0
    assert erased == {"payloads": 2, "sessions": 1, "results": 1, "cached": 1, "requests": 1, "facts": 1}
    after = raw(here.folder)
    assert WORDS["ada"].encode() not in after and WORDS["bob"].encode() in after
    assert payloads(here.folder) == {"ada": False, "bob": True}
    with State(here.folder) as state:
        assert state.load_session("s-ada") is None and state.load_session("s-bob") is not None
        assert not StateFacts(state).facts("ada") and len(StateFacts(state).facts("bob")) == 1
        assert state.cache_get("key-ada") is None and state.cache_get("key-bob") is not None
    assert "erased on 20" in here.log("list", "--who", "ada").out
    assert "erased on 20" in here.log("show", "c-ada").out and "on request" in here.log("replay", "s-ada").out
    lines = here.log("list", "--event", "log.erased", "--json").json
    assert lines[0]["body"]["who"] == "ada" and lines[0]["body"]["planned"]["payloads"] == 2
    assert here.log("erase", "--who", "ada", "--yes").out == "nothing to remove\n"
    verified = verify(here.folder / "state.db")
    assert verified.holds and verified.erased == 2


def test_one_session_alone_can_be_erased(here: Here) -> None:
    lived(here.folder, "ada")
    with State(here.folder) as state:
        state.append_all(call_entries("c9", session="other", who="ada"))
    here.log("erase", "--who", "ada", "--session", "s-ada", "--yes")
    with State(here.folder) as state:
        kept = {one.record.session: one.payload is not None for one in read(state.database, Wanted(who="ada"))}
    assert kept == {"s-ada": False, "other": True}


def test_what_packs_keep_for_a_person_is_named(here: Here) -> None:
    lived(here.folder, "ada")
    for who in ("ada", "bob"):
        folder = data_folder(StateFolder(id="x", path=here.folder), "notes", who)
        (folder / "kept.txt").write_text(who)
    told = here.log("erase", "--who", "ada", "--yes").err
    assert told.count("not touched: what pack notes keeps") == 1
    assert len(list(here.folder.glob("data/notes/*/kept.txt"))) == 2


def test_nothing_is_erased_without_a_yes(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(here.folder, "ada")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ran = here.log("erase", "--who", "ada", expect=1)
    assert "payloads of records" in ran.out and "nothing was erased" in ran.err
    here.log("erase", "--who", "ada", "--dry-run")
    assert payloads(here.folder) == {"ada": True}
    assert here.log("erase", "--who", "", expect=2).err


def test_a_request_that_waits_is_refused_with_the_person_it_shows(here: Here) -> None:
    with State(here.folder) as state:
        state.who = "ada"
        state.put_signoff(request("ada"))
        assert len(state.pending_signoffs()) == 1
        remove(state.database, Selection(who="ada"), why="person")
        assert state.pending_signoffs() == ()
        empty_wal(state.database)
    assert WORDS["ada"].encode() not in raw(here.folder)


def test_an_old_request_stays_only_as_long_as_somebody_may_answer(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        for who, lasts in (("ada", 1e6), ("bob", -1.0)):
            state.who = who
            state.put_signoff(replace(request(who), expires=time.time() + lasts))
        state.database.write(lambda c: c.execute("UPDATE signoffs SET created = 0"))
        assert remove(state.database, Selection(before=time.time()), why="age").requests == 1
        assert [one.session for one in state.pending_signoffs()] == ["s-ada"]
        empty_wal(state.database)
    assert WORDS["ada"].encode() in raw(tmp_path) and WORDS["bob"].encode() not in raw(tmp_path)


def test_what_is_old_goes_and_what_is_parked_stays(here: Here) -> None:
    lived(here.folder, "ada", age=100)
    lived(here.folder, "bob", age=10)
    with State(here.folder) as state:
        state.save_session("parked", [{"content": "wait"}], status="parked")
        state.database.write(lambda c: c.execute("UPDATE sessions SET updated = 0 WHERE id = 'parked'"))
    assert "would be removed" in here.log("prune", "--keep-days", "30", "--dry-run").out
    assert payloads(here.folder) == {"ada": True, "bob": True}
    assert "removed:" in here.log("prune", "--keep-days", "30", "--shrink").out
    assert payloads(here.folder) == {"ada": False, "bob": True}
    assert WORDS["ada"].encode() not in raw(here.folder)
    with State(here.folder) as state:
        assert state.load_session("parked") is not None and state.load_session("s-ada") is None
    assert "for its age" in here.log("show", "c-ada").out
    assert here.log("prune", "--keep-days", "30").out == "nothing to remove\n"
    assert here.log("list", "--event", "log.pruned", "--json").json[0]["body"]["why"] == "age"


def test_the_oldest_go_first_when_there_is_too_much(tmp_path: Path) -> None:
    texts = {n: f"{n} " * 2500 for n in range(10)}
    entries = [e for n, text in texts.items() for e in call_entries(f"c{n}", at=1e9 + n * 100, text=text)]
    with written(tmp_path, *entries) as state:
        assert before_size(state.database, 1.0) is None
        cut = before_size(state.database, 0.016)
        assert cut is not None
        remove(state.database, Selection(before=cut), why="size")
        left = [one.record.call for one in read(state.database, Wanted(events=("call.finished",))) if one.payload]
        assert left == ["c7", "c8", "c9"]
        assert before_size(state.database, 0.016) is None


def test_equal_results_stay_as_long_as_somebody_has_them(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        handles = {}
        for who in ("ada", "bob"):
            state.who = who
            handles[who] = state.put_blob(b"the same", "text/plain", session=who)
        remove(state.database, Selection(who="ada"), why="person")
        assert state.get_blob(handles["ada"]) is None
        kept = state.get_blob(handles["bob"])
        assert kept is not None and kept.data == b"the same"


def test_prune_says_what_to_write_where_nothing_is_configured(here: Here, tmp_path: Path) -> None:
    assert "above 0" in here.log("prune", "--keep-days", "0", expect=2).err
    assert "above 0" in here.log("prune", "--keep-mb", "nan", expect=2).err


def test_a_reader_that_holds_the_log_is_told_of(tmp_path: Path) -> None:
    """Case E151: what a foreign reader keeps from being emptied is said, and writes go on."""
    import sqlite3

    lived(tmp_path, "ada")
    reader = sqlite3.connect(tmp_path / "state.db")
    try:
        with State(tmp_path) as state:
            state.append("x", session="s")
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM records LIMIT 1").fetchone()
            state.append("x", session="s")
            state.database.read(lambda c: c.execute("PRAGMA busy_timeout = 50").fetchone())
            assert not empty_wal(state.database)
            reader.rollback()
            assert empty_wal(state.database)
    finally:
        reader.close()


def test_a_selection_needs_a_bound(tmp_path: Path) -> None:
    with State(tmp_path) as state, pytest.raises(ValueError, match="everything"):
        would_remove(state.database, Selection())
    with written(tmp_path, *call_entries("c1")) as state:
        rewrite(state.database)
        assert would_remove(state.database, Selection(who="nobody")).nothing
