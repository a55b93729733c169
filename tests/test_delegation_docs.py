"""The page on delegation and its two examples run as they stand; the command line shows what agents do."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from examples import aggregator, router

from remit.deployment.load import parse_config
from remit.loop.events import CallFinished, CallProposed, Delegated, Event
from remit.values import Call, Result
from tests.in_process import Here
from tests.model_server import Play, calls, serve, text
from tests.test_docs import ROOT, blocks

PAGE = ROOT / "docs/delegation.md"


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    (program,) = blocks(PAGE, "python")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert done.stdout == "There are 12.\n[('remit.delegate', 'ok')]\nanswered True\n", done.stderr


def test_the_tables_of_the_page_are_a_configuration() -> None:
    (tables,) = blocks(PAGE, "toml")
    agents = parse_config("policy = 1\n" + tables, Path("remit.toml")).agents
    assert set(agents) == set(tomllib.loads(tables)["agents"]) == {"researcher", "editor"}
    assert agents["researcher"].budget.max_steps == 8 and agents["editor"].model is not None


@pytest.mark.parametrize(
    ("question", "answer"),
    [("How many grams are 3 pounds?", "It is 1360.777."), ("Is there a lamp?", "It is 12."), ("A chair?", "It is 0.")],
)
def test_the_router_chooses_the_specialist(question: str, answer: str) -> None:
    assert router.answered(question) == answer


def test_the_router_can_do_nothing_else() -> None:
    from remit import ScriptedModel

    with router.router(ScriptedModel([])) as agent:
        assert set(agent.skills) == {"remit.delegate", "remit.read_result"}


def test_the_aggregator_asks_all_and_makes_one_answer() -> None:
    heard: list[Event] = []
    assert aggregator.cheapest("lamp", heard=heard) == "A lamp is cheapest in south, at 35.5; 3 of 3 shops have one."
    assert sorted(aggregator.finished(heard)) == ["north", "south", "west"]
    assert "2 of 3 shops" in aggregator.cheapest("desk")


def test_steps_of_an_agent_are_shown_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    from remit.cli.steps import Steps

    call = Call(id="c1", skill="files.search", arguments='{"text": "x\x1b[2J"}', session="s2")
    steps = Steps()
    for inner in (CallProposed(session="s2", call=call), _finished(call)):
        steps.show(Delegated(session="s1", call="c0", agents=("finder", "assistant"), inner=inner))
    steps.show(CallProposed(session="s1", call=call))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("finder: -> files.search") and "\x1b[2J" not in lines[0]
    assert lines[1].startswith("finder: <- ok") and lines[2].startswith("-> files.search")


def _finished(call: Call) -> Event:
    return CallFinished(session="s2", call=call, result=Result(call="c1", skill=call.skill, status="ok", text="found"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Here:
    made = Here(place=tmp_path_factory.mktemp("audited")).make("calc", "files")
    with (made.folder / "remit.toml").open("a") as file:
        file.write(
            '[agents.chief]\ndescription = "Leads."\nagents = ["reader"]\nbudget.max_steps = 4\n'
            '[agents.reader]\ndescription = "Reads <b>."\nskills = ["files.read_file"]\n'
            '[agents.reader.grant.files]\nfs.read = ["${workspace}/docs/**"]\n'
            '[agents.idle]\ndescription = "Nobody asks it."\n[agent]\nagents = ["chief"]\n'
            '[[rule]]\nid = "no-reader"\nverdict = "deny"\nmatch = { skill = "files.read_file" }\n'
            'when = { agent = ["reader"] }\n'
        )
    made.remit("trust", "--yes")
    return made


def test_the_audit_shows_agents_with_what_they_reach(place: Here) -> None:
    shown = place.remit("audit").out
    assert "reader <- chief <- assistant" in shown and "steps: 4" in shown and "remit.delegate" in shown
    told = place.remit("audit", "--json").json
    chief, reader = told["agents"]
    assert (chief["agent"], chief["budget"], chief["agents"]) == ("chief", {"max_steps": 4}, ["reader"])
    assert reader["right"] == {"fs.read": ["${workspace}/docs/**"]} and reader["skills"] == ["files.read_file"]
    assert "reader \\<- chief" in place.remit("audit", "--markdown").out
    place.remit("audit", "--html", "a.html")
    assert "reader &lt;- chief &lt;- assistant" in (place.folder / "a.html").read_text()


def test_the_audit_of_one_agent_has_its_rights_and_its_verdicts(place: Here) -> None:
    rows = {row["skill"]: row for row in place.remit("audit", "--agent", "reader", "--json").json["skills"]}
    row = rows["files.read_file"]
    assert row["right"] == {"fs.read": ["${workspace}/docs/**"]} and row["verdict"] == "deny"
    assert "files.write_file" not in rows
    whole = {row["skill"]: row for row in place.remit("audit", "--json").json["skills"]}
    assert whole["files.read_file"]["verdict"] == "allow" and whole["files.read_file"]["rules"] == ["no-reader"]


def test_an_agent_that_is_not_there_is_named_with_the_nearest(place: Here) -> None:
    assert "did you mean 'reader'" in place.remit("audit", "--agent", "raeder", expect=2).err
    assert "nobody may delegate to agent idle" in place.remit("audit", "--agent", "idle", expect=2).err


def test_a_verdict_is_explained_as_an_agent_has_it(place: Here) -> None:
    call = ("policy", "explain", "files.read_file", '{"path": "docs/a.txt"}')
    assert "deny" in place.remit(*call, "--agent", "reader").out
    assert "files.read_file: allow" in place.remit(*call).out
    task = '{"agent": "chief", "task": "x"}'
    assert "remit.delegate: allow" in place.remit("policy", "explain", "remit.delegate", task).out


def test_a_task_from_the_command_line_over_http_with_a_real_cell(place: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parked below, approved, gone on with at the top: what the person reads is the agent's own work."""
    from remit.deployment.deployment import Deployment
    from remit.state.store import State
    from remit_sandbox.signoff import SignoffDecision

    def played(body: Any) -> Play:
        messages = body["messages"]
        told, chief = messages[-1]["content"], "You are the agent chief" in messages[0]["content"]
        if messages[-1]["role"] == "tool":
            return text(f"chief says: {told[:60]}" if chief else told)
        if chief:
            return calls(("files__write_file", {"path": "a.txt", "content": "hi"}))
        return calls(("remit__delegate", {"agent": "chief", "task": "Save hi in a.txt."}))

    with serve(played) as server:
        speaking = ("--model", "m", "--base-url", server.base_url)
        ran = place.remit("run", "Have hi saved in a.txt.", "--session", "s1", *speaking, expect=3)
        assert "chief: -> files.write_file" in ran.err and "chief" in ran.err.split("parked:")[1]
        monkeypatch.setenv("REMIT_STATE", str(place.place / "state"))
        with Deployment.open(place.folder) as deployment, State(deployment.state_folder) as state:
            (asked,) = state.signoffs()
            state.answer_signoff(asked, SignoffDecision(answer="once", digest=asked.digest, by="bea", channel="test"))
        worked = place.remit("sessions", "work", *speaking)
    assert "session s1:" in worked.out and "chief says:" in worked.out
    assert (place.folder / "workspace/a.txt").read_text() == "hi"
