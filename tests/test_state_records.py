"""The log: filters, paging, canonical bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.state.records import Entry
from remit.state.store import State


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path) as state:
        yield state


def test_filters(state: State) -> None:
    for number in range(6):
        state.append(
            "call.started" if number % 2 else "call.finished",
            session=f"s{number % 3}",
            skill="a.b",
            call=str(number),
        )
    assert [r.call for r in state.records(session="s1")] == ["1", "4"]
    assert [r.call for r in state.records(event="call.started")] == ["1", "3", "5"]
    assert [r.call for r in state.records(event="call.", limit=2)] == ["0", "1"]
    assert [r.call for r in state.records(skill="a.b", after=4)] == ["4", "5"]
    assert [r.call for r in state.records(newest_first=True, limit=2)] == ["5", "4"]
    assert [r.call for r in state.records(newest_first=True, after=3)] == ["1", "0"]
    assert [r.call for r in state.records(call="3")] == ["3"]
    assert list(state.records(event="other.")) == []


def test_many_records_come_in_pages(state: State) -> None:
    state.append_all([Entry(event="x", body={"n": n}) for n in range(1_234)])
    assert [record.body["n"] for record in state.records()] == list(range(1_234))
    assert len(list(state.records(limit=700))) == 700
    assert [r.seq for r in state.records(newest_first=True)] == list(range(1_234, 0, -1))


def test_all_entries_or_none(state: State) -> None:
    assert state.append_all([]) == 0
    assert state.append_all([Entry(event="a"), Entry(event="b")]) == 2


def test_bodies_hold_what_json_cannot(state: State) -> None:
    state.append("x", body={"big": 2**80, "nan": float("nan"), "bad": "\ud800", "b": b"x", "$int": "1"})
    body = next(state.records()).body
    assert body["big"] == {"$int": str(2**80)}
    assert body["nan"] == {"$float": "nan"}
    assert body["bad"] == {"$text": "\\ud800"}
    assert body["$$int"] == "1"
    assert set(body["b"]) == {"$bytes"}


def test_names_with_lone_surrogates_are_stored(state: State) -> None:
    state.append("x", skill="a.\ud800", session="\udfff")
    assert len(list(state.records(skill="a.\ud800"))) == 1
