"""The system prompt from named fragments, and `remit prompt show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit import Agent, ScriptedModel
from remit.cli.main import run
from remit.deployment.files import read_files
from remit.deployment.init import init
from remit.deployment.summary import summary
from remit.deployment.trust import trust
from remit.errors import DeploymentError
from remit.loop.prompt import STANDARD, SYSTEM, Fragment, fragments, joined

HOUSE = Fragment(name="style.house", text="Say please.", source="extension style 1.0")


def deployed(tmp_path: Path, tables: str) -> Path:
    folder = tmp_path / "deployment"
    folder.mkdir()
    init(folder, enforcement="available").apply()
    with (folder / "remit.toml").open("a") as file:
        file.write(tables)
    trust(folder)
    return folder


def test_nobody_says_anything() -> None:
    parts = fragments(None, [], {}, source="")
    assert joined(parts) == SYSTEM and [part.name for part in parts] == list(STANDARD)


def test_fragments_are_replaced_left_out_and_followed_by_those_of_extensions() -> None:
    parts = fragments(None, [HOUSE], {"role": "You are Ada.", "failures": ""}, source="")
    text = joined(parts)
    assert text.startswith("You are Ada. You can use") and text.endswith("\n\nSay please.")
    assert STANDARD["failures"] not in text and STANDARD["data"] in text
    assert [part.source for part in parts] == ["remit.toml", "Remit", "Remit", "Remit", "extension style 1.0"]
    assert joined(fragments(None, [HOUSE], {"style.house": ""}, source="")) == SYSTEM


def test_a_whole_prompt_takes_the_place_of_the_standard_fragments() -> None:
    assert joined(fragments("Be odd.", [HOUSE], {}, source="")) == "Be odd.\n\nSay please."


@pytest.mark.parametrize("name", ["rolle", "style.hose"])
def test_a_fragment_that_there_is_not_is_an_error(name: str) -> None:
    with pytest.raises(DeploymentError, match="did you mean"):
        fragments(None, [HOUSE], {name: "x"}, source="")
    assert joined(fragments(None, [], {"style.hose": "x"}, source="")) == SYSTEM, "the extension is off"


def test_the_deployment_overrides_and_the_program_comes_first(tmp_path: Path) -> None:
    folder = deployed(tmp_path, '\n[agent.fragments]\nrole = "You are Ada."\n')
    for prompt, said in ((None, "You are Ada. You can"), ("Be odd.", "Be odd.")):
        model = ScriptedModel(["hi"])
        with Agent(folder, model=model, prompt=prompt) as agent:
            agent.run("go")
        assert model.requests[0].messages[0].content.startswith(said)


AGENTS = """
[memory]
facts = true
[agents.helper]
description = "Helps."
prompt = "Be a helper."
agents = ["deep"]
[agents.deep]
description = "Goes deep."
"""


def test_agents_memory_and_what_each_part_takes_are_shown_as_they_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from remit.models.scripted import ask

    folder = deployed(tmp_path, AGENTS)
    config = folder / "remit.toml"
    config.write_text(config.read_text().replace("[model]", "[model]\ncontext_length = 4096", 1))
    trust(folder)
    monkeypatch.chdir(folder)
    assert run(["memory", "set", "home_city", "Oslo"]) == 0
    capsys.readouterr()
    shown = {}
    for name in ("", "helper", "deep"):
        assert run(["prompt", "show", "--json", *(["--agent", name] if name else [])]) == 0
        shown[name] = json.loads(capsys.readouterr().out)
    give = {"helper": "helper", "deep": "deep"}
    script = [ask("remit.delegate", agent=give["helper"], task="t"), ask("remit.delegate", agent="deep", task="t"), "d"]
    model = ScriptedModel([*script, "h", "end"])
    with Agent(folder, model=model) as agent:
        assert agent.run("go").answer == "end"
    for number, name in enumerate(("", "helper", "deep")):
        request, body = model.requests[number], shown[name]
        assert body["messages"][0]["content"] == request.messages[0].content and body["agent"] == name
        assert [tool["name"] for tool in body["tools"]] == [tool.name for tool in request.tools]
        parts = {part["name"]: part for part in body["budget"]["parts"]}
        assert body["budget"]["left"] == 4096 - sum(part["tokens"] for part in parts.values()) > 0
        assert ("memory" in parts) is (name == "")
    assert model.requests[0].messages[1].content.startswith(shown[""]["memory"]["text"])
    assert shown[""]["memory"]["facts"] == 1 and "Oslo" in shown[""]["memory"]["text"]
    assert shown["helper"]["fragments"][0]["text"] == "Be a helper." and shown["helper"]["memory"] is None
    assert shown["helper"]["fragments"][0]["source"] == "agent helper"
    assert run(["prompt", "show"]) == 0
    out = capsys.readouterr().out
    assert (
        "Memory (facts: 1), at the beginning of a new session:" in out and "tokens left for the conversation: " in out
    )
    assert run(["prompt", "show", "--agent", "nobody"]) == 2
    assert "nobody asks an agent nobody" in capsys.readouterr().err


def test_what_is_shown_is_what_the_model_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = deployed(tmp_path, '\n[agent.fragments]\nrole = "You are Ada."\n')
    monkeypatch.chdir(folder)
    for dialect in ("native", "tagged"):
        assert run(["prompt", "show", "--json", "--dialect", dialect]) == 0
        shown = json.loads(capsys.readouterr().out)
        model = ScriptedModel(["hi"])
        with Agent(folder, model=model, dialect=dialect) as agent:
            agent.run("go")
        sent = [{"role": m.role, "content": m.content} for m in model.requests[0].messages]
        assert shown["messages"] == sent[:-1]
        assert [tool["name"] for tool in shown["tools"]] == [tool.name for tool in model.requests[0].tools]
        assert shown["fragments"][0] == {"name": "role", "source": "remit.toml", "text": "You are Ada."}
    assert run(["prompt", "show"]) == 0
    assert "[role] (remit.toml)\nYou are Ada.\n" in capsys.readouterr().out
    assert run(["prompt", "show", "--dialect", "nonsense"]) == 2


def test_what_a_deployment_tells_the_model_is_shown_before_it_is_trusted(tmp_path: Path) -> None:
    spare = '\n[[model.fallback]]\nname = "spare"\nbase_url = "https://spare.example/v1"\napi_key = "env:SPARE"\n'
    folder = deployed(tmp_path, spare + '\n[agent.fragments]\nrole = "You are Ada."\n')
    out = "\n".join(summary(read_files(folder)))
    assert "spare at https://spare.example/v1, with the key of env:SPARE" in out
    assert 'as the fragment role: "You are Ada."' in out
