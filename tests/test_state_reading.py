"""Reading with filters walks an index, in both directions, and gives what a walk over everything would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.state.reading import PAGE, Read, Wanted, explain, last_sequence, read, rows, sessions_like
from remit.state.store import State
from tests.log_parts import NOON, call_entries, written

CALLS = 300


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[State]:
    """A log in which the clock steps back by a day half-way."""
    entries = []
    for number in range(CALLS):
        rare = number % 50 == 0
        entries += call_entries(
            f"c{number}",
            session=f"s{number // 10}",
            skill="mail.send" if number % 7 == 0 else "calc.evaluate",
            who=("ada", "bob")[number % 2],
            verdict="deny" if rare else "allow",
            status="denied" if rare else "ok",
            effect="external" if number % 7 == 0 else "read",
            at=NOON + number * 10 - (86_400 if number > CALLS // 2 else 0),
        )
    with written(tmp_path_factory.mktemp("reading"), *entries) as made:
        yield made


def fits(one: Read, wanted: Wanted) -> bool:
    record = one.record
    plain = ("session", "skill", "call", "who", "effect", "verdict", "status", "trace")
    events = [one for one in wanted.events if one == record.event or (one[-1] == "." and record.event.startswith(one))]
    return (
        all(getattr(record, name) == getattr(wanted, name) for name in plain if getattr(wanted, name))
        and bool(events or not wanted.events)
        and (wanted.since is None or record.time >= wanted.since)
        and (wanted.until is None or record.time < wanted.until)
        and record.seq > wanted.after
        and (not wanted.before or record.seq < wanted.before)
    )  # fmt: skip


WANTED = st.builds(
    Wanted,
    session=st.sampled_from(["", "s3", "s29", "none"]),
    skill=st.sampled_from(["", "mail.send"]),
    call=st.sampled_from(["", "", "c77"]),
    who=st.sampled_from(["", "ada"]),
    effect=st.sampled_from(["", "read"]),
    verdict=st.sampled_from(["", "deny"]),
    status=st.sampled_from(["", "ok"]),
    events=st.sampled_from([(), ("call.",), ("call.finished",), ("call.started", "call.decided"), ("signoff.",)]),
    since=st.none() | st.integers(-9000, 300).map(lambda n: NOON + n * 10),
    until=st.none() | st.integers(-9000, 300).map(lambda n: NOON + n * 10),
    after=st.sampled_from([0, 400]),
    before=st.sampled_from([0, 900]),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(WANTED, st.booleans(), st.sampled_from([None, 1, 7]))
def test_filters_give_what_a_walk_over_everything_gives(
    state: State, wanted: Wanted, newest_first: bool, limit: int | None
) -> None:
    everything = list(read(state.database, Wanted()))
    right = [one.record.seq for one in everything if fits(one, wanted)]
    right = right[::-1] if newest_first else right
    found = [one.record.seq for one in read(state.database, wanted, limit=limit, newest_first=newest_first)]
    assert found == right[:limit]
    assert [seq for (seq,) in rows(state.database, wanted, "records.seq")] == sorted(right)


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(session="s3"), "records_by_session"),
        (Wanted(call="c77"), "records_by_call"),
        (Wanted(who="bob", verdict="deny"), "records_by_verdict"),
        (Wanted(who="ada", status="denied"), "records_by_status"),
        (Wanted(effect="external", skill="mail.send", session="s3"), "records_by_session"),
        (Wanted(events=("call.started",)), "records_by_event"),
        (Wanted(trace="0" * 32), "records_by_trace"),
        (Wanted(skill="mail.send"), "records_by_skill"),
        (Wanted(), "INTEGER PRIMARY KEY"),
        (Wanted(since=NOON, until=NOON + 5), "INTEGER PRIMARY KEY"),
        (Wanted(in_doubt=True), "INTEGER PRIMARY KEY"),
    ],
)
@pytest.mark.parametrize("newest_first", [True, False])
def test_a_page_is_found_by_an_index_and_not_sorted(
    state: State, wanted: Wanted, index: str, newest_first: bool
) -> None:
    plan = explain(state.database, wanted, newest_first=newest_first)
    own = [line for line in plan if "records" in line]
    assert index in own[0] and own[0].startswith("SEARCH"), plan
    assert not any("SCAN records" in line or ("TEMP B-TREE" in line and "ORDER" in line) for line in plan), plan


def test_pages_join_without_gap_or_repeat(state: State) -> None:
    found = [one.record.seq for one in read(state.database, Wanted())]
    assert found == list(range(1, last_sequence(state.database) + 1)) and len(found) > 2 * PAGE


def test_records_that_come_meanwhile_do_not_disturb_a_reader(tmp_path: Path) -> None:
    with written(tmp_path, *(e for n in range(200) for e in call_entries(f"c{n}"))) as state:
        found: list[int] = []
        for one in read(state.database, Wanted()):
            found.append(one.record.seq)
            if one.record.seq == 10:
                state.append_all(call_entries("late"))
        assert found == list(range(1, 801))


def test_facts_and_payload_are_apart(tmp_path: Path) -> None:
    with written(tmp_path, *call_entries("c1", arguments={"q": "x"})) as state:
        one: Any = next(iter(read(state.database, Wanted())))
        assert one.payload == {"arguments": {"q": "x"}} and "arguments" not in one.facts
        assert one.record.body["arguments"] == {"q": "x"} and one.size == len(b'{"arguments":{"q":"x"}}')


def test_sessions_are_found_by_the_beginning_of_their_id(state: State) -> None:
    assert sessions_like(state.database, "s2", most=3) == ["s2", "s20", "s21"]
    assert sessions_like(state.database, "s29", most=3) == ["s29"]
    assert sessions_like(state.database, "t", most=3) == []
    assert next(iter(read(state.database, replace(Wanted(), session="\ud800"))), None) is None
