"""Faults that other agents had with endpoints (`data/field_loop.jsonl`), played over HTTP through a whole agent."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remit.agent import Agent
from remit.local_skills import skill
from remit.loop.outcome import RunResult
from remit.loop.transcript import Transcript
from remit.models.behaviour import Behaviour
from remit.models.openai import OpenAIModel
from remit.models.protocol import Message
from remit.models.retry import Retries
from tests.loop_parts import lawful
from tests.model_server import ModelServer, Play, calls, error, serve, text

CASES: Mapping[str, Any] = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data/field_loop.jsonl").read_text("utf-8").splitlines())
}
FAST = Retries(attempts=3, first=0.001, longest=0.01)
END = text("end")


@dataclass
class Played:
    """What came of a case: the outcome, what the server was asked, what ran (in no order), and the transcript."""

    result: RunResult
    server: ModelServer
    ran: list[tuple[str, dict[str, Any]]]
    messages: tuple[Message, ...]

    @property
    def last(self) -> list[dict[str, Any]]:
        """The messages of the last request."""
        return list(self.server.bodies[-1]["messages"])

    def told(self, number: int = 0) -> str:
        """The text of one result."""
        return [message.content for message in self.messages if message.role == "tool"][number]


def named(value: Any, names: Sequence[str]) -> Any:
    """Return a recorded body in which skills have their wire names."""
    if isinstance(value, list):
        return [named(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {key: named(item, names) for key, item in value.items()}
    name = changed.get("name")
    known = next((one for one in names if isinstance(name, str) and (name == one or name.startswith(f"{one}<"))), None)
    return {**changed, "name": f"local__{name}"} if known else changed


def plays_of(case: Mapping[str, Any], names: Sequence[str]) -> list[Play]:
    given = case["input"]
    match given["kind"]:
        case "stream":
            return [Play(chunks=named(given["chunks"], names), done=False)]
        case "sse":
            lines = "\n".join(given["lines"] + [""]).replace('"purge"', '"local__purge"')
            return [Play(chunks=[lines.encode()], done=False, cut=True)]
        case _:
            return [Play(body=json.dumps(named(body, names)).encode()) for body in given["bodies"]]


def play(
    case: str,
    *functions: Callable[..., Any],
    plays: Sequence[Play] | None = None,
    more: Sequence[Play] = (),
    behaviour: Behaviour | None = None,
    **options: Any,
) -> Played:
    """Play a case with skills that only note that they ran, and what they do."""
    ran: list[tuple[str, dict[str, Any]]] = []
    skills = [skill(effect="read")(noted(function, ran)) for function in functions]
    names = [function.__name__ for function in functions]
    asked = {key: options.pop(key) for key in ("first", "session") if key in options}
    with serve([*(plays_of(CASES[case], names) if plays is None else plays), *more]) as server:
        model = OpenAIModel("m", base_url=server.base_url, retries=FAST, behaviour=behaviour or Behaviour())
        with Agent(model=model, skills=skills, **options) as agent:
            streamed = CASES[case]["input"]["kind"] in ("stream", "sse")
            result = agent.run("go", on_event=(lambda _: None) if streamed else None, **asked)
            saved = agent.state.load_session(result.session)
    assert saved is not None
    messages = Transcript.from_json(saved.transcript).messages
    lawful(messages)
    return Played(result, server, sorted(ran, key=repr), messages)


def noted(function: Callable[..., Any], ran: list[tuple[str, dict[str, Any]]]) -> Callable[..., Any]:
    from functools import wraps

    @wraps(function)
    def noting(**arguments: Any) -> Any:
        ran.append((function.__name__, arguments))
        return function(**arguments)

    return noting


def tide(port: str = "", n: list[int] | None = None, p: str = "") -> str:
    """Tell the tide."""
    return "high"


def wind(p: str) -> str:
    """Tell the wind."""
    return "calm"


def calls_sent(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield from message.get("tool_calls") or ()


def test_the_cases_are_all_here() -> None:
    here = Path(__file__).read_text("utf-8")
    assert len(CASES) == 26
    assert not [case for case in CASES if not re.search(rf"\b{case}\b", here)]


def test_calls_without_an_index() -> None:
    played = play("L79", tide, wind, more=[END])
    assert played.ran == [("tide", {"p": "N"}), ("wind", {"p": "S"})]
    assert played.result.answer == "end"


def test_a_name_in_every_chunk() -> None:
    def read_log(n: int) -> str:
        """Read."""
        return "log"

    played = play("L81", read_log, more=[END])
    assert played.ran == [("read_log", {"n": 2})]


def test_text_and_a_call_in_one_delta() -> None:
    def ls() -> str:
        """List."""
        return "files"

    played = play("L84", ls, more=[END])
    assert played.ran == [("ls", {})]
    assert played.messages[1].content == "First I look: ok"


def test_arguments_as_an_object() -> None:
    played = play("L85", tide, more=[END])
    assert played.ran == [("tide", {"port": "N", "n": [1]})]
    (call,) = calls_sent(played.last)
    assert json.loads(call["function"]["arguments"]) == {"port": "N", "n": [1]}


@pytest.mark.parametrize("arguments", [[1], 7, True])
def test_arguments_that_are_no_object_are_told(arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "local__tide", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    played = play("L85", tide, plays=[Play(message=message, finish="tool_calls"), END])
    assert played.ran == [] and played.result.answer == "end"
    assert played.result.calls[0].status == "invalid"


def test_calls_that_end_with_stop() -> None:
    assert play("L86", tide, more=[END]).ran == [("tide", {})]
    played = play("L130", tide)
    assert played.ran == [("tide", {})]
    assert played.result.answer == "end" and played.messages[1].content == "ok, calling"


def test_a_call_that_the_output_limit_cut() -> None:
    def write(title: str) -> str:
        """Write."""
        return "written"

    played = play("L88", write, max_steps=10)
    assert played.ran == [] and played.result.status == "stopped"
    assert len(played.server.requests) == 2 and "output limit" in played.result.stop_reason
    assert "output limit" in played.last[-1]["content"]


def test_a_stream_that_closes_after_the_name() -> None:
    def purge(scope: str = "all") -> str:
        """Purge."""
        return "purged"

    played = play("L89", purge)
    assert played.ran == [] and played.result.status == "failed"
    assert len(played.server.requests) == FAST.attempts
    assert [message.role for message in played.messages] == ["user"]


@pytest.mark.parametrize("number", range(4))
def test_an_endpoint_that_tells_no_usage(number: int) -> None:
    body = CASES["L95"]["input"]["bodies"][number]
    played = play("L95", plays=[Play(body=json.dumps(body).encode())])
    assert played.result.answer == "ok" and played.result.usage.total_tokens is None


def test_ids_that_come_twice() -> None:
    def a() -> str:
        """A."""
        return "a"

    def b() -> str:
        """B."""
        return "b"

    def c() -> str:
        """C."""
        return "c"

    played = play("L98", a, b, c)
    assert [name for name, _ in played.ran] == ["a", "b", "c"] and played.result.answer == "end"
    ids = [call["id"] for call in calls_sent(played.last)]
    assert len(set(ids)) == 3
    assert [message["tool_call_id"] for message in played.last if message["role"] == "tool"] == ids


def test_results_are_in_the_order_of_the_calls() -> None:
    rome = threading.Event()

    def temp(c: str) -> str:
        """Tell the temperature."""
        if c == "Rome":
            rome.set()
        else:
            assert rome.wait(10), "the calls did not run at once"
        return f"in {c}"

    played = play("L99", temp)
    assert ("in Oslo" in played.told(0), "in Rome" in played.told(1)) == (True, True)


def test_results_name_the_skill_only_where_that_is_asked_for() -> None:
    plays = [calls(("local__tide", {})), END]
    for behaviour, expected in ((None, None), (Behaviour(result_names=True), "local__tide")):
        played = play("L101", tide, plays=plays, behaviour=behaviour)
        (result,) = [message for message in played.last if message["role"] == "tool"]
        assert result.get("name") == expected
        assert result.keys() - {"name"} == {"role", "tool_call_id", "content"}


def test_thoughts_about_calls_are_no_calls() -> None:
    def wipe() -> str:
        """Wipe."""
        return "wiped"

    played = play("L104", wipe)
    assert played.ran == [] and played.result.answer.strip() == "Answer: 4"
    assert "I could emit" in played.messages[-1].reasoning


def test_an_example_of_a_call_is_an_answer() -> None:
    def send(to: str) -> str:
        """Send."""
        return "sent"

    body = CASES["L105"]["input"]["bodies"][0]
    with serve([Play(body=json.dumps(body).encode()), END]) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        with Agent(model=model, skills=[skill(effect="read")(send)]) as agent:
            first = agent.run("How does a call look?", session="s")
            second = agent.run("Thanks", session="s")
    assert (first.calls, first.answer.splitlines()[0]) == ((), "Example:")
    assert (second.status, second.answer) == ("answered", "end")


def test_template_tokens_in_names() -> None:
    played = play("L108", tide)
    assert played.ran == [("tide", {})] and played.result.calls[1].status == "invalid"
    for call in calls_sent(played.last):
        assert call["function"]["name"].replace("_", "a").isalnum()


def test_a_skill_that_there_is_not() -> None:
    played = play("L109", tide)
    assert played.ran == [("tide", {})] and played.result.answer == "end"
    assert "no_such" in played.told(0) and "local.tide" in played.told(0)


def test_failures_in_one_batch_are_one() -> None:
    def parse(i: int) -> str:
        """Parse."""
        return "parsed"

    played = play("L111", parse)
    assert [result.status for result in played.result.calls] == ["invalid"] * 4
    assert played.result.answer == "end"


def test_a_cancelled_batch_has_a_result_for_every_call() -> None:
    """L114: the done one has its own, the running one may have taken effect, the third did not run."""
    running = threading.Event()
    release = threading.Event()

    @skill(effect="write")
    def step(n: int) -> str:
        """Do a step."""
        if n == 2:
            running.set()
            release.wait(10)
        return f"done {n}"

    batch = calls(*(("local__step", {"n": n}) for n in (1, 2, 3)))
    with serve([batch, END]) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        with Agent(model=model, skills=[step], approver=Yes()) as agent:
            asyncio.run(cancelled(agent, running, release))
            agent.run("go on", session="s")
    results = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "tool"]
    assert "done 1" in results[0]
    assert "cancel" in results[1].lower() and "effect" in results[1]
    assert "not" in results[2].lower() and "done" not in results[2]


async def cancelled(agent: Agent, running: threading.Event, release: threading.Event) -> None:
    run = asyncio.create_task(agent.arun("go", session="s"))
    while not (running.is_set() or run.done()):
        await asyncio.sleep(0.005)
    run.cancel()
    await asyncio.sleep(0)
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    await agent.model.aclose()


class Yes:
    """Approves everything."""

    async def ask(self, request: Any) -> Any:
        from remit_sandbox.signoff import SignoffDecision

        return SignoffDecision(answer="once", digest=request.digest, by="ann")


def test_a_skill_that_cancels_itself() -> None:
    async def tool() -> str:
        """Cancel myself."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)
        return "unreachable"

    with serve([calls(("local__tool", {})), END]) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        with Agent(model=model, skills=[skill(effect="read")(tool)]) as agent:
            result = agent.run("go")
    assert CASES["L115"]["input"]["kind"] == "python"
    assert result.answer == "end" and result.calls[0].status in ("cancelled", "failed")
    assert "cancel" in result.calls[0].text.lower()


