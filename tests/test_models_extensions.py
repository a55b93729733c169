"""The first-party model providers, built, installed, enabled and locked like anybody's, in whole runs."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from remit.agent import Agent
from remit.local_skills import skill
from tests.extension_parts import Place, make_place
from tests.model_server import Play, serve
from tests.packaging import build_wheel

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x03"


@skill(effect="read")
def chart(kind: str) -> bytes:
    """Draw a chart."""
    return PNG


ANTHROPIC: list[dict[str, Any]] = [
    {
        "type": "message",
        "model": "claude-test",
        "content": [
            {"type": "thinking", "thinking": "Draw.", "signature": "c2ln"},
            {"type": "tool_use", "id": "toolu_1", "name": "local__chart", "input": {"kind": "bar"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    {
        "type": "message",
        "model": "claude-test",
        "content": [{"type": "text", "text": "A bar."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
]


def candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    usage = {"promptTokenCount": 2, "candidatesTokenCount": 3}
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": "STOP"}], "usageMetadata": usage}


CALL = {"id": "f1", "name": "local__chart", "args": {"kind": "bar"}}
GOOGLE = [candidate({"functionCall": CALL, "thoughtSignature": "c2ln"}), candidate({"text": "A bar."})]


def place_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, base_url: str) -> Place:
    """A deployment whose model comes from the extension `name`, installed from its wheel."""
    place = make_place(tmp_path)
    for module in [module for module in sys.modules if module.partition(".")[0] == f"remit_{name}"]:
        monkeypatch.delitem(sys.modules, module)
    with zipfile.ZipFile(build_wheel(f"remit-{name}")) as wheel:
        wheel.extractall(place.site)
    model = f'[model]\nprovider = "{name}"\nname = "x-test"\nbase_url = "{base_url}"\n'
    place.edit("[model]", '[host_skills]\nallow = ["local.chart"]\n' + model)
    place.enable(name)
    return place


def test_the_messages_api_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve([Play(body=json.dumps(body).encode()) for body in ANTHROPIC]) as server:
        place = place_with(tmp_path, monkeypatch, "anthropic", server.base_url)
        with place.open() as deployment, Agent(deployment, skills=[chart]) as agent:
            result = agent.run("Draw a bar")
            saved = agent.state.load_session(result.session)
    assert (result.answer, result.usage.total_tokens) == ("A bar.", 10), result
    _, said, told = server.bodies[1]["messages"]
    assert [block["type"] for block in said["content"]] == ["thinking", "tool_use"]
    assert said["content"][0] == ANTHROPIC[0]["content"][0]
    text, image = told["content"][0]["content"]
    assert "image/png, 24 bytes, kept as r-" in text["text"] and image["source"]["media_type"] == "image/png"
    assert saved is not None
    kept = json.dumps(saved.transcript)
    assert image["source"]["data"] not in kept and '"images"' in kept, "the transcript holds handles, no bytes"


def test_the_gemini_api_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve([Play(body=json.dumps(body).encode()) for body in GOOGLE]) as server:
        place = place_with(tmp_path, monkeypatch, "google", server.base_url)
        with place.open() as deployment, Agent(deployment, skills=[chart]) as agent:
            result = agent.run("Draw a bar")
    assert (result.answer, result.usage.total_tokens) == ("A bar.", 10), result
    _, said, told = server.bodies[1]["contents"]
    assert said["parts"] == GOOGLE[0]["candidates"][0]["content"]["parts"]
    response = told["parts"][0]["functionResponse"]
    assert response["id"] == "f1" and response["parts"][0]["inlineData"]["mimeType"] == "image/png"


def test_a_provider_that_changed_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_with(tmp_path, monkeypatch, "anthropic", "http://127.0.0.1:9")
    file = place.site / "remit_anthropic" / "writing.py"
    file.write_text(file.read_text() + "# changed\n")
    with place.open() as deployment:
        assert "anthropic" not in deployment.extensions.loaded
        assert any("anthropic" in str(problem) for problem in deployment.extensions.problems)
