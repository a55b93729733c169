"""The comparison with other frameworks and the task of five steps, as far as they run without either."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import five_steps, frameworks, instant

from tests import model_server


def asked(model: str, results: int, **body: Any) -> bytes:
    messages = [{"role": "tool", "tool_call_id": str(number), "content": "1"} for number in range(results)]
    tools = [{"type": "function", "function": {"name": "calc__evaluate"}}]
    return json.dumps({"model": model, "messages": messages, "tools": tools, **body}).encode()


def reply(request: bytes) -> Any:
    head, _, body = instant.answer(request).partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    return json.loads(body)


def test_the_endpoint_goes_by_the_request_alone() -> None:
    first, last = reply(asked("tool-3", 0)), reply(asked("tool-3", 2))
    (call,) = first["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], first["choices"][0]["finish_reason"]) == ("calc__evaluate", "tool_calls")
    assert last["choices"][0]["message"] == {"role": "assistant", "content": instant.ANSWER}
    observed = reply(b'{"model":"observed-1","messages":[]}')
    assert observed["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "final_answer"


def test_the_endpoint_streams_the_same() -> None:
    body = instant.answer(asked("tool-1", 0, stream=True)).partition(b"\r\n\r\n")[2].decode()
    chunks = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line.startswith("data: {")]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas).strip() == instant.ANSWER
    assert body.endswith("data: [DONE]\n\n")


def test_contenders_answer_and_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(frameworks, "RESULTS", tmp_path)
    monkeypatch.setattr(frameworks, "LENGTHS", (2, 20, 3))
    monkeypatch.setattr(frameworks, "SESSIONS", 3)
    monkeypatch.setattr(frameworks, "table", lambda rows: "")
    frameworks.main(["--only", "raw httpx2", "remit, function", "--rounds", "1"])
    body = json.loads((tmp_path / "frameworks.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in body["rows"]}
    assert set(rows) == {"raw httpx2", "remit, function"}
    for row in rows.values():
        assert set(row["step"]) == {"2", "20", "3"} and all(seconds > 0 for seconds in row["step"].values())
        assert row["first"] > 0 and row["together"] > 0 and row["base memory"] > 1_000_000


RIGHT = (
    ("calc__evaluate", {"expression": "23 * 19"}, "437"),
    ("calc__evaluate", {"expression": "437 + 163"}, "600"),
    ("calc__convert", {"amount": "600", "unit": "km", "to": "miles"}, "372.82 miles"),
    ("weather__get_weather", {"city": "Madrid"}, ""),
    ("files__write_file", {"path": five_steps.FILE, "content": "600"}, f"written to {five_steps.FILE}"),
)


def able(body: dict[str, Any]) -> model_server.Play:
    """A model that does one step after the other, and tells what came of it."""
    done = [message for message in body["messages"] if message["role"] == "tool"]
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    step = len(RIGHT) if asked[0].startswith("Do these five") else len(asked) - 1
    if len(done) <= min(step, len(RIGHT) - 1):
        return model_server.calls(RIGHT[len(done)][:2])
    warm = re.search(r"-?\d+\.\d", "".join(str(message["content"]) for message in done[3:4]))
    told = [says or (warm[0] if warm else "") for _, _, says in RIGHT]
    return model_server.text(", ".join(told) if step == len(RIGHT) else told[step])


def test_five_steps_through_the_real_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMIT_STATE", str(tmp_path))
    out = tmp_path / "out.json"
    with model_server.serve(able) as server:
        options = ["--base-url", server.base_url, "--model", "m", "--dialect", "native", "--json", str(out)]
        assert five_steps.main(options) == 0
    turns, one = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert turns["done"] == one["done"] == [True] * 5, capsys.readouterr().out
    assert (turns["told"], one["told"]) == (5, 5)
    assert [len(row["asked"]) for row in (turns, one)] == [1, 1]


def test_words_alone_are_no_step(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / five_steps.FILE).write_text("600", encoding="utf-8")
    assert not any(five_steps._done(step, (), tmp_path) for step in five_steps.STEPS)
