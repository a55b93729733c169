"""Attempts: each apart from the others and from people, nothing signed off, and an early end keeps what is done."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examples.eval.rehearsal import reply

from remit import Agent, ScriptedModel, skill
from remit.deployment.deployment import Deployment
from remit.errors import UsageError
from remit.evaluation import Report, Suite, evaluate
from remit.memory.kept import StateFacts
from remit.models.protocol import ModelReply, ModelRequest
from remit.models.scripted import ask
from remit.state.store import State
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.in_process import Here


@skill(effect="read")
def add(left: int, right: int) -> int:
    """Add two whole numbers."""
    return left + right


def adding(request: ModelRequest) -> Any:
    """Add the two numbers of the question, and say the sum."""
    last = request.messages[-1]
    if last.role == "tool":
        return f"It is {last.content}."
    left, _, right = last.content.rstrip("?").partition("+")
    return ask("local.add", left=int(left), right=int(right))


def suite(*cases: dict[str, Any], **more: Any) -> Suite:
    return Suite.model_validate({"cases": [{"question": "2+3?", **case} for case in cases], **more})


def run(asked: Suite, model: Any = adding, **options: Any) -> Report:
    return evaluate(asked, model=ScriptedModel(model, name="m"), skills=[add], **options)


def states(report: Report) -> dict[str, str]:
    return {one.case.id: one.state for one in report.cases}


FIVE = {"id": "five", "answer": {"number": 5}, "trajectory": [{"skill": "local.add", "arguments": {"left": 2}}]}
SIX = {"id": "six", "answer": {"number": 6}, "tags": ["hard"]}


def test_an_agent_in_code_is_evaluated() -> None:
    report = run(suite(FIVE, SIX), repeat=2, jobs=3)
    assert states(report) == {"five": "passed", "six": "failed"}
    assert report.success == 0.5 and report.model == "m" and report.mode == "asked"
    five, six = report.cases
    assert [attempt.number for attempt in five.attempts] == [1, 2]
    assert five.attempts[0].steps == 2 and (five.attempts[0].tokens or 0) > 0
    assert six.attempts[0].failures == ("the number 6 is not in the answer",)
    assert len({attempt.session for one in report.cases for attempt in one.attempts}) == 4
    assert set(report.by_tag) == {"hard"}


def test_cases_that_pass_now_and_then_are_flaky() -> None:
    turns = iter(["It is 5.", "It is 7.", "It is 5."])
    report = run(suite({"id": "a", "answer": {"number": 5}}), lambda _: next(turns), repeat=3)
    assert states(report) == {"a": "flaky"} and report.flaky == ("a",)
    assert report.figures.pass_at == 1 and report.figures.pass_all == 0


def test_turns_of_a_case_share_a_session_and_end_with_the_first_that_does_not_end_as_it_must() -> None:
    seen: list[int] = []

    def count(request: ModelRequest) -> Any:
        seen.append(sum(message.role == "user" for message in request.messages))
        return ModelReply(text="ok" if len(seen) != 2 else "", finish="filter" if len(seen) == 2 else "stop")

    report = run(suite({"id": "a", "then": [{"question": "b"}, {"question": "c"}]}), count)
    assert seen == [1, 2]
    assert report.cases[0].attempts[0].failures[-1] == "turn 3: was not reached"


def test_a_recorded_suite_is_replayed_without_a_model_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    cases = suite(FIVE, SIX, {"id": "same", "answer": {"number": 5}})
    first = run(cases, record=path, repeat=2)
    again = evaluate(cases, skills=[add], replay=path, repeat=2, jobs=4)
    assert (again.mode, again.model) == ("replayed", "m")
    assert states(again) == states(first) and again.figures.tokens == first.figures.tokens
    with pytest.raises(UsageError, match="holds 2 of 3 attempts at case five"):
        evaluate(cases, skills=[add], replay=path, repeat=3)
    changed = evaluate(suite({**FIVE, "question": "2+4?"}), skills=[add], replay=path)
    assert (
        'what differs first: message 2 (the user): at character 3: "2+4?", was "2+3?"'
        in changed.cases[0].attempts[0].failures[0]
    )


def test_what_cannot_run_is_said_before_anything_does() -> None:
    def never(_: ModelRequest) -> str:
        raise AssertionError("the model was asked")

    missing = suite(FIVE, {"id": "b", "trajectory": ["local.ad"]})
    with pytest.raises(UsageError, match=r"case b: no skill local\.ad can be called here; did you mean local\.add\?"):
        run(missing, never)
    assert states(run(missing, skip_missing=True)) == {"five": "passed", "b": "skipped"}
    assert run(missing, skip_missing=True).cases[1].skipped == "no skill local.ad can be called here"
    wrong = suite({"id": "b", "trajectory": [{"skill": "local.add", "arguments": {"lefd": 1}}]})
    with pytest.raises(UsageError, match=r"case b: local\.add has no argument lefd; did you mean left\?"):
        run(wrong, never)
    for options in ({"repeat": 0}, {"jobs": 0}, {"record": "a", "replay": "b"}):
        with pytest.raises(UsageError):
            run(suite(FIVE), never, **options)
    assert states(run(suite({**FIVE, "skip": "later"}, SIX))) == {"five": "skipped", "six": "failed"}


def test_after_a_failure_nothing_more_begins_where_that_is_asked() -> None:
    report = run(suite(SIX, FIVE), fail_fast=True)
    assert states(report) == {"six": "failed", "five": "skipped"}
    assert "--fail-fast" in report.cases[1].skipped


def test_an_interrupt_keeps_what_is_finished() -> None:
    def interrupted(request: ModelRequest) -> Any:
        if "7+7" in request.messages[-1].content:
            signal.raise_signal(signal.SIGINT)
        return adding(request)

    report = run(suite(FIVE, {"id": "late", "question": "7+7?"}, SIX), interrupted)
    assert report.interrupted
    assert states(report) == {"five": "passed", "late": "skipped", "six": "skipped"}


def test_time_is_bounded_and_a_failing_model_is_an_outcome() -> None:
    class Slow(ScriptedModel):
        async def complete(self, request: ModelRequest, **_: Any) -> ModelReply:
            await asyncio.sleep(30)
            raise AssertionError

    report = evaluate(suite({"id": "a", "max_seconds": 0.05}), model=Slow([]))
    assert report.cases[0].attempts[0].failures[0] == (
        "the run is stopped (it took longer than 0.05 seconds), not answered"
    )
    report = run(suite(FIVE), ["It is 5."] * 0)
    assert "the script of m has no line" in report.cases[0].attempts[0].failures[0]


def test_what_breaks_in_one_attempt_leaves_the_others_alone() -> None:
    def broken(request: ModelRequest) -> Any:
        if "7+7" in request.messages[-1].content:
            raise ValueError("a fault of the program")
        return adding(request)

    report = run(suite({"id": "a", "question": "7+7?"}, FIVE), broken)
    assert states(report) == {"a": "failed", "five": "passed"}
    assert "ValueError: a fault of the program" in report.cases[0].attempts[0].failures[0]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    made = Here(place=tmp_path_factory.mktemp("evaluated")).make("files")
    more = f'\n[notify]\ncommand = ["/bin/sh", "-c", "cat > {made.place}/told"]\n[memory]\nfacts = true\n'
    more += '[agents.helper]\ndescription = "helps"\nmodel = { name = "other", base_url = "http://127.0.0.1:9/v1" }\n'
    (made.folder / "remit.toml").write_text(made.config + more)
    made.remit("trust", "--yes")
    return made


@pytest.fixture(scope="module")
def house(here: Here) -> Iterator[Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(here.place / "state"))
        opened = Deployment.open(here.folder)
    with opened:
        yield opened


def deployed(house: Deployment, *cases: dict[str, Any], **options: Any) -> Report:
    return evaluate(suite(*cases), house, model=ScriptedModel(reply), **options)


WRITE = {
    "question": 'Write "done" into status.txt.',
    "trajectory": [{"skill": "files.write_file", "arguments": {"path": "status.txt"}}],
    "workspace": {"files": {"notes.txt": "n"}},
}
LISTED = {"approve": [{"skill": "files.write_file", "arguments": {"content": "done"}}]}


def test_nothing_is_signed_off_unless_a_case_lists_it_and_a_person_lets_it_count(house: Deployment) -> None:
    listed = {"id": "listed", **WRITE, **LISTED, "answer": {"contains": "status.txt"}}
    other = {"id": "other", **WRITE, "approve": [{"skill": "files.write_file", "arguments": {"content": "more"}}]}
    bare = {"id": "bare", **WRITE, "status": "parked"}
    report = deployed(house, listed, {**other, "status": "denied"}, bare, approve_listed=True)
    assert states(report) == {"listed": "passed", "other": "passed", "bare": "passed"}, report.cases
    calls = [one.attempts[0].calls[0] for one in report.cases]
    assert [call.status for call in calls] == ["ok", "denied", "parked"]
    assert "does not list this call" in calls[1].reason
    without = deployed(house, {**listed, "status": "parked", "answer": {}})
    assert states(without) == {"listed": "passed"}
    assert "--approve-listed" in "".join(without.notes)
    assert not (house.workspace / "status.txt").exists()


def test_attempts_leave_nothing_that_waits_for_a_person_or_fills_the_disk(here: Here, house: Deployment) -> None:
    deployed(house, {"id": "a", **WRITE, "status": "parked"}, repeat=2)
    with State(house.state_folder) as state:
        assert state.signoffs() == ()
        assert state.sessions(status="parked") == ()
        whose = {record.who for record in state.records(event="call.proposed")}
    assert whose and all(who.startswith("evaluation:eval-") for who in whose)
    assert len(list(house.state_folder.glob("data/files/*"))) <= 1  # the person's own
    assert here.remit("sessions", "work", "--model", "m", "--base-url", "http://127.0.0.1:9/v1").code == 0


class Yes:
    apart = True

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        return SignoffDecision(answer="once", digest=request.digest, by="a person")


def test_a_call_with_an_impact_is_never_approved_and_in_the_control_a_person_can(house: Deployment) -> None:
    def deleting(request: ModelRequest) -> Any:
        return "over" if request.messages[-1].role == "tool" else ask("files.delete_file", path="old.txt")

    case = {
        "id": "a",
        "workspace": {"files": {"old.txt": "x"}},
        "approve": ["files.delete_file", "files.*"],
        "status": "denied",
    }
    report = evaluate(suite(case), house, model=ScriptedModel(deleting), approve_listed=True)
    (call,) = report.cases[0].attempts[0].calls
    assert call.status == "denied" and "never approves a call with an impact (destroy)" in call.reason
    assert states(report) == {"a": "passed"}
    old = house.workspace / "old.txt"
    old.write_text("x")
    with Agent(house, model=ScriptedModel(deleting), approver=Yes()) as agent:
        assert [one.status for one in agent.run("Delete it.").calls] == ["ok"]
    assert not old.exists()


def test_attempts_do_not_see_each_others_files(house: Deployment, tmp_path: Path) -> None:
    (tmp_path / "fixture" / "sub").mkdir(parents=True)
    (tmp_path / "fixture" / "sub" / "notes.txt").write_text("from the folder")
    (tmp_path / "fixture" / "link.txt").symlink_to("/etc/hostname")
    path = tmp_path / "suite.json"
    read = {"question": "What does sub/notes.txt say?", "workspace": {"folder": "fixture"}}
    cases = [
        {"id": "folder", **read, "answer": {"contains": "from the folder"}},
        {"id": "files", **read, "workspace": {"files": {"sub/notes.txt": "own"}}, "answer": {"contains": "own"}},
        {"id": "empty", **read, "workspace": {}, "answer": {"contains": "failed"}},
        {"id": "link", **read, "question": "What does link.txt say?", "answer": {"contains": "failed"}},
    ]
    path.write_text(json.dumps(cases))
    report = evaluate(path, house, model=ScriptedModel(reply), jobs=4, record=tmp_path / "turns.jsonl")
    failed = {one.case.id: one.attempts[0] for one in report.cases if one.state != "passed"}
    assert not failed
    assert "remit-eval-" not in (tmp_path / "turns.jsonl").read_text()
    assert states(evaluate(path, house, replay=tmp_path / "turns.jsonl")) == states(report)


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a\\b", ""])
def test_files_of_a_case_lie_in_its_workspace(name: str, house: Deployment) -> None:
    with pytest.raises(UsageError, match="is no file below the workspace"):
        deployed(house, {"id": "a", "workspace": {"files": {name: "x"}}})
    with pytest.raises(UsageError, match="there is no folder absent beside the suite"):
        deployed(house, {"id": "a", "workspace": {"folder": "absent"}})


def test_nobody_is_told_of_what_an_evaluation_parks_and_in_the_control_somebody_is(
    here: Here, house: Deployment
) -> None:
    told = here.place / "told"
    deployed(house, {"id": "a", **WRITE, "status": "parked"})
    assert not told.exists()
    with Agent(house, model=ScriptedModel(reply)) as agent:
        assert agent.run(str(WRITE["question"])).status == "parked"
    assert told.exists()


def test_attempts_do_not_remember_each_other_and_leave_no_facts(house: Deployment) -> None:
    def remembering(request: ModelRequest) -> Any:
        known = any("blue" in message.content for message in request.messages if message.role != "tool")
        if request.messages[-1].role == "tool":
            return "It is kept."
        return "I knew." if known else ask("remit.remember_fact", name="colour", value="blue")

    cases = [{"id": name, "question": "Keep it.", "answer": {"contains": "kept"}} for name in "ab"]
    report = evaluate(suite(*cases), house, model=ScriptedModel(remembering))
    assert states(report) == {"a": "passed", "b": "passed"}
    assert [call.status for one in report.cases for call in one.attempts[0].calls] == ["ok", "ok"]
    with State(house.state_folder) as state:
        assert StateFacts(state).people() == ()


def test_agents_are_asked_through_the_model_that_is_evaluated_and_replayed_with_it(
    house: Deployment, tmp_path: Path
) -> None:
    def passing_on(request: ModelRequest) -> Any:
        last = request.messages[-1]
        if "sub-task" in request.messages[1].content:
            return "The helper's words." if last.role == "tool" else ask("files.list_files", folder=".")
        return last.content if last.role == "tool" else ask("remit.delegate", agent="helper", task="a sub-task")

    path = tmp_path / "turns.jsonl"
    case = {"id": "a", "answer": {"contains": "The helper's words."}, "trajectory": ["remit.delegate"]}
    first = evaluate(suite(case), house, model=ScriptedModel(passing_on), record=path)
    assert states(first) == states(evaluate(suite(case), house, replay=path)) == {"a": "passed"}
    assert "agents with a model of their own were asked through this model" in first.notes
    (turn,) = first.cases[0].attempts[0].turns
    assert [call.skill for call in turn.calls] == ["remit.delegate"]
    assert [call.skill for call in turn.others] == ["files.list_files"]
    banned = evaluate(suite({**case, "forbidden": ["files.*"]}), house, replay=path)
    assert "the forbidden call of files.list_files was made" in banned.cases[0].attempts[0].failures
