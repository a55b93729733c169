"""A program that mounts Remit: its own pages, its own login, and `remit.http` below /agent.

    python -m examples.http

It needs no endpoint and opens no port: a scripted model stands in for one, and the program asks itself. Ada's run
wants to delete a file, which a person must sign; Grace looks at exactly what would run and approves; Ada goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from remit import Agent, Deployment, ScriptedModel
from remit.deployment.try_pack import try_pack
from remit.http import App, Identity, create_app
from remit.models.scripted import ask

PACK = Path(__file__).parents[2] / "plugins" / "remit-files"

LOGINS = {
    "cookie-of-ada": Identity(name="ada", roles=frozenset({"user"})),
    "cookie-of-grace": Identity(name="grace", roles=frozenset({"approver"})),
}


def identify(request: Request) -> Identity | None:
    """Say who it is by this program's own login. Pages of other origins are refused before this is asked."""
    return LOGINS.get(request.cookies.get("login", ""))


def agent(deployment: Deployment, principal: str) -> Agent:
    """Make the agent of one person; a real program names a model in `remit.toml` and leaves this out."""
    script = [ask("files.delete_file", path="old.txt"), "old.txt is gone."]
    return Agent(deployment, principal=principal, model=ScriptedModel(script), unattended="park")


async def home(_: Request) -> PlainTextResponse:
    """Show a page of the program itself."""
    return PlainTextResponse("the program's own page")


def program(remit: App) -> Starlette:
    """Return the whole program, which closes Remit's app when it ends."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await remit.aclose()

    return Starlette(routes=[Route("/", home), Mount("/agent", app=remit)], lifespan=lifespan)


async def main() -> None:
    """Ask, sign and go on."""
    with try_pack(PACK) as deployment:
        (deployment.workspace / "old.txt").write_text("old", encoding="utf-8")
        remit = create_app(deployment, identify=identify, agent=agent)
        transport = httpx2.ASGITransport(program(remit))

        def client(login: str) -> httpx2.AsyncClient:
            url = "http://desk.example"
            return httpx2.AsyncClient(transport=transport, base_url=url, cookies={"login": login})

        try:
            async with client("cookie-of-ada") as ada, client("cookie-of-grace") as grace:
                await played(ada, grace)
        finally:
            await remit.aclose()
        print((deployment.workspace / "old.txt").exists())


async def played(ada: httpx2.AsyncClient, grace: httpx2.AsyncClient) -> None:
    """Play both people."""
    print((await ada.get("/")).text)
    run = (await ada.post("/agent/runs", json={"question": "Delete old.txt."})).json()
    print(run["status"])
    (waiting,) = (await grace.get("/agent/signoffs")).json()["signoffs"]
    shown = (await grace.get(f"/agent/signoffs/{waiting['id']}")).json()
    print(shown["skill"], shown["shown"], shown["source"])
    decision = {"digest": shown["digest"], "answer": "once"}
    own = await ada.post(f"/agent/signoffs/{waiting['id']}/decision", json=decision)
    print(own.status_code, own.json()["error"]["message"])
    print((await grace.post(f"/agent/signoffs/{waiting['id']}/decision", json=decision)).json()["state"])
    print((await ada.post(f"/agent/sessions/{run['session']}/resume")).json()["answer"])


if __name__ == "__main__":
    asyncio.run(main())
