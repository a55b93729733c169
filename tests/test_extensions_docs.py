"""docs/extensions.md names every hook, and the example of each is loaded and used as it stands there."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.agent import Agent
from remit.extensions import hookspecs
from remit.extensions.plugin import hook_names
from remit.local_skills import skill
from remit.models.protocol import ModelRequest
from remit.models.scripted import ScriptedModel, ask
from tests.extension_parts import Place, make_place

PAGE = (Path(__file__).parent.parent / "docs/extensions.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^### `(\w+)`\n.*?^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@skill(effect="read")
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@skill(effect="write")
def save(text: str) -> str:
    """Save a text."""
    return "saved"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(tmp_path)
    made.edit("[model]", '[host_skills]\nallow = ["local.add", "local.save"]\n[model]')
    return made


def agent(place: Place, script: object, **options: object) -> tuple[Agent, Callable[[], None]]:
    deployment = place.open()
    model = script if script is None else ScriptedModel(script)  # type: ignore[arg-type]
    made = Agent(deployment, model=model, skills=[add, save], **options)  # type: ignore[arg-type]
    return made, deployment.close


SUM = [ask("local.add", left=2, right=3), "It is 5."]


def test_the_page_documents_every_hook_with_an_example() -> None:
    assert set(EXAMPLES) == set(hook_names())
    for name, example in EXAMPLES.items():
        assert f"@hookimpl\ndef {name}(" in example


def test_every_hook_says_what_it_does_and_none_takes_the_first_result() -> None:
    for name in hook_names():
        hook = getattr(hookspecs, name)
        assert (inspect.getdoc(hook) or "").endswith("."), name
        assert name.split("_")[0] in ("add", "observe")
        assert hook.remit_spec["firstresult"] is False and hook.remit_spec["historic"] is False


def test_the_page_names_what_observers_are_told() -> None:
    from dataclasses import fields

    from remit.extensions.values import CallEnd, CallStart, RunState, Setup

    for name in {field.name for kind in (CallStart, CallEnd, RunState, Setup) for field in fields(kind)}:
        assert f"`{name}`" in PAGE or f"setup.{name}`" in PAGE, name


def test_the_model_provider_of_the_page(place: Place) -> None:
    place.add("echo", EXAMPLES["add_model_providers"])
    place.edit("[model]", '[model]\nprovider = "echo"')
    made, close = agent(place, None)
    with made:
        assert made.run("Hello").answer == "Hello" and made.model.name == ""
    close()
    with place.open() as deployment, Agent(deployment, model="echo:loud") as loud:
        assert loud.run("Hello").answer == "HELLO"


def test_the_dialect_of_the_page(place: Place) -> None:
    place.add("arrow", EXAMPLES["add_dialects"])
    for dialect in ("arrow", "auto"):
        made, close = agent(place, ['=> local__add {"left": 2, "right": 3}', "It is 5."], dialect=dialect)
        with made:
            result = made.run("2 + 3?")
            assert (result.answer, [call.value for call in result.calls]) == ("It is 5.", [5])
        close()


def test_the_secret_provider_of_the_page(place: Place) -> None:
    (place.folder / "safe.txt").write_text("model=s3cret-key\n")
    place.add("safe", EXAMPLES["add_secret_providers"])
    place.edit("[model]", '[model]\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "safe:model"')
    made, close = agent(place, None)
    with made:
        assert made.model._key == "s3cret-key"  # type: ignore[attr-defined]
    close()


def test_the_signoff_channel_of_the_page(place: Place) -> None:
    place.add("desk", EXAMPLES["add_signoff_channels"])
    place.edit("[extensions]", '[extensions]\nsignoff = "desk"')
    made, close = agent(place, [ask("local.save", text="x"), ask("local.save", text="x" * 200), "Done."])
    with made:
        calls = made.run("Save.").calls
        assert [(call.status, call.reason) for call in calls] == [("ok", ""), ("denied", "too much to read")]
        answers = [record.body for record in made.state.records(event="signoff.answered")]
        assert [(body["by"], body["channel"]) for body in answers] == [("the desk", "desk")] * 2
    close()


def test_the_audit_sink_of_the_page(place: Place) -> None:
    place.add("lines", EXAMPLES["add_audit_sinks"])
    made, close = agent(place, SUM)
    with made:
        before = len(list(made.state.records()))
        assert made.run("2 + 3?").answer == "It is 5."
        written = [[record.seq, record.event, record.skill] for record in made.state.records()]
    close()
    told = [json.loads(line) for line in (place.folder / "log.jsonl").read_text().splitlines()]
    assert told == written[before:] and "call.finished" in {event for _, event, _ in told}


def test_the_memory_store_of_the_page(place: Place) -> None:
    place.add("shelf", EXAMPLES["add_memory_stores"])
    place.edit("[model]", '[memory]\nfacts = true\nstore = "shelf"\n[model]')
    made, close = agent(place, [ask("remit.remember_fact", name="city", value="Oslo"), "Noted."])
    with made:
        assert made.run("I live in Oslo.").calls[0].status == "ok"
        who = made.pipeline._around.principal
    close()
    assert json.loads((place.folder / "shelf.json").read_text())[who]["city"]["value"] == "Oslo"
    told: list[str] = []
    made, close = agent(place, lambda request: told.append(request.messages[1].content) or "In Oslo.")
    with made:
        made.run("Where do I live?")
    close()
    assert '"value": "Oslo"' in told[0]


def test_the_prompt_fragment_of_the_page(place: Place) -> None:
    place.add("house", EXAMPLES["add_prompt_fragments"])
    prompts: list[str] = []

    def answer(request: ModelRequest) -> str:
        prompts.append(request.messages[0].content)
        return "Yes."

    for own in (None, "Be kind."):
        made, close = agent(place, answer, prompt=own)
        with made:
            made.run("Hello")
        close()
    assert prompts[0].startswith("You are a careful assistant.")
    assert prompts[0].endswith("\n\nGive lengths in metres.") and prompts[1] == "Be kind.\n\nGive lengths in metres."


def test_the_observers_of_the_page(place: Place) -> None:
    place.add("starts", EXAMPLES["observe_call_start"])
    place.add("ends", EXAMPLES["observe_call_end"])
    place.add("states", EXAMPLES["observe_run_state"])
    made, close = agent(place, [SUM[0], ask("local.save", text="x"), "Done."], unattended="deny")
    with made:
        made.run("Go.", session="s1")
    close()
    states = (place.folder / "states.txt").read_text().splitlines()
    assert [line.split()[:2] for line in states] == [
        ["s1", state] for state in ("thinking", "acting", "thinking", "acting", "thinking", "answered")
    ]
    assert (place.folder / "started.txt").read_text() == 'local.add {"left": 2, "right": 3} allow\n'
    first, second = (place.folder / "ended.txt").read_text().splitlines()
    assert first == "local.add ok 5" and second.startswith("local.save denied ")
