"""Images and documents that come with a question over HTTP."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remit import Agent, Deployment, ScriptedModel
from remit.http import App, Rates, bodies
from remit.models.protocol import ModelRequest
from remit.state.store import State
from tests.http_parts import Apps, opened, served
from tests.test_http_runs import known
from tests.test_models_pictures import png

PNG = b64encode(png()).decode()
FOLDERS: dict[httpx2.Client, Path] = {}


class Looking(ScriptedModel):
    images = documents = True


def seen(request: ModelRequest) -> str:
    pictures = [(one.media_type, one.data == png()) for one in request.pictures.values()]
    return f"{pictures} {[one.media_type for one in request.documents.values()]}"


def looking(deployment: Deployment, principal: str) -> Agent:
    return Agent(deployment, principal=principal, model=Looking(seen))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    apps = Apps()
    with opened(tmp_path_factory.mktemp("images"), rules="") as deployment:
        with served(apps(deployment, identify=known, agent=looking), **{"x-user": "ada"}) as found:
            FOLDERS[found] = deployment.state_folder
            yield found
        apps.close()


def ask(client: httpx2.Client, *images: Any, **more: Any) -> httpx2.Response:
    headers = {"x-user": more.pop("who", "ada")}
    return client.post("/runs", json={"question": "What is it?", "images": images, **more}, headers=headers)


def test_an_image_is_sent_along_and_named_again_by_its_handle(client: httpx2.Client) -> None:
    paper = {"media_type": "application/pdf", "data": b64encode(b"%PDF-1.7").decode()}
    first = ask(client, {"media_type": "image/png", "data": PNG}, paper).json()
    assert first["answer"] == "[('image/png', True)] ['application/pdf']"
    asked = client.get(f"/sessions/{first['session']}").json()["messages"][0]
    assert "(image/png, 29 bytes, kept as r-" in asked["content"]
    handle = asked["content"].partition("kept as ")[2].partition(")")[0]
    again = ask(client, handle, session=first["session"])
    assert again.status_code == 200 and again.json()["answer"].startswith("[('image/png', True)]")
    theirs = ask(client, handle, who="bob")
    assert theirs.status_code == 422 and "is no image or document that session" in theirs.json()["error"]["message"]


@pytest.mark.parametrize("other", [{"media_type": "image/png", "data": "AAAA"}, "r-000000000000"])
def test_nothing_is_kept_of_a_question_that_is_refused(client: httpx2.Client, other: Any) -> None:
    before = kept(client)
    assert ask(client, {"media_type": "image/png", "data": PNG}, other).status_code == 422
    assert kept(client) == before
    assert ask(client, {"media_type": "image/png", "data": PNG}).status_code == 200
    assert kept(client) == before + 1, "the control"


def kept(client: httpx2.Client) -> int:
    """How many images and documents the state of the deployment holds."""
    with State(FOLDERS[client]) as state:
        return int(state.database.read(lambda c: c.execute("SELECT count(*) FROM blobs").fetchone())[0])


@pytest.mark.parametrize(
    ("image", "status", "words"),
    [
        ({"media_type": "image/png", "data": "%%%"}, 400, "as base64"),
        ({"media_type": "image/png", "data": b64encode(b"no image").decode()}, 422, "these bytes are no image/png"),
        ({"media_type": "text/html", "data": PNG}, 422, "these bytes are no text/html"),
        ({"media_type": "image/png", "data": PNG, "name": "x"}, 400, "no such field"),
        (7, 400, "images"),
    ],
)
def test_what_is_no_image_is_refused_in_words(client: httpx2.Client, image: Any, status: int, words: str) -> None:
    answer = ask(client, image)
    assert answer.status_code == status and words in answer.text
    assert client.get("/sessions").status_code == 200


def test_size_and_number_are_bounded(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"media_type": "image/png", "data": PNG}
    assert ask(client, *[one] * bodies.MOST_FILES).status_code == 200
    assert ask(client, *[one] * (bodies.MOST_FILES + 1)).status_code == 400
    large = b64encode(png() + bytes(300_000)).decode()
    assert ask(client, {"media_type": "image/png", "data": large}).status_code == 200
    monkeypatch.setattr(bodies.RunBody, "largest", 300_000)
    assert ask(client, {"media_type": "image/png", "data": large}).status_code == 413


def test_a_body_that_is_on_its_way_takes_the_place_of_a_run(tmp_path: Path) -> None:
    apps, statuses = Apps(), []

    async def both(app: App) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            begun.set()
            await ended.wait()
            yield json.dumps({"question": "What is it?"}).encode()

        async def post(**options: Any) -> None:
            headers = {"x-user": "ada", "content-type": "application/json"}
            statuses.append((await client.post("/runs", headers=headers, **options)).status_code)

        transport = httpx2.ASGITransport(app, client=("127.0.0.1", 40_000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            first = asyncio.create_task(post(content=slowly()))
            await begun.wait()
            await post(json={"question": "What is it?"})
            ended.set()
            await first
            await post(json={"question": "What is it?"})

    with opened(tmp_path, packs="", rules="") as deployment:
        asyncio.run(both(apps(deployment, identify=known, agent=looking, rates=Rates(runs=1))))
        apps.close()
    assert statuses == [429, 200, 200]
