"""PDF documents: shown to models that take them, told of to all others."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from remit import Agent, ScriptedModel
from remit.loop.sight import keep_image
from remit.models import documents, pictures
from remit.models.behaviour import behaviour_of
from remit.models.documents import TOKENS_OF_PAGE, document, document_tokens
from remit.models.openai import FILES_OF, IMAGES_OF, OpenAIModel
from remit.models.pictures import media_type_of, with_pictures
from remit.models.protocol import Document, Message, ModelRequest, ToolCall
from tests import model_server
from tests.test_models_pictures import png

PDF = b"%PDF-1.7 /Type /Pages /Type /Page /Type/Page%%EOF"


def test_a_document_is_known_by_its_first_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert document("application/pdf", PDF) == Document(media_type="application/pdf", data=PDF)
    assert document("application/pdf", b"<html>") is None and document("text/html", PDF) is None
    assert media_type_of(PDF) == "application/pdf"
    monkeypatch.setattr(documents, "LARGEST", 10)
    assert document("application/pdf", PDF) is None


def test_its_tokens_follow_from_its_pages() -> None:
    def tokens(data: bytes) -> int:
        return document_tokens(Document(media_type="application/pdf", data=data)) // TOKENS_OF_PAGE

    assert (tokens(PDF), tokens(b"%PDF-" + bytes(120_000)), tokens(b"%PDF-" + b"/Type/Page" * 2000)) == (2, 3, 1000)


def test_the_latest_documents_count_beside_the_latest_images(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {f"r-{n}": ("application/pdf", PDF) if n % 2 else ("image/png", png()) for n in range(30)}
    message = Message(role="tool", content="x", images=tuple(there))
    both = with_pictures(ModelRequest(messages=(message,)), there.get, documents=True)
    assert [*both.documents] == ["r-29", "r-27", "r-25", "r-23"] and len(both.pictures) == pictures.MOST
    alone = with_pictures(ModelRequest(messages=(message,)), there.get, images=False, documents=True)
    assert len(alone.documents) == documents.MOST and not alone.pictures
    assert not with_pictures(ModelRequest(messages=(message,)), there.get).documents
    monkeypatch.setattr(pictures, "LARGEST_SUM", len(PDF))
    assert [*with_pictures(ModelRequest(messages=(message,)), there.get, documents=True).documents] == ["r-29"]


@pytest.mark.parametrize(("images", "about"), [(("r-1",), FILES_OF), (("r-1", "r-2"), FILES_OF), (("r-2",), IMAGES_OF)])
def test_chat_completions_get_a_part_of_a_message_behind_the_results(images: tuple[str, ...], about: str) -> None:
    call = ToolCall(id="c1", name="t", arguments="{}")
    messages = (
        Message(role="user", content="Read it."),
        Message(role="assistant", calls=(call,)),
        Message(role="tool", call_id="c1", content="kept", images=images),
    )
    one = {"r-2": pictures.picture("image/png", png())} if "r-2" in images else {}
    paper = {"r-1": Document(media_type="application/pdf", data=b"%PDF-1.7")} if "r-1" in images else {}

    async def run() -> None:
        async with aclosing(OpenAIModel("m", base_url=server.base_url)) as model:
            await model.complete(ModelRequest(messages=messages, pictures=one, documents=paper))  # type: ignore[arg-type]

    with model_server.serve([model_server.text("ok")]) as server:
        asyncio.run(run())
    words, *files = server.bodies[0]["messages"][-1]["content"]
    assert words["text"] == about
    part = {"filename": "r-1.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}
    assert [one["type"] for one in files] == [{"r-1": "file", "r-2": "image_url"}[handle] for handle in images]
    assert "r-1" not in images or files[0]["file"] == part


@pytest.mark.parametrize("takes", [True, False])
def test_a_model_that_takes_documents_is_shown_them_and_any_other_is_told(takes: bool) -> None:
    class Reading(ScriptedModel):
        documents = takes

    model = Reading([lambda request: f"{request.messages[-1].content} {len(request.documents)}"])
    with Agent(model=model) as agent:
        handle = keep_image(agent.state, "s1", "application/pdf", PDF)
        answer = agent.run("Read it.", session="s1", images=[handle]).answer
    assert f"(application/pdf, {len(PDF)} bytes, kept as {handle})" in answer and answer.endswith(f" {int(takes)}")


@pytest.mark.parametrize(
    ("name", "takes"), [("gpt-5-mini", True), ("claude-haiku-4-5", True), ("gemini-3-pro", True), ("qwen3", None)]
)
def test_who_takes_documents_is_data(name: str, takes: bool | None) -> None:
    assert behaviour_of(name).documents is takes
    assert behaviour_of(name, {"documents": False}).documents is False


def test_the_cached_part_of_what_was_read_is_told() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 80}}
    with (
        model_server.serve([model_server.text("ok", usage=usage)]) as server,
        Agent(model=OpenAIModel("m", base_url=server.base_url)) as agent,
    ):
        result = agent.run("Hello")
        (turn,) = agent.state.records(event="turn.reply")
    assert (result.usage.input_tokens, result.usage.cached_tokens) == (100, 80)
    assert turn.body["cached_tokens"] == 80 and "cache_writes" not in turn.body
