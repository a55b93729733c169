"""When a model is down: others in its place, a circuit, and what is said when nobody answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, ScriptedModel
from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.errors import EndpointDown, ModelError, UsageError
from remit.loop.events import Event, TurnEnded, TurnRetried
from remit.loop.guards import Limits
from remit.loop.in_text import TextInterpreter
from remit.loop.native import NativeInterpreter
from remit.loop.outcome import RunResult
from remit.loop.run import Run
from remit.loop.transcript import Transcript
from remit.loop.voices import Voice
from remit.models import circuit
from remit.models.circuit import Circuit
from remit.models.retry import Retries
from remit.models.scripted import ask
from remit.state.store import State
from tests import model_server
from tests.loop_parts import Functions, execute, lawful


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Endpoints are asked twice, at once; circuits of other tests are forgotten."""
    monkeypatch.setattr(Retries.__init__, "__kwdefaults__", {"attempts": 2, "first": 0.001, "longest": 0.01})
    monkeypatch.setattr(circuit, "_CIRCUITS", {})
    yield


def deployed(tmp_path: Path, tables: str) -> Path:
    folder = tmp_path / "deployment"
    folder.mkdir()
    init(folder, enforcement="available").apply()
    text = (folder / "remit.toml").read_text()
    head, _, rest = text.partition("[model]")
    (folder / "remit.toml").write_text(head + rest[rest.index("\n[") :] + tables)
    trust(folder)
    return folder


def models(*urls: str, price: str = "") -> str:
    first, *others = urls
    tables = f'\n[model]\nname = "big"\nbase_url = "{first}"\n{price}\n'
    for number, url in enumerate(others):
        tables += f'[[model.fallback]]\nname = "spare{number}"\nbase_url = "{url}"\ndialect = "tagged"\n'
        tables += "price = { input = 1, output = 3 }\n"
    return tables


def test_the_next_model_answers_in_its_own_dialect_and_everybody_is_told(tmp_path: Path) -> None:
    events: list[Event] = []
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    with (
        model_server.serve([model_server.error(503)]) as down,
        model_server.serve([model_server.text("hi", usage=usage)]) as up,
    ):
        folder = deployed(tmp_path, models(down.base_url, up.base_url))
        with Agent(folder) as agent:
            result = agent.run("go", on_event=events.append)
            (record,) = [r for r in agent.state.records(event="turn.reply") if "failed" not in r.body]
            failed = [r for r in agent.state.records(event="turn.reply") if "failed" in r.body]
    assert (result.answer, result.status, result.model) == ("hi", "answered", "spare0")
    assert result.cost == pytest.approx(130 / 1e6)
    assert (record.body["fallback"], record.body["cost"]) == ("spare0", pytest.approx(130 / 1e6))
    assert [r.body["model"] for r in failed] == ["big"]
    assert [event.model for event in events if isinstance(event, TurnEnded)] == ["spare0"]
    assert any("spare0 is asked instead" in e.reason for e in events if isinstance(e, TurnRetried))
    assert len(down.bodies) == 2 and "tools" not in up.bodies[0]


def test_an_endpoint_that_keeps_failing_is_left_alone_by_the_whole_process(tmp_path: Path) -> None:
    with (
        model_server.serve([model_server.error(503)]) as down,
        model_server.serve([model_server.text("hi")]) as up,
    ):
        folder = deployed(tmp_path, models(down.base_url, up.base_url))
        for _ in range(circuit.FAILURES + 2):
            with Agent(folder) as agent:
                assert agent.run("go").answer == "hi"
        asked = len(down.bodies)
        assert asked == 2 * circuit.FAILURES
        with Agent(folder, model="big", base_url=down.base_url) as agent:
            assert agent.run("go").status == "failed", "a model that the program names has no fallback"
        assert len(down.bodies) > asked


def test_when_all_are_down_the_run_fails_and_says_what_the_deployment_wants(tmp_path: Path) -> None:
    with model_server.serve([model_server.error(500, "out of order")]) as down:
        tables = models(down.base_url, down.base_url) + '[agent]\nfallback = "Please call the desk."\n'
        folder = deployed(tmp_path, tables)
        with Agent(folder) as agent:
            result = agent.run("go")
            (ended,) = agent.state.records(event="run.ended")
        with Agent(folder, fallback=lambda r: f"{r.status}: {r.session}") as agent:
            own = agent.run("go", session="s7")
    assert (result.status, result.answer) == ("failed", "Please call the desk.")
    assert "out of order" in result.stop_reason and ended.body["answer"] == "Please call the desk."
    assert own.answer == "failed: s7"


