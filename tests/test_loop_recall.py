"""What the log knows of a run that is gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.loop.recall import Recall, all_lost
from remit.loop.transcript import Transcript
from remit.models.protocol import Message, ToolCall, Usage
from remit.skills import Skill
from remit.state.chain import Entry
from remit.state.store import State
from remit.values import Call, Effect

CALL = Call(id="c1", skill="t.do", arguments="{}", session="s")
OTHER = replace(CALL, id="c2")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path) as opened:
        opened.append("run.started", session="s", body={})
        opened.append("turn.reply", session="s", body={"input_tokens": 3, "output_tokens": 4, "cost": 0.5})
        yield opened


def skills(effect: Effect = "write", **more: Any) -> dict[str, Skill]:
    return {"t.do": Skill(pack="t", name="do", description="", schema={}, effect=effect, **more)}


def began(state: State, call: str = "c1") -> None:
    state.append("call.started", session="s", skill="t.do", call=call, body={})


def ended(state: State, status: str, **body: Any) -> None:
    about = {"status": status, "labels": ["untrusted"], "structured": False, **body}
    state.append("call.finished", session="s", skill="t.do", call="c1", body=about, sealed={"text": "7", "reason": ""})


def statuses(state: State, known: dict[str, Skill] | None = None, *calls: Call) -> dict[str, str]:
    found = Recall(state, "s", known or skills(), "running").of(calls or (CALL,), ())
    return {id_: result.status for id_, result in found.results.items()}


def test_a_call_that_never_began_is_still_to_be_made(state: State) -> None:
    state.append("call.proposed", session="s", call="c1", body={})
    assert statuses(state) == {}


def test_a_call_that_ended_keeps_its_result(state: State) -> None:
    began(state)
    ended(state, "ok", structured=True)
    (result,) = Recall(state, "s", skills(), "running").of([CALL], ()).results.values()
    assert (result.status, result.text, result.value, result.labels) == ("ok", "7", 7, frozenset({"untrusted"}))


def test_a_call_that_began_and_did_not_end_is_lost(state: State) -> None:
    began(state)
    assert statuses(state) == {"c1": "lost"}
    assert statuses(state, {"t.other": skills()["t.do"]}) == {"c1": "lost"}, "a skill that is gone"


def test_a_call_that_may_be_made_twice_is_made_again(state: State) -> None:
    began(state)
    assert statuses(state, skills(idempotent=True)) == {}
    assert statuses(state, skills("read")) == {}


def test_a_read_that_asked_for_another_call_is_not_made_again(state: State) -> None:
    began(state)
    began(state, "c2")
    assert statuses(state, skills("read"), CALL, OTHER) == {}, "the other one is the model's"
    began(state, "c1.1")
    assert statuses(state, skills("read"), CALL, OTHER)["c1"] == "lost"


def test_a_call_that_waited_is_asked_for_again_unless_it_ran_meanwhile(state: State) -> None:
    ended(state, "parked")
    assert statuses(state) == {}
    began(state)
    assert statuses(state) == {"c1": "lost"}
    ended(state, "ok")
    assert statuses(state) == {"c1": "ok"}


def test_a_result_that_was_erased_is_lost(state: State) -> None:
    state.append("call.finished", session="s", skill="t.do", call="c1", body={"status": "ok"})
    assert statuses(state) == {"c1": "lost"}


def test_calls_of_another_session_are_lost_but_those_that_waited_are_not(state: State) -> None:
    found = Recall(state, "fork", skills(), "running").of([CALL, OTHER], {"c2"})
    assert {id_: result.status for id_, result in found.results.items()} == {"c1": "lost"}
    assert found.results == all_lost([CALL, OTHER], {"c2"}).results
    assert found.left["c2"].status == "cancelled" and "c1" not in found.left


def test_what_the_turns_took_counts_on_and_turns_of_runs_before_do_not(state: State) -> None:
    state.append("turn.reply", session="s", body={"failed": True})
    state.append("run.started", session="s", body={"resumed": True})
    state.append("turn.reply", session="s", body={"estimated_tokens": 9}, sealed={"errors": ["what?"]})
    found = Recall(state, "s", skills(), "parked").of([], ())
    assert [(took.usage, took.counted.total_tokens, took.cost) for took in found.turns] == [
        (Usage(input_tokens=3, output_tokens=4), 7, 0.5),
        (Usage(), 9, None),
    ]
    assert found.errors == ("what?",) and not found.anew
    state.append("run.started", session="s", body={})
    state.append("turn.reply", session="s", body={"input_tokens": 1, "output_tokens": 1})
    found = Recall(state, "s", skills(), "stopped").of([], ())
    assert len(found.turns) == 1 and found.anew


def test_a_run_that_got_its_limits_anew_counts_from_there(state: State) -> None:
    state.append("run.ended", session="s", body={"status": "stopped", "seconds": 7.5})
    state.append("run.started", session="s", body={"resumed": True, "anew": 4, "seconds": 0.0})
    found = Recall(state, "s", skills(), "running").of([CALL], ())
    assert (found.turns, found.begin, found.seconds, found.anew) == ((), 4, 0.0, False)
    assert found.results == {}, "the log knows of the call, although it was asked for before"
    state.append("turn.reply", session="s", body={"input_tokens": 1, "output_tokens": 1, "seconds": 1.5})
    state.append("run.started", session="s", body={"resumed": True, "seconds": 1.5})
    found = Recall(state, "s", skills(), "running").of([], ())
    assert (len(found.turns), found.begin, found.seconds) == (1, 4, 1.5)


def test_the_time_of_calls_counts_also_where_the_process_died_before_the_next_turn(state: State) -> None:
    """Those of tasks, too; what others write into the log afterwards does not."""

    def at(time: float, event: str, session: str = "s", **body: Any) -> None:
        entry = Entry(event=event, session=session, body=body, time=time)
        state.save_session(session, [], status="running", records=[entry])

    def seconds() -> float:
        return Recall(state, "s", skills(), "running").of([], ()).seconds

    at(1000.0, "turn.reply", seconds=2.0)
    state.begin_child("task", parent="s")
    at(1003.0, "call.finished")
    assert seconds() == 5.0
    at(1007.0, "turn.reply", "task", seconds=1.0)
    at(2000.0, "signoff.answered")
    at(2000.0, "call.settled")
    assert seconds() == 9.0
    at(2001.0, "run.ended", seconds=9.5)
    at(3000.0, "call.finished")
    assert seconds() == 9.5


def test_a_transcript_keeps_what_was_written_and_opens_what_has_no_result() -> None:
    transcript = Transcript([Message(role="user", content="go")])
    wrote = (ToolCall(name="t.do", arguments="{'n': 1"), ToolCall(name="t__do", arguments='{"n": 2}', repaired=True))
    transcript.reply("", wrote)
    saved = transcript.to_json()
    again = Transcript.from_json(saved, keep_open=True)
    first, second = again.open_calls
    assert (first.named, first.written, first.arguments) == ("t.do", "{'n': 1", "{}")
    assert (second.named, second.written, second.repaired) == ("", "", True)
    assert again.to_json() == saved
    again.result("two", status="ok")
    assert [call.id for call in again.open_calls] == [second.id]
    assert Transcript.from_json(again.to_json()).messages[-1].status == "lost", "for any other reader"