def test_a_call_is_not_made_again_for_a_request_that_fails() -> None:
    """L119."""
    paid: list[int] = []

    @skill(effect="read")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    down = [error(503, "down")] * FAST.attempts
    with serve([calls(("local__pay", {"amount": 10})), *down, END]) as server:
        model = OpenAIModel("m", base_url=server.base_url, retries=FAST)
        with Agent(model=model, skills=[pay]) as agent:
            first = agent.run("go", session="s")
            second = agent.resume("s")
    assert (first.status, second.status, second.answer) == ("failed", "answered", "end")
    assert paid == [10]


def test_blocking_skills_run_beside_each_other() -> None:
    together = threading.Barrier(3)

    def nap(s: float) -> str:
        """Sleep."""
        together.wait(10)
        return "slept"

    played = play("L122", nap)
    assert [result.status for result in played.result.calls] == ["ok"] * 3
    assert played.result.answer == "end"


def test_the_step_limit_is_the_limit() -> None:
    bodies = [calls(("local__tide", {"port": f"P{n}"})) for n in range(50)]
    played = play("L124", tide, plays=bodies, max_steps=CASES["L124"]["input"]["max_steps"])
    assert len(played.server.requests) == 5
    assert played.result.status == "stopped" and "step limit of 5" in played.result.stop_reason
    assert play("L124", tide, max_steps=5).result.status == "stopped"


def test_the_same_call_again_and_again() -> None:
    def click(i: int) -> str:
        """Click."""
        return "clicked"

    played = play("L125", click, max_steps=300)
    assert played.result.status == "stopped" and len(played.server.requests) < 15
    notes = [message for message in played.messages if message.role == "user" and message.origin == "loop"]
    assert notes and "click" in played.result.stop_reason


def test_calls_without_a_name() -> None:
    played = play("L126", tide)
    assert played.ran == [] and played.result.answer == "end"
    assert not list(calls_sent(played.last)) and played.last[-1]["role"] == "user"


def test_replies_that_are_cut_before_they_say_anything() -> None:
    played = play("L128", max_steps=20)
    assert played.result.status == "stopped" and len(played.server.requests) < 5
    assert "output limit" in played.result.stop_reason


def test_prose_where_a_call_is_due() -> None:
    def final(v: int) -> str:
        """Give the answer."""
        return "noted"

    played = play("L129", final, more=[END], first="required")
    assert played.ran == [("final", {"v": 1})] and played.result.answer == "end"
    assert played.server.bodies[0]["tool_choice"] == "required"