def test_a_fallback_that_fails_itself_leaves_the_result(tmp_path: Path) -> None:
    def broken(_: RunResult) -> str:
        raise ValueError("no")

    with Agent(model=ScriptedModel([ModelError("down")]), fallback=broken) as agent:
        result = agent.run("go")
    assert (result.answer, result.status) == ("", "failed")
    assert result.stop_reason.startswith("down; ") and "ValueError" in result.stop_reason


def test_a_refusal_is_no_reason_to_leave_an_endpoint_alone(tmp_path: Path) -> None:
    """It is asked again at the next turn; the other one answered this one."""
    functions = Functions(double=lambda n: 2 * n)
    gate = Circuit(failures=1, seconds=60)
    other = Voice(model=ScriptedModel([ask("t.double", n=1)], name="spare"),
                  interpreter=TextInterpreter(functions.skills, dialect="tagged"))  # fmt: skip
    first = Voice(model=ScriptedModel([ModelError("400"), "done"]), interpreter=NativeInterpreter(functions.skills),
                  circuit=gate)  # fmt: skip
    run = Run(
        session="s", transcript=Transcript(), voices=[first, other], caller=functions, store=State(tmp_path / "s")
    )
    result = execute(run)
    assert (result.answer, result.model, gate.is_open) == ("done", "scripted", False)
    lawful(run.transcript.messages)


def test_where_every_circuit_is_open_the_first_is_asked_nevertheless(tmp_path: Path) -> None:
    functions = Functions()
    gate = Circuit(failures=1, seconds=60)
    gate.failed()
    voice = Voice(model=ScriptedModel([EndpointDown("down"), "up"]), interpreter=NativeInterpreter({}), circuit=gate)
    for status, is_open in (("failed", True), ("answered", False)):
        run = Run(session="s", transcript=Transcript(), voices=[voice], caller=functions, store=State(tmp_path / "s"))
        assert (execute(run).status, gate.is_open) == (status, is_open)


def test_a_cost_limit_needs_the_price_of_every_model(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    folder = deployed(tmp_path, models(url) + "[agent]\nmax_cost = 0.5\n")
    with pytest.raises(UsageError, match="price of big is not known"):
        Agent(folder)
    with pytest.raises(UsageError, match="price of other is not known"):
        Agent(model="other", base_url=url, limits=Limits(cost=1.0))


def test_the_price_of_the_deployment_is_of_its_own_model(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 1_000_000}
    price = "price = { input = 0.25, output = 2.0 }"
    with model_server.serve([model_server.text("hi", usage=usage)]) as server:
        folder = deployed(tmp_path, models(server.base_url, price=price))
        with Agent(folder) as agent:
            assert agent.run("go").cost == 2.25
        with Agent(folder, model="another") as agent:
            assert agent.run("go").cost is None


def test_the_command_line_shows_model_and_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from remit.cli.main import run

    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    with model_server.serve([model_server.text("hi", usage=usage)]) as server:
        folder = deployed(tmp_path, models(server.base_url, price="price = { input = 0.25, output = 2.0 }"))
        monkeypatch.chdir(folder)
        assert run(["run", "go", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["cost"], shown["model"], shown["usage"]["input_tokens"]) == (0.25, "big", 1_000_000)


def test_cancelling_while_a_fallback_thinks_saves_the_session(tmp_path: Path) -> None:
    with (
        model_server.serve([model_server.error(503)]) as down,
        model_server.serve([model_server.text("late", delay=5.0)]) as slow,
    ):
        folder = deployed(tmp_path, models(down.base_url, slow.base_url))

        async def main() -> Any:
            async with Agent(folder) as agent:
                task = asyncio.create_task(agent.arun("go", session="s"))
                while not slow.requests:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return agent.state.load_session("s")

        saved = asyncio.run(main())
    assert saved.status == "stopped"
