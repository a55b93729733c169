"""`remit policy`: checking, explaining, testing and comparing, without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.cli.main import run
from remit.policy.cases import Case, judged, outcome
from remit.policy.config import DefaultsConfig
from remit.policy.rules import Rules
from remit.skills import Skill
from remit.values import AskedBy
from tests.in_process import Here, remit

RULES = """
[[rule]]
id = "no-sums"
verdict = "deny"
match = { skill = "calc.evaluate", arguments = { expression = { eq = "1+1" } } }
reason = "One and one is known"
"""


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("policy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(folder / "state"))
        place = folder / "deployment"
        place.mkdir()
        remit("init", "--yes", "--enforcement", "available", "--packs", "calc,files", folder=place)
        config = place / "remit.toml"
        config.write_text(config.read_text() + RULES)
        remit("trust", "--yes", folder=place)
        yield place


@pytest.fixture
def place(accepted: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REMIT_STATE", str(accepted.parent / "state"))
    monkeypatch.chdir(accepted)
    return accepted


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> Any:
    assert run(["policy", *arguments, "--json"]) == expect
    return json.loads(capsys.readouterr().out)


def test_a_verdict_is_explained_step_by_step(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "explain", "calc.evaluate", '{"expression": "1+1"}')
    assert (found["verdict"], found["source"]) == ("deny", "rule no-sums")
    assert [step["source"] for step in found["steps"]] == ["rule no-sums", "default read"]
    assert answer(capsys, "explain", "calc.evaluate", '{"expression": "1+2"}')["verdict"] == "allow"
    assert run(["policy", "explain", "calc.evaluate", '{"expression": "1+1"}']) == 0
    assert "One and one is known" in capsys.readouterr().out
    assert run(["policy", "explain", "files.write_file", '{"path": "a.txt", "content": ""}']) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown.count("        [[rule]]") == 1 and sum("next: " in line for line in shown) == 1


def test_what_does_not_fit_is_wrong_usage(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["calc.nothing", "{}"],
        ["calc.evaluate", "{}"],
        ["calc.evaluate", "[1"],
        ["calc.evaluate", "[]"],
    ):
        assert run(["policy", "explain", *arguments]) == 2
        assert capsys.readouterr().err


def test_nothing_to_look_at_is_exit_code_0(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "check") == {"rules": 1, "skills": len(skills(place)), "findings": [], "problems": []}


def skills(place: Path) -> list[str]:
    from remit.deployment.deployment import Deployment

    with Deployment.open(place) as deployment:
        return list(deployment.skills)


def test_rules_that_say_nothing_are_found(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from remit.policy.config import DefaultsConfig, RuleConfig
    from remit.policy.idle import idle_rules
    from remit.policy.rules import Rules
    from remit.skills import Skill

    def findings(*rules: dict[str, Any], **defaults: Any) -> list[str]:
        known = {
            "m.send": Skill(pack="m", name="send", description="", schema={"type": "object"}, effect="external"),
            "m.pay": Skill(
                pack="m",
                name="pay",
                description="",
                schema={"type": "object"},
                effect="external",
                impact=frozenset({"money"}),
            ),
        }
        configs = [RuleConfig.model_validate({"id": f"r{number}", **rule}) for number, rule in enumerate(rules)]
        loaded = Rules.load(configs, DefaultsConfig.model_validate(defaults), skills=known)
        return list(idle_rules(configs, loaded, known))

    send, pay = {"match": {"skill": "m.send"}}, {"match": {"skill": "m.pay"}}
    assert "never counts" in findings({"verdict": "allow", **send}, {"verdict": "deny", **send})[0]
    assert "say the same" in findings({"verdict": "deny", **send}, {"verdict": "deny", **send})[0]
    assert "impact of m.pay" in findings({"verdict": "allow", **pay})[0]
    assert "changes nothing" in findings({"verdict": "ask", **send})[0]
    assert "changes nothing" in findings({"verdict": "allow", **send}, external="allow")[0]
    assert findings({"verdict": "allow", **send}) == []
    assert findings({"verdict": "deny", **send}) == []
    assert findings({"verdict": "ask", **send}, provenance="targets") == []


CASES = """
[[case]]
skill = "calc.evaluate"
arguments = { expression = "1+1" }
verdict = "deny"
source = "rule no-sums"

