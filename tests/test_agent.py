"""Agents: the real pipeline, the real state, sessions side by side."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, ScriptedModel, skill
from remit.deployment.trust import trust
from remit.errors import DeploymentError, ModelError, UsageError
from remit.loop.events import CallDecided, CallProgress, Event, RunEnded, TextDelta
from remit.models.retry import Retries
from remit.models.scripted import ask
from remit.values import Result
from tests import model_server


@skill(effect="read")
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


@skill(effect="write")
def wipe(path: str) -> str:
    """Wipe something."""
    raise AssertionError(path)


def agent(script: Any, *functions: Any, **options: Any) -> Agent:
    return Agent(model=ScriptedModel(script), skills=functions or (double,), **options)


def test_a_question_through_the_real_pipeline() -> None:
    with agent([ask("local.double", n=21), lambda request: f"{request.messages[-1].content}!"]) as bot:
        result = bot.run("double 21")
    assert (result.answer, result.status, result.steps) == ("42!", "answered", 2)
    assert [(call.skill, call.status, call.value) for call in result.calls] == [("local.double", "ok", 42)]
    assert result.calls[0].decision is not None


def test_arguments_that_do_not_fit_and_unknown_skills_are_told() -> None:
    script = [[ask("local__double", n="x"), ask("local__triple", n=1)], ask("local__double", n=1), "end"]
    with agent(script) as bot:
        result = bot.run("go")
    assert [call.status for call in result.calls] == ["invalid", "invalid", "ok"]
    assert "n" in result.calls[0].text


def test_a_function_that_raises_is_a_result() -> None:
    @skill(effect="read")
    def broken() -> None:
        raise RuntimeError("no")

    with agent([ask("local.broken"), "sorry"], broken) as bot:
        result = bot.run("go")
    assert (result.calls[0].status, result.answer) == ("failed", "sorry")


@pytest.mark.parametrize(
    ("unattended", "status", "call"), [("park", "parked", "parked"), ("deny", "answered", "denied")]
)
def test_a_write_with_nobody_there(unattended: Any, status: str, call: str) -> None:
    with agent([ask("local.wipe", path="/"), "It was refused."], wipe, unattended=unattended) as bot:
        result = bot.run("wipe it")
    assert (result.status, [c.status for c in result.calls]) == (status, [call])


def test_three_denials_end_the_run() -> None:
    script = [ask("local.wipe", path=str(n)) for n in range(9)]
    with agent(script, wipe, unattended="deny") as bot:
        result = bot.run("wipe it")
    assert (result.status, len(result.calls)) == ("stopped", 3)
    assert "denied" in result.stop_reason


def test_read_only_hides_what_writes() -> None:
    with agent([ask("local.wipe", path="/"), "no"], double, wipe, read_only=True) as bot:
        assert "local.wipe" not in bot.skills
        assert bot.run("go").calls[0].status == "denied"


def test_a_session_goes_on_and_others_know_nothing() -> None:
    def script(request: Any) -> str:
        return " ".join(m.content for m in request.messages if m.role == "user")

    with agent(script) as bot:
        first = bot.run("a")
        assert bot.run("b", session=first.session).answer == "a b"
        assert bot.run("c").answer == "c"
        assert bot.run("d", session="mine").session == "mine"
        assert bot.run("e", session="mine").answer == "d e"
        with pytest.raises(UsageError, match="no id of a session"):
            bot.run("f", session="../x")


def test_a_session_survives_a_failure() -> None:
    with agent([ask("local.double", n=1), ModelError("down"), "back"]) as bot:
        failed = bot.run("go")
        assert (failed.status, failed.stop_reason) == ("failed", "down")
        assert bot.run("again", session=failed.session).answer == "back"
        assert [m.role for m in bot.model.requests[-1].messages] == [  # type: ignore[attr-defined]
            "system", "user", "assistant", "tool", "user",
        ]  # fmt: skip


def test_sessions_run_side_by_side() -> None:
    @skill(effect="read")
    async def meet(who: str) -> str:
        """Wait for the others."""
        here.append(who)
        while len(here) < 5:
            await asyncio.sleep(0.001)
        return who

    here: list[str] = []

    def script(request: Any) -> Any:
        last = request.messages[-1]
        return last.content if last.role == "tool" else ask("local.meet", who=last.content)

    async def main() -> list[str]:
        async with agent(script, meet) as bot:
            results = await asyncio.gather(*(bot.arun(f"q{n}") for n in range(5)))
            return [result.answer for result in results]

    assert asyncio.run(main()) == [f"q{n}" for n in range(5)]


def test_one_session_has_one_run_at_a_time() -> None:
    async def main() -> None:
        started = asyncio.Event()

        @skill(effect="read")
        async def hang() -> None:
            started.set()
            await asyncio.sleep(60)

        async with agent([ask("local.hang")], hang) as bot:
            task = asyncio.create_task(bot.arun("go", session="s"))
            await started.wait()
            with pytest.raises(UsageError, match="has a run going on"):
                await bot.arun("me too", session="s")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            saved = bot.state.load_session("s")
            assert saved is not None
            assert saved.status == "stopped"
            assert [m.get("status") for m in saved.transcript] == [None, None, "cancelled"]
            assert (await bot.arun("go on", session="s")).status == "failed"

    asyncio.run(main())


def test_run_inside_a_loop_names_arun() -> None:
    async def main() -> None:
        with agent(["x"]) as bot, pytest.raises(UsageError, match="event loop") as caught:
            bot.run("go")
        assert "arun" in caught.value.remedy

    asyncio.run(main())


def test_the_stream_of_events() -> None:
    @skill(effect="read")
    def slow(ctx) -> str:  # type: ignore[no-untyped-def]
        """Say how far it is."""
        ctx.progress("half")
        return "done"  # type: ignore[no-any-return, unused-ignore]

    async def main() -> list[Event]:
        async with agent([ask("local.slow"), "end"], slow) as bot:
            return [event async for event in bot.stream("go")]

    events = asyncio.run(main())
    names = [type(event).__name__ for event in events]
    assert names[0] == "RunStarted"
    assert isinstance(events[-1], RunEnded)
    assert events[-1].result.answer == "end"
    assert names.index("CallProposed") < names.index("CallDecided") < names.index("CallFinished")
    assert [e.text for e in events if isinstance(e, CallProgress) and e.kind == "progress"] == ["half"]
    assert any(isinstance(e, CallDecided) and e.decision.verdict == "allow" for e in events)
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["end"]


def test_leaving_the_stream_cancels_the_run() -> None:
    async def main() -> str:
        async with agent([ask("local.double", n=1), "end"]) as bot:
            stream = bot.stream("go", session="s")
            async for _ in stream:
                break
            await stream.aclose()  # type: ignore[attr-defined]
            saved = bot.state.load_session("s")
            assert saved is not None
            return saved.status

    assert asyncio.run(main()) == "stopped"


def test_a_streaming_endpoint() -> None:
    plays = [model_server.calls(("local__double", {"n": 4})), model_server.text("It is eight.")]
    with model_server.serve(plays) as server, Agent(model="m", base_url=server.base_url, skills=[double]) as bot:
        events: list[Event] = []
        result = bot.run("go", on_event=events.append)
    assert result.answer == "It is eight."
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "It is eight."
    assert [body.get("stream") for body in server.bodies] == [True, True]
    assert {tool["function"]["name"] for tool in server.bodies[0]["tools"]} >= {"local__double"}


def test_an_endpoint_that_is_down_is_an_outcome() -> None:
    from remit import OpenAIModel

    model = OpenAIModel("m", base_url="http://127.0.0.1:9", retries=Retries(attempts=1))
    with Agent(model=model) as bot:
        result = bot.run("go")
        saved = bot.state.load_session(result.session)
    assert result.status == "failed"
    assert "http://127.0.0.1:9/v1/chat/completions" in result.stop_reason
    assert saved is not None
    assert saved.status == "failed"


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_saves_the_session() -> None:
    def hit() -> None:
        while not server.requests:
            pass
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with (
        model_server.serve([model_server.text("late", delay=1)]) as server,
        Agent(model="m", base_url=server.base_url) as bot,
    ):
        thread = threading.Thread(target=hit)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            bot.run("go", session="s")
        thread.join()
        saved = bot.state.load_session("s")
    assert saved is not None
    assert (saved.status, len(saved.transcript)) == ("stopped", 1)
    assert signal.getsignal(signal.SIGINT) is before


def test_limits_and_prompt() -> None:
    with agent(lambda request: ask("local.double", n=len(request.messages)), max_steps=2, prompt="Be odd.") as bot:
        result = bot.run("go")
        assert (result.status, result.steps) == ("stopped", 2)
        assert bot.model.requests[0].messages[0].content == "Be odd."  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="max_steps"):
        agent([], max_steps=0)


def test_an_agent_needs_a_model_and_unique_names() -> None:
    with pytest.raises(UsageError, match="no model is named"):
        Agent()
    with pytest.raises(UsageError, match="two functions"):
        agent([], double, double)


def test_the_state_of_an_agent_in_code_is_gone_when_it_is_closed() -> None:
    bot = agent(["x"])
    bot.run("go")
    folder: Path = bot.state.folder
    assert folder.exists()
    bot.close()
    bot.close()
    assert not folder.exists()
    lost = agent(["x"])
    folder = lost.state.folder
    del lost
    gc.collect()
    assert not folder.exists()


def test_records_tell_the_whole_run() -> None:
    with agent([ask("local.double", n=1), "end"]) as bot:
        result = bot.run("go")
        events = [record.event for record in bot.state.records(session=result.session)]
    assert events.count("turn.reply") == 2
    assert next(e for e in events if e.startswith("call.")) == "call.proposed"
    assert events.count("call.finished") == 1
    assert isinstance(result.calls[0], Result)


def deployed(tmp_path: Path, tables: str = "") -> Path:
    from remit.deployment.init import init

    folder = tmp_path / "deployment"
    folder.mkdir()
    init(folder, enforcement="available").apply()
    with (folder / "remit.toml").open("a") as file:
        file.write(tables)
    trust(folder)
    return folder


def test_a_deployment_allows_functions_by_name(tmp_path: Path) -> None:
    folder = deployed(tmp_path)
    with pytest.raises(DeploymentError, match="does not allow the function double") as caught:
        Agent(folder, model=ScriptedModel([]), skills=[double])
    assert 'allow = ["local.double"]' in caught.value.remedy
    with (folder / "remit.toml").open("a") as file:
        file.write('\n[host_skills]\nallow = ["local.double"]\n')
    trust(folder)
    with Agent(folder, model=ScriptedModel([ask("local.double", n=4), "8"]), skills=[double]) as bot:
        result = bot.run("go", session="s")
    assert (result.answer, result.calls[0].status) == ("8", "ok")
    with Agent(folder, model=ScriptedModel(lambda request: str(len(request.messages)))) as bot:
        assert bot.run("and?", session="s").answer == "6"


def test_the_deployment_says_which_model_and_how(tmp_path: Path) -> None:
    with model_server.serve([model_server.text("hi")]) as server:
        model = f'\n[model]\nname = "big"\nbase_url = "{server.base_url}"\napi_key = "env:BIG_KEY"\ndialect = "react"\n'
        folder = deployed(tmp_path)
        text = (folder / "remit.toml").read_text()
        head, _, rest = text.partition("[model]")
        rest = rest[rest.index("\n[") :] if "\n[" in rest else ""
        (folder / "remit.toml").write_text(head + rest + model)
        trust(folder)
        with Agent(folder) as bot:
            assert bot.run("go").answer == "hi"
        with Agent(folder, model="small", dialect="native", base_url=server.base_url) as bot:
            bot.run("go")
    first, second = server.bodies
    assert (first["model"], first["stop"], "tools" in first) == ("big", ["Observation:"], False)
    assert (second["model"], "stop" in second) == ("small", False)


def test_an_open_deployment_is_never_widened(tmp_path: Path) -> None:
    from remit.deployment.deployment import Deployment

    folder = deployed(tmp_path)
    with Deployment.open(folder) as deployment:
        with pytest.raises(UsageError, match="more rights than this agent may have"):
            Agent(deployment, model=ScriptedModel([]), read_only=True)
        with Agent(deployment, model=ScriptedModel(["x"])) as bot:
            assert bot.run("go").answer == "x"


def test_an_approver_without_ask_is_named_at_once() -> None:
    with pytest.raises(UsageError, match="approver is function, which has no method ask"):
        agent(["hi"], approver=lambda request: True)


def test_an_approver_that_gives_no_decision_denies_and_says_why() -> None:
    class Careless:
        async def ask(self, request: Any) -> bool:
            return True

    with agent([ask("local.wipe", path="a"), "end"], wipe, approver=Careless()) as bot:
        (result,) = bot.run("wipe").calls
    assert result.status == "denied" and "gave bool instead of a SignoffDecision" in result.text


def test_a_refused_session_id_has_no_chain_of_causes() -> None:
    with agent(["hi"]) as bot, pytest.raises(UsageError) as caught:
        bot.run("hi", session="../x")
    assert caught.value.__context__ is None


def test_a_key_file_lies_where_the_deployment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative `file:` starts from the deployment's folder, wherever the program was started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.key").write_text("of-the-working-directory\n")
    with model_server.serve([model_server.text("hi")]) as server:
        folder = deployed(tmp_path)
        (folder / "model.key").write_text("of-the-deployment\n")
        text = (folder / "remit.toml").read_text()
        named = f'[model]\nname = "big"\nbase_url = "{server.base_url}"\napi_key = "file:model.key"\n'
        (folder / "remit.toml").write_text(text.replace("[model]\n", named, 1))
        trust(folder)
        with Agent(folder) as bot:
            assert bot.run("go").answer == "hi"
        assert server.requests[0][1]["authorization"] == "Bearer of-the-deployment"


def test_a_hundred_sessions_side_by_side_know_nothing_of_each_other() -> None:
    heard: dict[str, list[Event]] = {}

    def turn(request: Any) -> Any:
        said = [message for message in request.messages if message.role in ("user", "tool")]
        return ask("local.double", n=int(said[-1].content)) if said[-1].role == "user" else f"{said}"

    async def work(bot: Agent) -> list[Any]:
        async def one(n: int) -> Any:
            events = heard[f"s{n}"] = []
            return n, await bot.arun(str(n + 1_000), session=f"s{n}", on_event=events.append)

        return await asyncio.gather(*(one(n) for n in range(100)))

    with agent(turn) as bot:
        for n, result in asyncio.run(work(bot)):
            own = {str(n + 1_000), str(2 * n + 2_000)}
            assert set(re.findall(r"content='(\d+)'", result.answer)) == own
            assert {event.session for event in heard[f"s{n}"]} == {f"s{n}"}
            (finished,) = bot.state.records(session=f"s{n}", event="call.finished")
            assert finished.body["text"] in own
        assert bot.run("7", session="s0").status == "answered", "a session goes on"
