"""Attacks on evaluations: hostile suites, baselines and recordings, figures that lie, secrets in reports."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from remit import ScriptedModel, skill
from remit.cli import screen
from remit.cli.eval_html import page
from remit.cli.eval_junit import junit
from remit.deployment.deployment import Deployment
from remit.deployment.trust import trust
from remit.errors import UsageError
from remit.evaluation import Report, Suite, compare, evaluate, read_baseline
from remit.evaluation.answers import misses
from remit.evaluation.case import AnswerCheck
from remit.evaluation.reading import parse_suite
from remit.evaluation.texts import numbers
from remit.evaluation.trajectory import _most_pairs as most_pairs
from remit.models.protocol import ModelReply, ModelRequest, ToolCall, Usage
from remit.models.scripted import ask
from remit.state.store import State
from tests.delegation_parts import give
from tests.in_process import Here

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
PLACE = Path("suite.yaml")


@skill(effect="read", secret_arguments=["pin"])
def login(pin: str) -> str:
    """Log in."""
    return "in"


def suite(*cases: dict[str, Any]) -> Suite:
    return Suite.model_validate({"cases": [{"id": "a", "question": "q", **case} for case in cases or ({},)]})


@pytest.mark.parametrize("folder", ["../elsewhere", "linked", "ABSOLUTE"])
def test_a_suite_gives_a_model_no_folder_from_elsewhere(tmp_path: Path, folder: str) -> None:
    beside, elsewhere = tmp_path / "suite", tmp_path / "elsewhere"
    for one in (beside / "files", elsewhere):
        one.mkdir(parents=True)
    (elsewhere / "id_rsa").write_text("KEY")
    (beside / "linked").symlink_to(elsewhere)
    path = beside / "suite.json"
    for wanted, works in ((folder.replace("ABSOLUTE", str(elsewhere)), False), ("files", True)):
        body = {"cases": [{"id": "a", "question": "q", "workspace": {"folder": wanted}}]}
        path.write_text(json.dumps(body))
        if works:
            assert evaluate(path, model=ScriptedModel(["x"])).success == 1.0
        else:
            with pytest.raises(UsageError, match="does not lie below that of the suite"):
                evaluate(path, model=ScriptedModel(["x"]))


@pytest.mark.parametrize("files", [{"a/b": "x", "a": "y"}, {"n" * 256: "x"}, {"d/" * 600 + "f": "x"}])
def test_files_that_cannot_be_are_said_before_a_model_is_asked(files: dict[str, str]) -> None:
    def never(_: ModelRequest) -> str:
        raise AssertionError("the model was asked")

    with pytest.raises(UsageError, match=r"case a: .* (is a file|is too long)"):
        evaluate(suite({"workspace": {"files": files}}), model=ScriptedModel(never))


def test_aliases_multiply_neither_text_nor_depth() -> None:
    head = "cases:\n- id: a\n  question: q\n  workspace:\n    files:\n"
    long = f"      f0: &b {'A' * 1_000_000}\n" + "".join(f"      f{number}: *b\n" for number in range(1, 200))
    with pytest.raises(UsageError, match="more than 100000 values"):
        parse_suite(head + long, PLACE)
    assert parse_suite(head + long.replace("A" * 1_000_000, "A"), PLACE).cases
    nested = "".join(f", x{number}: {{eq: &a{number} [*a{number - 1}]}}" for number in range(1, 300))
    deep = "cases:\n- id: a\n  question: q\n  trajectory:\n  - skill: s.k\n    arguments: {x0: {eq: &a0 [1]}"
    with pytest.raises(UsageError, match="nested more than 50 levels deep"):
        parse_suite(f"{deep}{nested}}}\n", PLACE)
    assert parse_suite(f"{deep}, x1: {{eq: [*a0]}}}}\n", PLACE).cases


def test_a_report_keeps_no_secret_although_it_is_judged_with_it() -> None:
    case = {"answer": {"contains": TOKEN, "equals": "x"}, "trajectory": [{"skill": "local.login", "arguments": {}}]}
    pin = "4321-secret-pin"
    case["trajectory"][0]["arguments"] = {"pin": {"equals_text": pin}}  # type: ignore[index]
    model = ScriptedModel([ask("local.login", pin=pin), f"Your key is {TOKEN}."])
    asked = suite({"answer": {"contains": "ghp_abc", "equals": "x"}, "trajectory": case["trajectory"]})
    report = evaluate(asked, model=model, skills=[login])
    (attempt,) = report.cases[0].attempts
    assert attempt.failures == ('the answer is not "x"',)  # the other checks held: they saw what was there
    for kept in (json.dumps(report.to_json()), page(report), junit(report)):
        assert TOKEN not in kept and pin not in kept
    assert attempt.calls[0].arguments == {"pin": "[not recorded]"} and "[redacted: key]" in attempt.turns[0].answer


class Slow:
    """Answers its first turn with a call, and never the second."""

    name = "slow"

    def __init__(self, ends: Exception | None = None) -> None:
        self.turns = 0
        self.ends = ends

    async def complete(self, request: ModelRequest, **_: Any) -> ModelReply:
        self.turns += 1
        if self.turns == 2 and self.ends is not None:
            raise self.ends
        if self.turns == 2:
            await asyncio.sleep(60)
        call = ToolCall(name="local__login", arguments='{"pin": "1"}')
        return ModelReply(calls=(call,), usage=Usage(input_tokens=1_000, output_tokens=10), cost=0.5)

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("ends", [None, RuntimeError("broken")])
def test_what_a_turn_took_that_was_broken_off_is_unknown_and_not_nothing(ends: Exception | None) -> None:
    case = {"max_seconds": 3.0, "max_cost": 0.1, "forbidden": ["local.login"]}
    (one,) = evaluate(suite(case), model=Slow(ends), skills=[login]).cases
    (attempt,) = one.attempts
    assert (attempt.tokens, attempt.cost, attempt.steps, attempt.forbidden) == (None, None, 1, 1)
    assert any("the price of the model is not known" in why for why in attempt.failures)


def asked(*answers: str, **case: Any) -> Report:
    return evaluate(suite({"answer": {"contains": "yes"}, **case}), model=ScriptedModel(list(answers)))


def test_a_baseline_of_another_suite_is_no_green_light(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    for other, regressed in (({"id": "b"}, True), ({"question": "else"}, True), ({}, False)):
        path.write_text(json.dumps(asked("yes", **other).to_json()))
        found = compare(read_baseline(path), asked("yes"))
        assert found.regressed() is found.regressed(tolerate_noise=True) is regressed
        assert ("nothing could be compared" in found.words) is regressed
        assert ("not compared" in page(asked("yes"), found)) is regressed


def test_and_the_command_line_says_so_with_exit_code_1(here: Here) -> None:
    base = here.folder / "base.json"
    base.write_text(json.dumps(asked("yes", id="b").to_json()))
    (here.folder / "s.json").write_text('{"cases": [{"id": "a", "question": "q"}]}')
    evaluate(suite(), model=ScriptedModel(["no"]), record=here.folder / "r.jsonl")
    args = ("eval", "s.json", "--replay", "r.jsonl", "--baseline", "base.json")
    assert "nothing could be compared" in here.remit(*args, expect=1).out


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    made = Here(place=tmp_path).make()
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    return made


@pytest.mark.parametrize("text", ['"passed": Infinity', '"passed": 1e999', '"passed": NaN'])
def test_a_hostile_baseline_is_a_wrong_file_and_no_fault_of_remit(tmp_path: Path, text: str) -> None:
    path = tmp_path / "base.json"
    body = json.dumps(asked("yes").to_json())
    path.write_text(body.replace('"passed": 1,', f"{text},"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_baseline(path)
    path.write_text(body.replace('"forbidden": 0', f'"recall": 1{"0" * 400}'))
    assert compare(read_baseline(path), asked("yes")).compared == 1


@pytest.mark.parametrize(
    "change",
    [
        {"text": 5},
        {"cost": "free"},
        {"cost": -5.0},
        {"usage": {"input_tokens": -9, "output_tokens": 1}},
        {"calls": [{"name": 5}]},
        {"sent": "x"},
        {"notes": [1]},
    ],
)
def test_a_hostile_recording_is_a_wrong_file(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "turns.jsonl"
    evaluate(suite(), model=ScriptedModel(["x"]), record=path)
    assert evaluate(suite(), replay=path).success == 1.0
    *before, turn = map(json.loads, path.read_text().splitlines())
    turn["reply"] |= change
    path.write_text("\n".join(map(json.dumps, [*before, turn])))
    with pytest.raises(UsageError, match="no turn of a recording"):
        evaluate(suite(), replay=path)


def test_a_long_answer_is_clipped_at_once() -> None:
    began = time.process_time()
    assert screen.clipped("長" * 50_000, 21) == "長" * 9 + "..."
    assert screen.clipped("a" * 1_000_000, 20) == "a" * 17 + "..."
    assert time.process_time() - began < 3


def test_what_an_agent_below_asked_of_people_is_taken_back_too(here: Here) -> None:
    @skill(effect="write")
    def note(text: str) -> str:
        """Note a text."""
        return text

    config = here.folder / "remit.toml"
    agents = '[agents.writer]\ndescription = "Writes."\n[host_skills]\nallow = ["local.note"]\n'
    config.write_text(f"{config.read_text()}\n{agents}")
    trust(here.folder)
    model = ScriptedModel([give("writer"), ask("local.note", text="x")])
    with Deployment.open(here.folder) as house:
        report = evaluate(suite({"status": "parked"}), house, model=model, skills=[note])
        assert report.cases[0].state == "passed"
        with State(house.state_folder) as state:
            assert [one.state for one in state.signoffs(everything=True)] == ["denied"]
            assert {one.status for one in state.sessions()} == {"stopped"}


def test_as_many_pairs_as_there_can_be_however_many_calls_a_model_makes() -> None:
    draw = random.Random(7)
    for _ in range(200):
        rows, columns = draw.randint(0, 4), draw.randint(0, 4)
        table = [[draw.random() < 0.4 for _ in range(columns)] for _ in range(rows)]
        ways = itertools.permutations(range(max(rows, columns)), rows)
        best = max(sum(at < columns and table[row][at] for row, at in enumerate(way)) for way in ways)
        assert most_pairs(table) == best, table
    assert most_pairs([[True] * 1_100 for _ in range(2)] + [[True]] * 1_100) == 3
    assert most_pairs([[column in (row, row + 1) for column in range(1_101)] for row in range(1_100)]) == 1_100


def test_a_child_with_a_priced_budget_and_a_model_of_its_own_is_replayed(here: Here) -> None:
    """The model of the deployment that has no key and no price here is not even made."""
    config = here.folder / "remit.toml"
    writer = '[agents.writer]\ndescription = "Writes."\nbudget = { max_cost = 1.0 }\n'
    model = '[agents.writer.model]\nname = "x"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "env:NOT_THERE"\n'
    config.write_text(f"{config.read_text()}\n{writer}{model}")
    trust(here.folder)
    replies = [ModelReply(calls=(give("writer"),), cost=0.1), ModelReply(text="below", cost=0.1)]
    speaker = ScriptedModel([*replies, ModelReply(text="end", cost=0.1)])
    evaluate(suite(), here.folder, model=speaker, record=here.folder / "r.jsonl")
    report = evaluate(suite({"answer": {"equals": "end"}}), here.folder, replay=here.folder / "r.jsonl")
    assert report.success == 1.0 and report.figures.cost is not None


@pytest.mark.parametrize("answer", ["```" + "\n" * 150_000, "1" + ",111" * 40_000 + ","])
def test_no_answer_hangs_a_check(answer: str) -> None:
    began = time.process_time()
    assert len(list(misses(AnswerCheck.model_validate({"schema": {"type": "object"}, "number": 5}), answer))) == 2
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("It is 1,234, and no more", [1234]),
        ("1,234.5, 2", [1234.5, 2]),
        ("1,2,3", [1, 2, 3]),
        ("1,234,5", [1, 234, 5]),
        ("1,2345 or 1234,567", [1, 2345, 1234, 567]),
        ("-12,345.5e2 x1,5", [-1234550, 5]),
    ],
)
def test_a_comma_behind_a_number_does_not_break_it(answer: str, found: list[float]) -> None:
    assert list(numbers(answer)) == found


def test_a_block_in_another_language_does_not_turn_fences_round() -> None:
    check = AnswerCheck.model_validate({"schema": {"type": "object", "required": ["a"]}})
    fenced = '```python\nx = 1\n```\nand\n```json\n{"a": 1}\n```'
    assert not list(misses(check, fenced)) and list(misses(check, fenced.removesuffix("```")))
