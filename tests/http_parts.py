"""Parts for tests of `remit.http`: a deployment, an agent that needs no endpoint, servers on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2

from remit import Agent, Deployment
from remit.cli.main import run
from remit.http import App, create_app
from remit.http.listening import listen
from remit.http.server import new_server
from remit.models.protocol import ModelDelta, ModelReply, ModelRequest, OnDelta
from remit.models.scripted import ScriptedModel, ask
from remit.state.store import State
from remit_sandbox.signoff import Action, SignoffRequest

RULES = """
[[rule]]
id = "moving"
verdict = "ask-apart"
match = { skill = "files.move_file" }
reason = "Moving is signed by somebody else"
"""


@contextmanager
def opened(place: Path, *, packs: str = "files", rules: str = RULES) -> Iterator[Deployment]:
    """Yield an open deployment in `place` with these packs, a file `old.txt`, and a state of its own."""
    folder = place / "deployment"
    folder.mkdir(exist_ok=True)
    with mock.patch.dict(os.environ, {"REMIT_STATE": str(place / "state")}):
        enabled = ["--packs", packs] if packs else []
        assert run(["init", "--yes", "--enforcement", "available", *enabled, "-C", str(folder)]) == 0
        with (folder / "remit.toml").open("a") as file:
            file.write(rules)
        if rules:
            assert run(["trust", "--yes", "-C", str(folder)]) == 0
        (folder / "workspace" / "old.txt").write_text("old")
        with Deployment.open(folder, principal="person") as deployment:
            yield deployment


def reply(request: ModelRequest) -> Any:
    """Write or move a file when a person says so, then say what came of it."""
    last = request.messages[-1]
    word, _, rest = last.content.partition(" ")
    if last.role == "tool":
        return f"It says: {last.content}"
    if word == "write":
        return ask("files.write_file", path=rest, content="hello")
    if word == "move":
        return ask("files.move_file", source="old.txt", destination=rest)
    if word == "two":
        return [ask("files.write_file", path=f"{rest}-{number}.txt", content="x") for number in (1, 2)]
    return f"You said: {last.content}"


class SlowModel(ScriptedModel):
    """Says a word every 20 ms for a long time, and remembers that it was cut off."""

    def __init__(self) -> None:
        super().__init__(reply)
        self.begun = threading.Semaphore(0)
        self.cancelled = threading.Event()

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        self.begun.release()
        try:
            for _ in range(1_500):
                if on_delta is not None:
                    on_delta(ModelDelta(kind="text", text="word "))
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await super().complete(request, on_delta=on_delta)


def scripted(deployment: Deployment, principal: str) -> Agent:
    """Make an agent that needs no endpoint."""
    return Agent(deployment, principal=principal, model=ScriptedModel(reply))


@contextmanager
def served(app: App, **headers: str) -> Iterator[httpx2.Client]:
    """Serve an app on a free port of this machine, and yield a client of it."""
    listening = listen("127.0.0.1", 0, others=False)
    server = new_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", headers=headers, timeout=30, trust_env=False
        ) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def bearer(token: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"authorization": f"Bearer {token}"}


def events(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    """Yield the data of each server-sent event, checking its form."""
    name, number = "", 0
    for line in response.iter_lines():
        key, _, value = line.partition(": ")
        if key == "event":
            name = value
        elif key == "id":
            number += 1
            assert value == str(number)
        elif key == "data":
            body = json.loads(value)
            assert name == body.get("event", "error")
            yield body


def asked(
    app: App, method: str, path: str, *, address: str = "127.0.0.1", host: str = "127.0.0.1:8080", **options: Any
) -> httpx2.Response:
    """Send one request to an app without a server, from any address under any name."""

    async def send() -> httpx2.Response:
        transport = httpx2.ASGITransport(app, client=(address, 40_000), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


def pending(
    deployment: Deployment, who: str, *, arguments: dict[str, Any] | None = None, **options: Any
) -> SignoffRequest:
    """Put a question into the state, as a parked run leaves it."""
    action = Action(
        skill="files.write_file",
        version="0.1.0",
        skill_hash="hash",
        arguments=arguments or {"path": "a.txt", "content": "x"},
        session="parked",
        principal=who,
        policy="policy",
    )
    request = SignoffRequest(action=action, reason="writes are asked", source="default write", **options)
    with State(deployment.state_folder) as state:
        state.put_signoff(request, call="c1")
    return request


class Apps:
    """Makes apps, and closes them at the end."""

    def __init__(self) -> None:
        self.made: list[App] = []

    def __call__(self, deployment: Deployment, **options: Any) -> App:
        self.made.append(create_app(deployment, **{"anyone_here": True, **options}))
        return self.made[-1]

    def close(self) -> None:
        for app in self.made:
            asyncio.run(app.aclose())
