"""Audit sinks get every record once and in order, whatever happens to them, and hold nothing up."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from remit.extensions.sinks import Delivery, Outlet, _Worker
from remit.extensions.values import Fault, Item
from remit.state.store import State


class Collecting:
    """A sink that can be down, and can be slow."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.down = False
        self.go = threading.Event()
        self.go.set()

    def write(self, records: Any) -> None:
        self.go.wait(20)
        if self.down:
            raise OSError("down")
        self.seen += [record.seq for record in records]

    def close(self) -> None:
        self.go.set()


def delivery(state: State, sink: Collecting, *, required: bool = False) -> list[Fault]:
    """Attach a sink to a state; return the list that its faults go to."""
    faults: list[Fault] = []
    item = Item(kind="audit sink", name="collecting", extension="ext", source="ext 1", value=sink)
    state.listener = Delivery([Outlet(item, required=required)], state, faults.append)
    return faults


@pytest.mark.parametrize("required", [False, True])
def test_a_sink_catches_up_after_it_was_down_and_after_a_new_start(tmp_path: Path, required: bool) -> None:
    sink = Collecting()
    with State(tmp_path) as state:
        state.append("before")
        faults = delivery(state, sink, required=required)
        state.append("one")
    sink.down = True
    with State(tmp_path) as state:
        faults = delivery(state, sink, required=required)
        for name in ("two", "three"):
            try:
                state.append(name)
            except Exception as error:
                assert required and "required" in str(error)
    assert len(faults) == 1 and faults[0].error == "OSError: down"
    with State(tmp_path) as state:
        state.append("written by another command")
    sink.down = False
    with State(tmp_path) as state:
        delivery(state, sink, required=required)
        last = state.append("four")
    assert sink.seen == list(range(2, last + 1)), "every record since it was first there, each once, in order"


def test_two_processes_hand_each_record_over_once(tmp_path: Path) -> None:
    sink = Collecting()
    with State(tmp_path) as one, State(tmp_path) as two:
        delivery(one, sink)
        delivery(two, sink)
        for number in range(20):
            (one, two)[number % 2].append(f"event {number}")
        last = two.append("last")
    assert sink.seen == list(range(1, last + 1))


def test_what_is_written_just_before_the_end_is_handed_over() -> None:
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        done.append("work")
        begun.set()
        go_on.wait(20)

    worker = _Worker(work)
    worker.wake()
    assert begun.wait(20)
    worker.wake()  # a record of which the work that goes on saw nothing
    ending = threading.Thread(target=worker.finish, args=(20.0,))
    ending.start()
    while not worker._over:
        ending.join(0.001)
    go_on.set()
    ending.join(20)
    assert done == ["work", "work"] and not worker._thread.is_alive()


def test_a_slow_sink_holds_nothing_up(tmp_path: Path) -> None:
    sink = Collecting()
    sink.go.clear()
    with State(tmp_path) as state:
        delivery(state, sink)
        for number in range(50):
            state.append(f"event {number}")
        assert sink.seen == [], "all is written while the sink has taken nothing"
        sink.go.set()
    assert len(sink.seen) == 50


def test_a_sink_that_fails_at_the_very_end_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of its fault is written while the state is closed; who hears of it then must not begin anew."""
    sink = Collecting()
    sink.down = True
    sink.go.clear()
    item = Item(kind="audit sink", name="collecting", extension="ext", source="ext 1", value=sink)
    with State(tmp_path) as state:
        listener = Delivery([Outlet(item, required=False)], state, lambda _: state.append("extension.failed") and None)
        state.listener = listener
        state.append("one")
        worker = listener._worker
        assert worker is not None
        finish = worker.finish

        def finish_and_fail(seconds: float) -> None:
            sink.go.set()
            finish(seconds)

        monkeypatch.setattr(worker, "finish", finish_and_fail)
    assert listener._worker is None and not worker._thread.is_alive()
    with State(tmp_path) as state:
        assert [record.event for record in state.records()] == ["one", "extension.failed"]


def test_a_state_that_begins_anew_is_handed_over_from_its_beginning(tmp_path: Path) -> None:
    sink = Collecting()
    with State(tmp_path) as state:
        delivery(state, sink)
        for number in range(5):
            state.append(f"event {number}")
    for path in tmp_path.glob("state.db*"):
        path.unlink()
    sink.seen.clear()
    with State(tmp_path) as state:
        state.append("first")
        delivery(state, sink)
        last = state.append("second")
    assert sink.seen == list(range(1, last + 1))
