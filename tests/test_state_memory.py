"""Sessions, whole results and the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.state.store import State


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path) as state:
        yield state


def test_a_session_is_replaced_and_keeps_its_beginning(state: State) -> None:
    assert state.load_session("s") is None
    state.save_session("s", [{"role": "user", "content": "\ud83d\ude00 \ud800"}], status="running")
    first = state.load_session("s")
    state.save_session("s", [{"role": "user"}, {"role": "assistant"}], status="answered")
    second = state.load_session("s")
    assert first is not None and second is not None
    assert first.transcript[0]["content"].endswith("\ud800")
    assert (second.created, second.status, len(second.transcript)) == (first.created, "answered", 2)


def test_sessions_are_listed_newest_first(state: State) -> None:
    for name in ("a", "b", "c"):
        state.save_session(name, [], status="parked" if name == "b" else "answered")
    state.save_session("a", [], status="answered")
    assert [session.id for session in state.sessions()] == ["a", "c", "b"]
    assert [session.id for session in state.sessions(status="parked")] == ["b"]
    assert [session.id for session in state.sessions(limit=1)] == ["a"]


def test_equal_blobs_are_stored_once_under_two_handles(state: State) -> None:
    one = state.put_blob(b"data", "image/png", session="s", skill="a.b", labels={"untrusted", "private"})
    two = state.put_blob(b"data", "image/png")
    blob = state.get_blob(one)
    assert one != two and blob is not None
    assert (blob.data, blob.media_type, blob.skill) == (b"data", "image/png", "a.b")
    assert blob.labels == {"untrusted", "private"}
    assert state.database.read(lambda c: c.execute("SELECT count(*) FROM contents").fetchone()) == (1,)


def test_a_handle_is_good_in_its_own_session_only(state: State) -> None:
    handle = state.put_blob(b"data", "text/plain", session="mine")
    assert state.get_blob(handle, session="theirs") is None
    assert state.get_blob(handle, session="mine") is not None
    assert state.get_blob("r-000000000000") is None


def test_the_cache_forgets(state: State) -> None:
    state.cache_put("k", b"1", seconds=100, labels={"untrusted"})
    state.cache_put("old", b"2", seconds=-1)
    found = state.cache_get("k")
    assert found is not None and (found.text, found.labels) == (b"1", {"untrusted"})
    assert state.cache_get("old") is None and state.cache_get("none") is None
    state.cache_put("k", b"3", seconds=100)
    assert state.database.read(lambda c: c.execute("SELECT count(*) FROM cache").fetchone()) == (1,)
