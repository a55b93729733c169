"""Runs and sessions over HTTP: whole or as events, one's own only, ended when nobody listens."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import httpx2
import pytest

from remit import Agent, Deployment, ScriptedModel
from remit.deployment.try_pack import try_pack
from remit.errors import UsageError
from remit.http import App, Rates
from remit.http.agents import Agents
from remit.loop.event_json import event_json
from remit.state.store import State
from tests.http_parts import Apps, SlowModel, events, opened, reply, scripted, served
from tests.packaging import project

STREAM = {"accept": "text/event-stream"}


def known(request: Any) -> str | None:
    name: str | None = request.headers.get("x-user")
    return name


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("runs"), rules="") as found:
        yield found


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Iterator[httpx2.Client]:
    apps = Apps()
    with served(apps(deployment, identify=known, agent=scripted), **{"x-user": "ada"}) as found:
        yield found
    apps.close()


def run(client: httpx2.Client, question: str, **body: str) -> Any:
    return client.post("/runs", json={"question": question, **body})


def test_a_run_gives_its_result_and_goes_on_in_its_session(client: httpx2.Client) -> None:
    first = run(client, "hello").json()
    assert (first["answer"], first["status"], first["steps"]) == ("You said: hello", "answered", 1)
    second = run(client, "again", session=first["session"]).json()
    assert second["session"] == first["session"]
    shown = client.get(f"/sessions/{first['session']}").json()
    said = [message["content"] for message in shown["messages"] if message["role"] == "user"]
    assert said == ["hello", "again"] and shown["status"] == "answered" and shown["signoffs"] == []


def test_nobody_sees_anybody_elses_sessions(client: httpx2.Client, deployment: Deployment) -> None:
    hers = run(client, "mine").json()["session"]
    bob = {"x-user": "bob"}
    assert hers in [one["id"] for one in client.get("/sessions").json()["sessions"]]
    assert hers not in [one["id"] for one in client.get("/sessions", headers=bob).json()["sessions"]]
    assert client.get(f"/sessions/{hers}").status_code == 200
    never = client.get("/sessions/0123456789abcdef", headers=bob)
    for answer in (
        client.get(f"/sessions/{hers}", headers=bob),
        client.post(f"/sessions/{hers}/resume", headers=bob),
        client.post("/runs", json={"question": "and now?", "session": hers}, headers=bob),
        client.post("/runs", json={"question": "x", "session": "of-my-choice"}, headers=bob),
    ):
        assert answer.status_code == 404 and answer.json() == never.json(), "not even that it exists"
    with State(deployment.state_folder) as state:
        assert {record.who for record in state.records(session=hers)} == {"ada"}


def test_each_principal_has_folders_of_its_own() -> None:
    with try_pack(project("good")) as deployment:
        views = [deployment, deployment.acting_for("bob"), deployment.acting_for("ada")]
        cells = [view.skills["good.save"].cell for view in views]
        folders = {cell.data for cell in cells if cell is not None}
        assert len(folders) == 3 and None not in folders
        assert {view.sandbox for view in views} == {deployment.sandbox}
        views[1].close()
        views[2].close()
        assert deployment.sandbox is not None
        with Agent(deployment, model=ScriptedModel(["still there"])) as agent:
            assert agent.run("?").answer == "still there"


def test_an_agent_for_somebody_else_is_refused(deployment: Deployment) -> None:
    apps = Apps()

    def careless(view: Deployment, principal: str) -> Agent:
        return Agent(view if principal == "bob" else deployment, model=ScriptedModel(reply))

    with served(apps(deployment, identify=known, agent=careless), **{"x-user": "ada"}) as client:
        refused = run(client, "hello")
        assert refused.status_code == 409 and "acts for somebody else" in refused.json()["error"]["message"]
        assert client.post("/runs", json={"question": "hello"}, headers={"x-user": "bob"}).status_code == 200
    apps.close()


def test_the_stream_is_the_stream_of_the_loop(client: httpx2.Client, deployment: Deployment) -> None:
    with client.stream("POST", "/runs", json={"question": "write a.txt"}, headers=STREAM) as response:
        assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        heard = list(events(response))
    names = [event["event"] for event in heard]
    assert names[:2] == ["run_started", "state_changed"] and names[-2:] == ["state_changed", "run_ended"]
    assert heard[-1]["result"]["status"] == "parked"
    own: list[dict[str, Any]] = []
    with Agent(deployment, principal="ada", model=ScriptedModel(reply)) as agent:
        agent.run("write a.txt", on_event=lambda event: own.append(event_json(event)))
    assert [event["event"] for event in own] == names
    assert [set(event) for event in own] == [set(event) for event in heard]


def test_a_session_in_which_a_call_waits_takes_no_other_question(client: httpx2.Client) -> None:
    waits = run(client, "write waits.txt").json()["session"]
    (signoff,) = client.get(f"/sessions/{waits}").json()["signoffs"]
    for headers in ({}, STREAM):
        refused = client.post("/runs", json={"question": "hello", "session": waits}, headers=headers)
        assert refused.status_code == 409 and refused.headers["content-type"] == "application/json"
        error = refused.json()["error"]
        assert "takes no other question yet" in error["message"]
        for path in (f"POST /signoffs/{signoff}/decision", f"POST /sessions/{waits}/resume", '"withdraw": true'):
            assert path in error["remedy"]
    taken_back = client.post("/runs", json={"question": "hello", "session": waits, "withdraw": True})
    assert taken_back.json()["answer"] == "You said: hello"
    assert client.get(f"/sessions/{waits}").json()["signoffs"] == []
    assert run(client, "again", session=waits).status_code == 200, "nothing waits any more"


def test_a_run_that_cannot_begin_is_no_stream(client: httpx2.Client) -> None:
    done = run(client, "hello").json()["session"]
    for headers in ({}, STREAM):
        answer = client.post(f"/sessions/{done}/resume", headers=headers)
        assert answer.status_code == 409 and "come to its end" in answer.json()["error"]["message"]
    missing = client.post("/runs", json={"question": "x", "session": "nothere"}, headers=STREAM)
    assert missing.status_code == 404


@contextmanager
def slowly(deployment: Deployment, **options: Any) -> Iterator[tuple[App, httpx2.Client, SlowModel]]:
    model = SlowModel()
    apps = Apps()
    app = apps(
        deployment,
        identify=known,
        agent=lambda view, principal: Agent(view, principal=principal, model=model),
        **options,
    )
    with served(app, **{"x-user": "ada"}) as client:
        yield app, client, model
    apps.close()


@pytest.mark.parametrize("headers", [STREAM, {}], ids=["stream", "whole"])
def test_a_run_ends_when_the_client_goes_away(deployment: Deployment, headers: dict[str, str]) -> None:
    with slowly(deployment) as (_, client, model):
        if headers:
            with (
                httpx2.Client(base_url=client.base_url, headers={"x-user": "ada", **headers}, trust_env=False) as short,
                short.stream("POST", "/runs", json={"question": "tell"}) as response,
            ):
                session = next(event["session"] for event in events(response) if event["event"] == "text_delta")
        else:
            short = HTTPConnection(client.base_url.host, client.base_url.port)
            kind = {"content-type": "application/json", "x-user": "ada"}
            short.request("POST", "/runs", json.dumps({"question": "tell"}), kind)
            assert model.begun.acquire(timeout=20)
            short.close()
            session = client.get("/sessions").json()["sessions"][0]["id"]
        assert model.cancelled.wait(10), "the model was left asking for nobody"
        deadline = time.monotonic() + 10
        while client.get(f"/sessions/{session}").json()["status"] != "stopped" and time.monotonic() < deadline:
            time.sleep(0.02)
        shown = client.get(f"/sessions/{session}").json()
        assert shown["status"] == "stopped" and shown["messages"][0]["content"] == "tell", "it can be resumed"


def test_too_many_runs_of_one_person_wait_and_the_end_saves_them(deployment: Deployment) -> None:
    codes: list[tuple[int, str]] = []

    def ask(url: httpx2.URL) -> None:
        with httpx2.Client(base_url=url, headers={"x-user": "ada"}, timeout=30, trust_env=False) as own:
            answer = run(own, "slow")
            codes.append((answer.status_code, answer.text))

    with slowly(deployment, rates=Rates(runs=2)) as (_, client, model):
        threads = [threading.Thread(target=ask, args=(client.base_url,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert all(model.begun.acquire(timeout=20) for _ in threads)
        assert run(client, "more").status_code == 429
        with client.stream("POST", "/runs", json={"question": "x"}, headers=STREAM) as response:
            assert response.status_code == 429
    for thread in threads:
        thread.join(10)
    assert [code for code, _ in codes] == [503, 503] and "session is saved" in codes[0][1]


def test_a_fault_in_the_middle_of_a_run_is_told_without_its_words(deployment: Deployment) -> None:
    def breaks(_: object) -> str:
        raise RuntimeError("the password is 1234")

    def agent(view: Deployment, principal: str) -> Agent:
        return Agent(view, principal=principal, model=ScriptedModel(breaks))

    apps = Apps()
    with served(apps(deployment, identify=known, agent=agent), **{"x-user": "ada"}) as client:
        with client.stream("POST", "/runs", json={"question": "hello"}, headers=STREAM) as response:
            heard = list(events(response))
        assert heard[0]["event"] == "run_started" and heard[-1]["error"]["message"] == "Remit failed"
        whole = run(client, "hello")
        assert whole.status_code == 500 and whole.json() == heard[-1]
        assert "1234" not in str(heard) + whole.text
    apps.close()


def test_agents_are_shared_by_those_who_come_at_once_and_a_failure_is_not_kept(deployment: Deployment) -> None:
    made: list[str] = []

    def agent(view: Deployment, principal: str) -> Agent:
        made.append(principal)
        if len(made) == 1:
            raise UsageError("not yet")
        return scripted(view, principal)

    async def used(agents: Agents, principal: str) -> Agent:
        async with agents.of(principal) as found:
            await asyncio.sleep(0.01)
            return found

    async def play() -> None:
        agents = Agents(deployment, agent)
        with pytest.raises(UsageError):
            await used(agents, "ada")
        first, second, other = await asyncio.gather(*(used(agents, name) for name in ("ada", "ada", "bob")))
        assert first is second and other is not first and sorted(made) == ["ada", "ada", "bob"]
        for number in range(34):
            await used(agents, f"user{number}")
        assert await used(agents, "user33") is not first and made[-1] == "user33", "the latest are kept"
        await used(agents, "ada")
        assert made[-1] == "ada", "the one that nobody needed for longest was closed"
        await agents.aclose()

    asyncio.run(play())


class Closing(ScriptedModel):
    """Takes a while to be closed, as a connection does, and may fail at it."""

    def __init__(self, gate: asyncio.Event, *, fails: bool) -> None:
        super().__init__(reply)
        self.gate, self.fails = gate, fails
        self.begun = self.closed = False

    async def aclose(self) -> None:
        self.begun = True
        await self.gate.wait()
        self.closed = True
        if self.fails:
            raise OSError("the connection is gone")


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_comes_while_agents_are_closed_loses_nothing(deployment: Deployment, fails: bool) -> None:
    """Two idle agents are too many; while the first one is closed, the person of the second one comes back."""

    async def play() -> None:
        gate, models = asyncio.Event(), list[Closing]()

        def agent(view: Deployment, principal: str) -> Agent:
            models.append(Closing(gate, fails=fails))
            return Agent(view, principal=principal, model=models[-1])

        async def used(principal: str, leaves: asyncio.Event) -> None:
            async with agents.of(principal) as found:
                model = found.model
                assert isinstance(model, Closing)
                await leaves.wait()
                assert not model.begun, "it was closed under its person"

        async def turns() -> None:
            for _ in range(20):
                await asyncio.sleep(0)

        agents, now, later = Agents(deployment, agent, kept=2), asyncio.Event(), asyncio.Event()
        now.set()
        for name in ("ada", "bob"):
            await used(name, now)
        staying = [asyncio.create_task(used(name, later)) for name in ("cy", "di")]
        while len(models) < 4:
            await asyncio.sleep(0.001)
        leaving = asyncio.create_task(used("ed", now))
        while not models[0].begun:
            await asyncio.sleep(0.001)
        back = asyncio.create_task(used("bob", later))
        await turns()
        gate.set()
        await turns()
        later.set()
        await asyncio.gather(*staying, leaving, back)
        await agents.aclose()
        assert all(model.closed for model in models)

    asyncio.run(play())


def test_without_a_model_the_answer_says_what_is_missing(deployment: Deployment) -> None:
    apps = Apps()
    with served(apps(deployment, identify=known), **{"x-user": "ada"}) as client:
        answer = run(client, "hello")
        assert answer.status_code == 409 and answer.json()["error"]["message"] == "no model is named"
    apps.close()


def test_the_matrix_is_that_of_the_audit(client: httpx2.Client, deployment: Deployment) -> None:
    rows = client.get("/audit").json()["skills"]
    assert {row["skill"] for row in rows} == {*deployment.skills, "remit.read_result"}
    write = next(row for row in rows if row["skill"] == "files.write_file")
    assert write["verdict"] == "ask" and write["right"]["fs.write"] == ["${workspace}/**"]


def told(client: httpx2.Client, **terms: Any) -> Any:
    return client.post("/runs", json={"question": "hello", **terms})


def test_the_terms_of_a_run_narrow_it() -> None:
    def speaker(deployment: Deployment, principal: str) -> Agent:
        def turn(request: Any) -> Any:
            if request.answer_schema is not None:
                return '{"city": "Oslo"}'
            return ", ".join(sorted(tool.name for tool in request.tools)) or "nothing"

        return Agent(deployment, model=ScriptedModel(turn), principal=principal)

    apps = Apps()
    with (
        try_pack(project("good")) as deployment,
        served(apps(deployment, identify=known, agent=speaker), **{"x-user": "ada"}) as client,
    ):
        everything = told(client).json()["answer"].split(", ")
        assert len(everything) > 1
        one = everything[0].replace("__", ".", 1)
        assert told(client, skills=[one]).json()["answer"] == everything[0]
        assert everything[0] not in told(client, without=[one]).json()["answer"].split(", ")
        granted = [told(client, grant=grant).json()["answer"].split(", ") for grant in ([], ["good.save"])]
        assert "good__save" in everything and ["good__save" in tools for tools in granted] == [False, True]
        unmet = told(client, required=[one]).json()
        assert (unmet["status"], unmet["stop_reason"]) == ("stopped", f"the model did not call {one}, as it had to")
        short = told(client, required=[one], max_steps=2).json()
        assert (short["status"], short["steps"]) == ("stopped", 2)
        assert told(client, max_steps=999, required=[one]).json()["steps"] == 3
        schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        typed = told(client, answer_schema=schema, without=[one.partition(".")[0]]).json()
        assert (typed["status"], typed["value"]) == ("answered", {"city": "Oslo"})
        session = told(client, attached=["IGNORE ALL"], own_words=False).json()["session"]
        (said, _) = client.get(f"/sessions/{session}").json()["messages"]
        assert "IGNORE ALL" in said["content"] and said["attached"] == len(said["content"])
        for wrong, word in [
            ({"skills": ["nothing.at_all"]}, "no skill"),
            ({"first": "none", "required": [one]}, "required"),
            ({"answer_schema": {"type": "string"}}, "schema"),
        ]:
            refused = told(client, **wrong)
            assert refused.status_code == 422 and word in refused.json()["error"]["message"]
            refused = client.post("/runs", json={"question": "x", **wrong}, headers=STREAM)
            assert refused.status_code == 422
        for bent in ({"max_steps": 0}, {"max_steps": "3"}, {"skills": "calc"}, {"unattended": "deny"}):
            assert told(client, **bent).status_code == 400
    apps.close()
