"""Images for models: checked by their bytes, capped, given to those that take them, and gone without a trace."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent import Agent
from remit.errors import UsageError
from remit.local_skills import skill
from remit.loop.sight import images_of, keep_image
from remit.models import pictures
from remit.models.behaviour import Behaviour
from remit.models.estimate import estimated, picture_tokens
from remit.models.openai import IMAGES_OF, OpenAIModel
from remit.models.pictures import MEDIA_TYPES, picture, with_pictures
from remit.models.protocol import Message, ModelReply, ModelRequest, Picture
from remit.models.scripted import ScriptedModel
from remit.values import Result
from tests.extension_parts import make_place
from tests.in_process import remit
from tests.model_server import Play, calls, serve, text


def png(width: int = 2, height: int = 3) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\x00\x00\x00"


def jpeg(width: int, height: int) -> bytes:
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03"
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\x00" * 9 + b"\xff\xff\xfe\x00\x04ab" + frame


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + struct.pack("<I", len(rest)) + rest


IMAGES = {
    "png": ("image/png", png(2, 3)),
    "gif": ("image/gif", b"GIF89a" + struct.pack("<HH", 2, 3)),
    "jpeg": ("image/jpeg", jpeg(2, 3)),
    "webp lossy": ("image/webp", webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 2, 3))),
    "webp lossless": ("image/webp", webp(b"VP8L", b"\x2f" + struct.pack("<I", 1 | 2 << 14))),
    "webp extended": ("image/webp", webp(b"VP8X", b"\x00" * 4 + b"\x01\x00\x00" + b"\x02\x00\x00")),
}


@pytest.mark.parametrize(("kind", "data"), IMAGES.values(), ids=[*IMAGES])
def test_the_size_is_in_the_header(kind: str, data: bytes) -> None:
    found = picture(kind, data)
    assert found is not None and (found.width, found.height) == (2, 3)
    for other in set(MEDIA_TYPES) - {kind}:
        assert picture(other, data) is None, "the bytes are not what is said of them"
    for end in range(len(data)):
        cut = picture(kind, data[:end])
        assert cut is None or (cut.width, cut.height) == (2, 3)


def test_what_is_too_large_or_no_image_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert picture("image/png", png(8000, 5000)) is not None
    for width, height in ((0, 3), (8001, 3), (8000, 8000)):
        assert picture("image/png", png(width, height)) is None
    assert picture("image/svg+xml", b"<svg/>") is None and picture("text/html", png()) is None
    assert picture("image/png", b"") is None
    monkeypatch.setattr(pictures, "LARGEST", 20)
    assert picture("image/png", png()) is None


@given(kind=st.sampled_from(MEDIA_TYPES), head=st.sampled_from([*IMAGES.values()]), rest=st.binary(max_size=60))
def test_no_bytes_raise(kind: str, head: tuple[str, bytes], rest: bytes) -> None:
    for data in (rest, head[1][:12] + rest, b"\xff\xd8\xff" + rest):
        found = picture(kind, data)
        assert found is None or (0 < found.width <= 8000 and 0 < found.height <= 8000)


def test_a_message_keeps_handles_and_what_goes_back() -> None:
    message = Message(role="assistant", content="x", carry='{"anthropic": "m"}', images=("r-1", "r-2"))
    kept = json.loads(json.dumps(message.to_json()))
    assert Message.from_json(kept) == message and b"r-1" not in message.wire and b"anthropic" not in message.wire


def shown(*handles: tuple[str, ...]) -> ModelRequest:
    return ModelRequest(messages=tuple(Message(role="tool", content="x", images=one) for one in handles))


def test_the_latest_images_count_and_those_that_are_gone_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {f"r-{n}": ("image/png", png()) for n in range(20)}
    request = shown(("r-0", "r-1"), tuple(f"r-{n}" for n in range(2, 10)), ("r-gone", "r-10"))
    chosen = with_pictures(request, there.get).pictures
    assert [*chosen] == ["r-10", *(f"r-{n}" for n in range(9, 2, -1))] and len(chosen) == pictures.MOST
    monkeypatch.setattr(pictures, "LARGEST_SUM", 2 * len(png()))
    assert [*with_pictures(request, there.get).pictures] == ["r-10", "r-9"]
    assert with_pictures(request, lambda _: None) is request
    known: dict[str, Picture] = {}
    first = with_pictures(request, there.get, known).pictures
    again = with_pictures(request, lambda _: None, known).pictures
    assert again == first and all(again[handle] is first[handle] for handle in first), "bytes are read once a run"


def test_images_count_as_tokens() -> None:
    def asked(**options: Any) -> int:
        count = estimated(ModelRequest(messages=(), **options), ModelReply()).input_tokens
        assert count is not None
        return count

    one = Picture(media_type="image/png", data=png(), width=1500, height=1000)
    assert picture_tokens(one) == 2000 and asked(pictures={"r": one}) == asked() + 2000
    assert picture_tokens(Picture(media_type="image/png", data=png(), width=1, height=1)) == 85
    assert picture_tokens(Picture(media_type="image/png", data=png(), width=8000, height=5000)) == 5000


def test_only_what_the_model_is_told_of_is_shown() -> None:
    blobs = (("r-1", "image/png", 3), ("r-2", "image/png", 3), ("r-3", "application/pdf", 3), ("r-4", "text/csv", 1))
    result = Result(call="c", skill="s", status="ok", text="kept as r-1, r-3 and r-4", blobs=blobs)
    assert images_of(result) == ("r-1", "r-3")


def test_a_text_dialect_shows_images_with_the_result() -> None:
    @skill(effect="read")
    def draw(n: int) -> bytes:
        """Draw."""
        return png()

    call = '<tool_call>{"name": "local__draw", "arguments": {"n": 1}}</tool_call>'
    with serve([text(call), text("done")]) as server:
        model = OpenAIModel("m", base_url=server.base_url, behaviour=Behaviour(images=True))
        with Agent(model=model, skills=[draw], dialect="tagged") as agent:
            assert agent.run("go").answer == "done"
    words, image = server.bodies[1]["messages"][-1]["content"]
    assert "kept as r-" in words["text"] and image["image_url"]["url"].startswith("data:image/png;base64,")


def run_with(behaviour: Behaviour, made: Callable[[], bytes], *, erase: bool = False) -> list[Any]:
    """Return the messages of the last request of a run whose skill makes bytes, twice."""

    @skill(effect="read")
    def draw(n: int) -> bytes:
        """Draw."""
        return made()

    draws = [calls(("local__draw", {"n": 1}), ("local__draw", {"n": 2})), text("done"), text("again")]
    with serve(draws) as server:
        model = OpenAIModel("m", base_url=server.base_url, behaviour=behaviour)
        with Agent(model=model, skills=[draw]) as agent:
            agent.run("go", session="s")
            if erase:
                agent.state.database.write(lambda connection: connection.execute("DELETE FROM blobs"))
            agent.run("and now?", session="s")
    return list(server.bodies[-1]["messages"])


def test_a_model_that_takes_images_gets_them_behind_the_results_of_the_round() -> None:
    messages = run_with(Behaviour(images=True), png)
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "tool", "user", "assistant", "user",
    ]  # fmt: skip
    head, *images = messages[5]["content"]
    assert head == {"type": "text", "text": IMAGES_OF} and len(images) == 2
    assert images[0]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert "kept as r-" in messages[3]["content"]


@pytest.mark.parametrize(
    ("behaviour", "made", "erase"),
    [
        (Behaviour(), png, False),
        (Behaviour(images=False), png, False),
        (Behaviour(images=True), lambda: b"\x89PNG\r\n\x1a\n not really", False),
        (Behaviour(images=True), png, True),
    ],
    ids=["unknown", "takes none", "no image", "erased"],
)
def test_any_other_gets_the_text_alone(behaviour: Behaviour, made: Callable[[], bytes], erase: bool) -> None:
    messages = run_with(behaviour, made, erase=erase)
    assert [message["role"] for message in messages].count("user") == 2
    assert all(isinstance(message["content"], str | None) for message in messages)
    assert "kept as r-" in messages[3]["content"]


def test_images_that_a_person_sends_stand_in_their_own_message() -> None:
    message = Message(role="user", content="What is this?", images=("r-1",))
    request = ModelRequest(
        messages=(message,), pictures={"r-1": Picture(media_type="image/png", data=b"x", width=1, height=1)}
    )

    async def run(url: str) -> None:
        model = OpenAIModel("m", base_url=url)
        await model.complete(request)
        await model.aclose()

    with serve([Play(message={"role": "assistant", "content": "ok"})]) as server:
        asyncio.run(run(server.base_url))
    (sent,) = server.bodies[0]["messages"]
    assert [part["type"] for part in sent["content"]] == ["text", "image_url"]


@pytest.mark.parametrize("images", [True, False])
def test_a_file_that_a_person_attaches(images: bool, tmp_path: Path) -> None:
    place = make_place(tmp_path)
    (place.folder / "shot.png").write_bytes(png())
    (place.folder / "note.txt").write_text("a note")
    with serve([text("two by three")]) as server:
        behaviour = "behaviour = { images = true }\n" if images else ""
        place.edit("[model]", f'[model]\nname = "m"\nbase_url = "{server.base_url}"\n{behaviour}')
        ran = remit("run", "What is this?", "--attach", "note.txt", "--attach", "shot.png", folder=place.folder)
    sent = server.bodies[0]["messages"][1]["content"]
    words = sent[0]["text"] if images else sent
    assert "a note" in words and "(image/png, 29 bytes, kept as r-" in words and "two by three" in ran.out
    assert [part["type"] for part in sent] == ["text", "image_url"] if images else isinstance(sent, str)
    assert ("is not known to take images" in ran.err) is not images


@pytest.mark.parametrize("sees", [True, False])
def test_a_program_sends_an_image_and_every_model_is_told_of_it(sees: bool) -> None:
    class Model(ScriptedModel):
        images = sees

    model = Model([lambda request: f"{request.messages[-1].content} {len(request.pictures)}"])
    with Agent(model=model) as agent:
        handle = keep_image(agent.state, "s1", "image/png", png())
        answer = agent.run("See?", session="s1", images=[handle]).answer
    assert answer.startswith("See?") and f"(image/png, 29 bytes, kept as {handle})" in answer
    assert answer.endswith(f" {int(sees)}")


def test_what_is_no_image_of_the_session_is_refused() -> None:
    with Agent(model=ScriptedModel(["Yes."] * 2)) as agent:
        elsewhere = keep_image(agent.state, "other", "image/png", png())
        words = agent.state.put_blob(b"words", "text/plain", session="s1")
        for one in ("r-nope", elsewhere, words):
            with pytest.raises(UsageError, match="is no image or document that session s1 keeps") as refused:
                agent.run("See?", session="s1", images=[one])
            assert "keep_image(agent.state" in refused.value.remedy
        for images in ([png()], png(), [7]):
            with pytest.raises(UsageError, match=r"takes handles of images, not (bytes|int)"):
                agent.run("See?", session="s1", images=images)  # type: ignore[arg-type]
        assert agent.state.load_session("s1") is None
        own = keep_image(agent.state, "s1", "image/png", png())
        assert agent.run("See?", session="s1", images=[own]).answer == "Yes."


def test_a_file_that_is_neither_text_nor_an_image(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.edit("[model]", '[model]\nname = "m"\nbase_url = "http://127.0.0.1:9"\n')
    for data, words in (
        (b"\x00\xff", "neither text in UTF-8 nor an image"),
        (png(9000, 9000), "no image/png that a model"),
    ):
        (place.folder / "file").write_bytes(data)
        ran = remit("run", "What is this?", "--attach", "file", folder=place.folder, expect=2)
        assert words in ran.err
