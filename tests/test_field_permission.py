"""Cases from the field, area `permission`: rules, grants, layers, paths, hosts, sign-off. `HOLDS` is the table."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from remit.deployment.deployment import Deployment
from remit.deployment.load import load_config
from remit.errors import DeploymentError
from remit.pipeline.resources import resolved
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.decide import decide
from remit.policy.rules import Rules, Scene
from remit.state.standing import Pattern, StandingSignoff
from remit.state.store import State
from remit_sandbox import CellSpec, Rights
from remit_sandbox.signoff import SignoffDecision
from tests.command import Home, home
from tests.pipeline_parts import Bench, host_skill

HERE = Path(__file__).parent
CASES = {
    case["id"]: case for case in map(json.loads, (HERE / "data" / "field_permission.jsonl").read_text().splitlines())
}

HOLDS = {
    "E37": "here: rules match typed arguments, no text; what no rule names is asked about",
    "E39": "test_policy_places.py::test_folders_of_rules_start_from_the_deployment",
    "E40": "here: what was loaded stays in force, a broken file does not load, and the log says so",
    "E41": "test_deployment_config.py::test_an_unknown_key_names_file_line_key_and_the_nearest",
    "E44": "test_sandbox_programs.py::test_granted_programs_run_inside_the_same_walls",
    "E45": "test_sandbox_programs.py::test_a_granted_interpreter_stays_inside_the_same_walls",
    "E46": "here: one standing sign-off for every argument, and each use is in the log",
    "E47": "test_cli_signoff_further.py::test_a_standing_signoff_is_listed_used_and_revoked",
    "E49": "here: every order of rules gives one verdict and one digest",
    "E50": "test_deployment_trust.py::test_a_cloned_deployment_does_nothing_until_it_is_trusted",
    "E51": "here: a link out of the workspace leads nowhere; sign-off shows where it leads",
    "E52": "here: a link to what is not there yet makes nothing",
    "E54": "test_policy_operators.py::test_no_value_makes_an_operator_raise",
    "E62": "test_deployment_anchors.py::test_files_and_folders_resolve_to_real_paths",
    "E63": "test_broker.py::test_a_non_public_address_needs_a_private_grant",
    "E65": "test_policy_places.py::test_host_matches",
    "E66": "here: the host behind user information is the one that counts, or none",
    "E70": "test_cli_signoff.py::test_nothing_in_a_request_can_pass_for_something_else",
    "E74": "here: a path that leads elsewhere, or holds something else, since it was approved; a changed program is "
    "refused by the cell",
    "E78": "here: one verdict for every scene that no rule tells apart",
    "E80": "test_pipeline_signoff_before.py::test_an_approval_that_comes_later_runs_the_call_once",
    "E81": "here: a channel says what it can show; anything else is refused at once, and the log says why",
    "E82": "here: what is not granted is denied to every skill, whatever reads it",
}


def test_the_table_is_whole_and_names_tests_that_exist() -> None:
    assert HOLDS.keys() == CASES.keys() and len(CASES) == 23
    for id_, where in HOLDS.items():
        if where.startswith("here"):
            assert any(name.startswith(f"test_{id_.lower()}_") for name in globals()), id_
        else:
            file, _, name = where.partition("::")
            assert re.search(rf"^def {name}\(", (HERE / file).read_text(), re.MULTILINE), where


def run(argv: list[str]) -> str:
    """Run a program."""
    return " ".join(argv)


RUN = host_skill(run, effect="external")
CALLS = [
    ["kubectl", "-n", "prod", "delete", "pod", "a"],
    ["env", "K=1", "kubectl", "delete", "pod", "a"],
    ["sh", "-c", "cd r && kubectl delete pod a"],
    ["/usr/bin/kubectl", "delete", "pod", "a"],
    ["xargs", "kubectl", "delete"],
]


def test_e37_no_spelling_of_a_command_slips_by_a_rule(tmp_path: Path) -> None:
    allowed = {"id": "look", "verdict": "allow", "match": {"arguments": {"argv": {"eq": ["kubectl", "get", "pods"]}}}}
    with Bench(tmp_path, RUN, rules=[allowed]) as bench:
        assert bench.call("local.run", argv=["kubectl", "get", "pods"]).status == "ok"
        assert {bench.call("local.run", argv=argv).status for argv in CALLS} == {"parked"}
        asked = [one.request["action"]["arguments"]["argv"] for one in bench.state.signoffs()]
        assert asked == CALLS
    for operator in ("prefix", "starts_with", "regex", "matches"):
        with pytest.raises(ValidationError):
            RuleConfig.model_validate({"id": "a", "verdict": "ask", "match": {"arguments": {"argv": {operator: "x"}}}})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(tmp_path_factory.mktemp("permission"), "files")
    rule = '[[rule]]\nid = "no-listing"\nverdict = "deny"\nmatch = { skill = "files.list_files" }\n[packs.files]'
    made.configure("[packs.files]", rule)
    made.configure('write = "ask"', 'write = "allow"')
    return made


def test_e40_a_file_that_breaks_changes_nothing_that_is_open(place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_STATE", place.environment["REMIT_STATE"])
    file = place.folder / "remit.toml"
    text = file.read_text()
    with Deployment.open(place.folder) as deployment:
        skill = deployment.skills["files.list_files"]
        file.write_text(text[: text.index("\n[[rule]]") + 13])
        assert decide(skill, {}, deployment.rules, Scene()).verdict == "deny"
        with pytest.raises(DeploymentError):
            Deployment.open(place.folder)
        with pytest.raises(DeploymentError):
            load_config(file)
        with State(deployment.state_folder) as state:
            (told,) = state.records(event="policy.unreadable")
            assert "remit.toml" in told.body["error"] and told.body["by"]
    file.write_text(text)
    with Deployment.open(place.folder), State(deployment.state_folder) as state:
        assert len(list(state.records(event="policy.unreadable"))) == 1, "the control: a whole file is no news"


def code(code: str) -> str:
    """Run a program in Python."""
    return "3.14"


def test_e46_one_approval_for_every_argument(tmp_path: Path) -> None:
    skill = host_skill(code, effect="external", hash="h", version="1")
    with Bench(tmp_path, skill) as bench:
        bench.call("local.code", code="first")
        (one,) = bench.state.signoffs()
        request = one.rebuilt()
        standing = StandingSignoff(
            pattern=Pattern.of(request.action, source=request.source, fields=()),
            given=5,
            expires=request.expires,
            by="ann",
            channel="command",
            nonce=one.nonce,
        )
        decision = SignoffDecision(answer="standing", digest=one.digest, by="ann")
        bench.state.give_answer(one, decision, standing=standing)
        programs = [f"import math\nprint(math.pi) # {number}\n" for number in range(5)]
        assert [bench.call("local.code", f"s{n}", code=text).status for n, text in enumerate(programs)] == ["ok"] * 5
        started = list(bench.state.records(event="call.started"))
        assert [record.body["standing"] for record in started] == [standing.id] * 5
        assert len({record.body["signed"] for record in started}) == 5
        assert bench.call("local.code", "t", code="sixth").status == "parked"


def send(to: str, body: str = "") -> str:
    """Send."""
    return "sent"


SEND = host_skill(send, effect="external", targets={"to": "address"})


def test_e49_the_order_of_rules_has_no_meaning() -> None:
    rules = [
        {"id": "all", "verdict": "allow"},
        {"id": "outside", "verdict": "deny", "unless": {"arguments": {"to": {"domain": "acme.example"}}}},
        {"id": "empty", "verdict": "ask", "match": {"arguments": {"body": {"eq": ""}}}},
        {"id": "apart", "verdict": "ask-apart", "match": {"arguments": {"to": {"eq": "boss@acme.example"}}}},
    ]
    calls = [{"to": "a@x.example", "body": "x"}, {"to": "a@acme.example", "body": ""}, {"to": "boss@acme.example"}]
    seen = set()
    for order in itertools.permutations(rules):
        loaded = [RuleConfig.model_validate(rule) for rule in order]
        found = Rules.load(loaded, skills={SEND.full: SEND})
        decisions = [decide(SEND, arguments, found, Scene()) for arguments in calls]
        seen.add((found.digest, tuple((one.verdict, one.source, one.rules) for one in decisions)))
    ((_, verdicts),) = seen
    assert [verdict for verdict, _, _ in verdicts] == ["deny", "ask", "ask-apart"]


def write_through(place: Home, target: Path) -> str:
    link = place.workspace / "out.txt"
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    ran = place.remit("call", "files.write_file", '{"path": "out.txt", "content": "evil"}', expect=None)
    assert ran.code != 0, ran.out
    return ran.err


@pytest.mark.confinement
def test_e51_a_link_out_of_the_workspace_is_no_way_out(place: Home, tmp_path: Path) -> None:
    target = tmp_path / "authorized_keys"
    target.write_text("mine")
    told = write_through(place, target)
    assert target.read_text() == "mine" and "out.txt" in told
    skill = replace(SEND, targets={"to": "path"}, cell=None)
    assert resolved(skill, {"to": str(place.workspace / "out.txt")}) == {"to": str(target)}


@pytest.mark.confinement
def test_e52_a_link_to_nothing_makes_nothing(place: Home, tmp_path: Path) -> None:
    target = tmp_path / "new.sh"
    write_through(place, target)
    assert not target.exists()


def open_url(url: str) -> str:
    """Open."""
    return "opened"


def test_e66_the_host_is_not_what_stands_before_it(tmp_path: Path) -> None:
    skill = host_skill(open_url, effect="external", targets={"url": "url"})
    url = "http://weather.example.org:443@127.0.0.2:7400/"
    assert resolved(skill, {"url": url}).get("url") in (None, "127.0.0.2:7400")
    rule = {"id": "w", "verdict": "allow", "match": {"arguments": {"url": {"host": "weather.example.org"}}}}
    with Bench(tmp_path, skill, rules=[rule]) as bench:
        assert bench.call("local.open_url", url=url).status == "parked"
        assert bench.call("local.open_url", url="http://weather.example.org/").status == "ok"


def test_e74_what_a_path_stands_for_may_not_change_after_the_approval(tmp_path: Path) -> None:
    def go(path: str) -> str:
        """Go."""
        return "went"

    cell = CellSpec(pack="local", package="x", rights=Rights(read=(f"{tmp_path}/**",)))
    skill = host_skill(go, effect="external", targets={"path": "path"}, cell=cell)
    job = tmp_path / "job.sh"
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    job.symlink_to(tmp_path / "a")
    with Bench(tmp_path, skill) as bench:
        bench.call("local.go", path=str(job))
        (one,) = bench.state.signoffs()
        bench.state.give_answer(one, SignoffDecision(answer="once", digest=one.digest, by="ann"))
        job.unlink()
        job.symlink_to(tmp_path / "b")
        assert bench.call("local.go", path=str(job)).status == "parked"
        job.unlink()
        job.symlink_to(tmp_path / "a")
        (tmp_path / "a").write_text("another program")
        assert bench.call("local.go", path=str(job)).status == "parked", "what it holds was approved, not its name"
        (tmp_path / "a").write_text("a")
        assert bench.call("local.go", path=str(job)).status == "ok"
    programs = (HERE / "test_sandbox_programs.py").read_text()
    assert "def test_a_changed_program_is_refused_before_anything_runs(" in programs


SCENES = [
    Scene(interactive=interactive, agent=agent) for interactive in (True, False) for agent in ("", "web", "batch")
]


@pytest.mark.parametrize("verdict", ["allow", "ask", "ask-apart", "deny"])
@pytest.mark.parametrize("address", ["ann@acme.example", "ann@acme.example.evil.example", "acme.example@evil.example"])
def test_e78_one_decision_for_terminal_web_and_batch(verdict: str, address: str) -> None:
    match: dict[str, Any] = {"arguments": {"to": {"domain": "acme.example"}}}
    rule = RuleConfig.model_validate({"id": "a", "verdict": verdict, "match": match})
    rules = Rules.load([rule], DefaultsConfig(), skills={SEND.full: SEND})
    found = {decide(SEND, {"to": address, "body": ""}, rules, scene).verdict for scene in SCENES}
    assert found == {verdict if address == "ann@acme.example" else "ask"}


@pytest.mark.confinement
def test_e81_what_a_front_end_does_not_know_is_refused_at_once(tmp_path: Path) -> None:
    asking = host_skill(run, effect="read", asks="it decides what the session has")

    class Old:
        shows = frozenset({"call"})

        async def ask(self, request: Any) -> SignoffDecision:
            return SignoffDecision(answer="once", digest=request.digest, by="ann")

    class New(Old):
        shows = frozenset({"call", "grants"})

    for approver, skill, status in ((Old(), asking, "denied"), (Old(), RUN, "ok"), (New(), asking, "ok")):
        with Bench(tmp_path / f"{status}{skill.effect}", skill, approver=approver) as bench:
            result = bench.call("local.run", argv=["x"])
            assert result.status == status, result.text
            told = [record.body["kind"] for record in bench.state.records(event="signoff.impossible")]
            assert told == (["grants"] if status == "denied" else [])
            assert ("cannot show a question of the kind 'grants'" in result.reason) is (status == "denied")


def test_e82_what_is_not_granted_is_read_by_no_skill(place: Home, tmp_path: Path) -> None:
    vault = tmp_path / "vault.ini"
    vault.write_text("key = 1")
    readers: dict[str, dict[str, str]] = {
        "files.read_file": {"path": str(vault)},
        "files.search": {"path": str(tmp_path), "query": "key"},
        "files.list_files": {"path": str(tmp_path)},
    }
    for skill, arguments in readers.items():
        ran = place.remit("call", skill, json.dumps(arguments), expect=None)
        assert "key = 1" not in ran.out + ran.err and ran.code != 0, (skill, ran)
    assert vault.read_text() == "key = 1"
