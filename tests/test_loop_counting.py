"""How tokens are counted, and what events say of the context."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.cli.steps import Steps
from remit.deployment.load import parse_config
from remit.errors import DeploymentError
from remit.loop.counting import AROUND, LEAST, MOST, Counting
from remit.loop.event_json import event_json
from remit.loop.events import Event, TurnStarted
from remit.loop.interpreter import Head
from remit.loop.native import NativeInterpreter
from remit.loop.tokenizer import tokenizer_of
from remit.models.estimate import tokens
from remit.models.protocol import Message, ModelReply, ToolCall, Usage
from remit.models.scripted import ScriptedModel
from tests.loop_parts import Functions, execute, new_run

TOKENIZER = {
    "version": "1.0",
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "hello": 1}, "unk_token": "[UNK]"},
}


class Words:
    """A tokenizer for which a word is a token; it says how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text.split())


def test_an_estimate_until_an_endpoint_says_more() -> None:
    counting, message = Counting(), Message(role="user", content="x" * 3000)
    assert counting.counted_by == "estimate" and counting.bare(message) == tokens(message)
    counting.learn(1000, None)
    counting.learn(100, 300)
    assert counting.counted_by == "estimate", "nobody said, or it was too little to say anything"
    counting.learn(1000, 700)
    assert counting.counted_by == "usage" and counting.right(1000) == 700 and counting.room(700) == 1000
    counting.learn(1000, 900)
    assert counting.right(1000) == 900, "the turn that took most counts"
    for _ in range(4):
        counting.learn(1000, 50)
    assert counting.ratio == LEAST, "an endpoint that leaves out what it cached is not believed"
    counting.learn(1000, 10**9)
    assert counting.ratio == MOST


def test_a_tokenizer_counts_each_message_once() -> None:
    words = Words()
    counting = Counting(words)
    call = Message(role="assistant", content="one two", calls=(ToolCall(name="x", arguments='{"a": 1}'),))
    assert [counting.bare(call) for _ in range(3)] == [AROUND + 2 + 1 + 2] * 3
    assert words.asked == 3 and counting.counted_by == "tokenizer"
    head = Head(messages=(Message(role="system", content="be kind"),))
    assert counting.bare_head(head) == counting.bare_head(head) == AROUND + 2
    assert words.asked == 4
    assert Counting().bare(call) == tokens(call), "another one counts for itself"
    seen = Message(role="tool", content="", images=("r-1",))
    assert counting.bare(seen) == AROUND and Counting(images=True).bare(seen) > 500, "where it is shown images"


def test_the_tokenizer_that_a_deployment_names(tmp_path: Path) -> None:
    assert tokenizer_of("", tmp_path) is None
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    found = tokenizer_of("file:tokenizer.json", tmp_path)
    assert found is not None and found.count("hello you there") == 3 and found.count("") == 0
    assert tokenizer_of("file:tokenizer.json", tmp_path) is found, "read once"
    (tmp_path / "bad.json").write_text("{}")
    for name in ("bad.json", "none.json"):
        with pytest.raises(DeploymentError, match="cannot be read"):
            tokenizer_of(f"file:{name}", tmp_path)


def test_a_tokenizer_is_a_file_or_nothing() -> None:
    path = Path("remit.toml")
    assert parse_config('policy = 1\n[model]\ntokenizer = "file:t.json"\n', path).model.tokenizer == "file:t.json"
    with pytest.raises(DeploymentError, match="tokenizer"):
        parse_config('policy = 1\n[model]\ntokenizer = "gpt2"\n', path)


def test_events_say_what_the_context_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(tokens: int) -> ModelReply:
        return ModelReply(text="fine, go on", usage=Usage(input_tokens=tokens, output_tokens=4))

    events: list[Event] = []
    model = ScriptedModel([said(900), said(910)])
    old = [Message(role="user", content=f"{number} " + "x" * 600) for number in range(6)]
    caller = Functions(look=lambda: "x", effect="read")
    spoken = NativeInterpreter(caller.skills, context=2_000)
    run = new_run(model, caller, tmp_path, messages=old, events=events, context=2_000, interpreter=spoken)
    execute(run, "first")
    (turn,) = [event for event in events if isinstance(event, TurnStarted)]
    assert (turn.context, turn.room, turn.counted_by, turn.skills) == (2_000, 250, "estimate", 1)
    assert 0 < turn.fixed < turn.tokens and turn.left_out == turn.summarised == 0
    assert turn.left == 2_000 - 250 - turn.tokens
    voices, messages = run.voices, [*run.transcript.messages]
    events.clear()
    again = new_run(model, caller, tmp_path, messages=[*messages, *old, *old], events=events, context=2_000)
    again.voices = voices
    again.__post_init__()
    execute(again, "second")
    (full,) = [event for event in events if isinstance(event, TurnStarted)]
    assert full.counted_by == "usage" and full.left_out > 0 and full.tokens <= 1_750
    body = event_json(full)
    assert body["event"] == "turn_started" and body["context"] == 2_000 and body["left"] == full.left
    Steps().show(full)
    assert f"context: {full.tokens:,} of 2,000 tokens and 250 kept for the reply (usage); " in capsys.readouterr().err


def test_without_a_known_context_nothing_is_left_out(tmp_path: Path) -> None:
    events: list[Event] = []
    old = [Message(role="user", content="x" * 60_000) for _ in range(5)]
    execute(new_run(["done"], Functions(), tmp_path, messages=old, events=events), "go")
    (turn,) = [event for event in events if isinstance(event, TurnStarted)]
    assert (turn.context, turn.left, turn.left_out) == (None, None, 0) and turn.tokens > 90_000