[[case]]
name = "wrong on purpose"
skill = "calc.evaluate"
arguments = { expression = "1+2" }
verdict = "ask"

[[case]]
skill = "calc.evaluate"
arguments = { word = 1 }
verdict = "invalid"
"""


def test_expected_verdicts_are_compared(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = tmp_path / "cases.toml"
    cases.write_text(CASES)
    found = answer(capsys, "test", str(cases), expect=1)
    assert (found["cases"], [one["case"] for one in found["wrong"]]) == (3, ["wrong on purpose"])
    misspelt = '[[case]]\nskill = "calc.evalute"\nverdict = "allow"\n'
    cases.write_text(misspelt + CASES)
    found = answer(capsys, "test", str(cases), expect=1)
    assert [one["case"] for one in found["wrong"]] == ["case 1 (calc.evalute)", "wrong on purpose"]
    assert "did you mean calc.evaluate?" in found["wrong"][0]["reason"]
    assert run(["policy", "test", str(cases)]) == 1
    assert "case 1 (calc.evalute): expected allow, and no skill" in capsys.readouterr().out
    lines = tmp_path / "cases.jsonl"
    lines.write_text('{"skill": "calc.evaluate", "arguments": {"expression": "2"}, "verdict": "allow"}\n')
    assert answer(capsys, "test", str(lines)) == {"cases": 1, "wrong": []}


@pytest.mark.parametrize(
    "text", ["", "[[case]]\nskill = 'a.b'", "[[case]]\nskill = 'a.b'\nverdict = 'maybe'", "[[case]]\nx = 1", "[["]
)
def test_a_file_of_cases_that_is_wrong_says_where(place: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.toml").write_text(text)
    assert run(["policy", "test", str(tmp_path / "cases.toml")]) == 2
    assert run(["policy", "test", str(tmp_path / "none.toml")]) == 2


def test_the_step_between_two_deployments_is_ranked(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("remit.toml", "remit.lock"):
        (other / name).write_text((place / name).read_text())
    assert answer(capsys, "diff", str(place), str(other)) == {"rank": "same", "changes": []}
    text = (other / "remit.toml").read_text()
    (other / "remit.toml").write_text(text.replace(RULES, ""))
    wider = answer(capsys, "diff", str(place), str(other / "remit.toml"), "--widen", expect=4)
    assert (wider["rank"], len(wider["changes"])) == ("widens", 1)
    narrower = answer(capsys, "diff", str(other), str(place))
    assert narrower["rank"] == "narrows"
    assert answer(capsys, "diff", str(other), str(place), "--widen")["changes"] == []
    (other / "remit.toml").write_text(text.replace("[defaults]", '[defaults]\nprovenance = "targets"'))
    assert answer(capsys, "diff", str(place), str(other), expect=4)["rank"] == "widens"


def test_what_the_user_said_settles_where_the_deployment_says_so() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    send = Skill(pack="m", name="send", description="", schema=schema, effect="external", targets={"to": "address"})
    known = {"m.send": send}
    rules = Rules.load((), DefaultsConfig(provenance="targets"), skills=known)
    case = Case(skill="m.send", arguments={"to": "ann@acme.example"}, said=("Write to ann@acme.example",))
    assert judged(case, known, rules).source == "provenance"
    assert judged(case.model_copy(update={"said": ("Write",)}), known, rules).verdict == "ask"


@pytest.mark.parametrize("asked_by", ["model", "pack"])
def test_a_session_that_heard_nothing_names_nothing_as_in_a_run(asked_by: AskedBy) -> None:
    schema = {"type": "object", "properties": {"url": {"type": "string"}}}
    fetch = Skill(pack="w", name="fetch", description="", schema=schema, effect="read", targets={"url": "url"})
    rules = Rules.load((), DefaultsConfig(provenance="targets"), skills={"w.fetch": fetch})
    case = Case(skill="w.fetch", arguments={"url": "https://evil.example/?d=1"}, asked_by=asked_by, verdict="allow")
    found = outcome(case, {"w.fetch": fetch}, rules)
    assert (found.right, found.verdict, found.source) == (False, "ask", "provenance")
    named = case.model_copy(update={"said": ("Look at https://evil.example/",)})
    assert outcome(named, {"w.fetch": fetch}, rules).right, "the control"
    by_hand = case.model_copy(update={"asked_by": "person"})
    assert outcome(by_hand, {"w.fetch": fetch}, rules).right, "remit call hears nobody"


def test_what_is_switched_off_is_refused_in_every_look_at_the_policy(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files")
    asked = ("policy", "explain", "files.write_file", '{"path": "a.txt", "content": ""}', "--json")
    cases = tmp_path / "cases.toml"
    cases.write_text(
        '[[case]]\nskill = "files.write_file"\narguments = { path = "a", content = "" }\nverdict = "ask"\n'
    )

    def verdicts(expect: int) -> tuple[str, str]:
        tested = here.remit("policy", "test", str(cases), "--json", expect=expect)
        rows = json.loads(here.remit("audit", "--json").out)["skills"]
        (row,) = [one for one in rows if one["skill"] == "files.write_file"]
        assert (json.loads(tested.out)["wrong"] == []) is (expect == 0)
        return json.loads(here.remit(*asked).out)["verdict"], row["verdict"]

    assert verdicts(0) == ("ask", "ask"), "the control"
    here.remit("kill", "files", "--reason", "odd writes")
    assert verdicts(1) == ("deny", "deny")
    told = here.remit(*asked[:-1]).out
    assert "odd writes" in told and "remit kill files --restore" in told
    here.remit("kill", "files", "--restore")
    assert verdicts(0) == ("ask", "ask")


AGENT = """
[agents.reader]
description = "Reads the docs."
skills = ["files.read_file"]
[agents.reader.grant.files]
fs.read = ["${workspace}/docs/**"]
fs.write = []
"""


def test_what_an_agent_lacks_is_told_apart_from_what_is_not_there(tmp_path: Path) -> None:
    here = Here(place=tmp_path).make("files")
    (here.folder / "workspace" / "docs").mkdir()
    (here.folder / "remit.toml").write_text(here.config + AGENT)
    here.remit("apply", "--yes")

    def told(skill: str, *arguments: str, expect: int = 0) -> Any:
        return here.remit("policy", "explain", skill, '{"path": "plan.txt", "content": ""}', *arguments, expect=expect)

    refused = told("files.write_file", "--agent", "reader", expect=2).err
    assert "files.write_file is enabled here, but agent reader does not have it" in refused
    assert "did you mean" not in refused and "remit audit --agent reader" in refused
    assert "allow" not in told("files.write_file").err, "the control: without the agent it is explained"
    assert "no skill files.wirte_file is enabled here" in told("files.wirte_file", "--agent", "reader", expect=2).err

    def read(path: str, *arguments: str) -> Any:
        text = json.dumps({"path": path})
        return here.remit("policy", "explain", "files.read_file", text, "--json", *arguments).json["beyond_rights"]

    outside = str(here.folder.resolve() / "workspace" / "plan.txt")
    assert read("plan.txt", "--agent", "reader") == {"path": outside}
    assert read("docs/plan.txt", "--agent", "reader") == {} == read("plan.txt")
    shown = here.remit("policy", "explain", "files.read_file", '{"path": "plan.txt"}', "--agent", "reader").out
    assert f"its rights do not hold path ({outside}): the call would fail" in shown
