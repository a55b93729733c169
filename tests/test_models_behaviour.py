"""What is known of models: the table, what a deployment says before it, prices, breakers and `remit model show`."""

from __future__ import annotations

import asyncio
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from remit.agent import Agent
from remit.deployment.config import Config, FallbackConfig, ModelConfig
from remit.errors import DeploymentError
from remit.extensions.extensions import NO_EXTENSIONS
from remit.local_skills import skill
from remit.loop.chosen_model import price_of
from remit.loop.manner import behaviour_for, context_for, dialect_for, in_force
from remit.loop.speakers import Given, require_prices, speakers_of
from remit.models import price_list
from remit.models.behaviour import PLAIN, Behaviour, behaviour_of, family_of, table
from remit.models.openai import OpenAIModel
from remit.models.price import Price
from remit.models.protocol import Message, ModelRequest, ToolSpec
from tests.extension_parts import make_place
from tests.in_process import remit
from tests.model_server import calls, serve, text


@skill(effect="read")
def tide(port: str) -> str:
    """Tell the tide."""
    return "high"


def model(**keys: Any) -> ModelConfig:
    return Config.model_validate({"model": keys}).model


def test_each_row_says_where_it_was_read_and_can_be_reached() -> None:
    seen: list[str] = []
    for row in table():
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row.checked) and re.search(r"[a-z]\.[a-z]+/", row.source)
        assert row.behaviour != PLAIN and row.names
        for pattern in row.names:
            assert pattern == pattern.lower() and not set(pattern) & set("[]/")
            sample = pattern.replace("*", "").replace("?", "x")
            assert not [one for one in seen if fnmatchcase(sample, one)], f"{pattern} comes after a wider row"
            assert family_of(sample) is row
        seen += row.names


@pytest.mark.parametrize(
    ("name", "context", "images"),
    [
        ("gpt-5-mini", 400_000, True),
        ("openai/GPT-5.4-mini-2026-01-01", 400_000, True),
        ("anthropic/claude-opus-5-5", 1_000_000, True),
        ("models/gemini-3.8-flash", 1_048_576, True),
        ("deepseek-v4-pro", 1_000_000, False),
        ("gpt-oss:20b", 131_072, False),
        ("google:gemini-3.8-flash", 1_048_576, True),
        ("some-model-of-mine", None, None),
        ("my-gpt-5", None, None),
        ("", None, None),
    ],
)
def test_names_find_their_row(name: str, context: int | None, images: bool | None) -> None:
    behaviour = behaviour_of(name)
    assert (behaviour.context_length, behaviour.images) == (context, images)


def test_what_a_deployment_says_counts_first() -> None:
    own = model(name="gpt-5-mini", context_length=9000, behaviour={"images": False, "temperature": True})
    behaviour = behaviour_for("gpt-5-mini", own)
    assert (behaviour.images, behaviour.temperature, behaviour.output_field) == (False, True, "max_completion_tokens")
    assert context_for("gpt-5-mini", own) == 9000
    assert behaviour_for("gpt-5", own).images is True, "it was said of another model"
    assert context_for("x", model(name="x")) is None and behaviour_for("x", model(name="x")) == PLAIN
    rows = {row["key"]: (row["value"], row["from"].partition(":")[0]) for row in in_force("gpt-5-mini", own)}
    assert rows["images"] == (False, "remit.toml") and rows["context_length"] == (9000, "remit.toml")
    assert rows["output_field"] == ("max_completion_tokens", "table") and rows["strict"] == (None, "default")


def test_the_dialect_follows_only_where_nothing_is_written() -> None:
    for own, dialect in (
        (model(name="gemma3:4b"), "tagged"),
        (model(name="gemma3:4b", dialect="native"), "native"),
        (model(name="gemma3:4b", dialect="react"), "react"),
        (model(name="gemma-3-4b-it"), "native"),
        (model(name="unknown"), "native"),
    ):
        assert dialect_for(own.name, own) == dialect
    fallback = FallbackConfig.model_validate({"name": "gemma2"})
    assert dialect_for("gemma2", fallback) == "tagged"


@pytest.mark.parametrize(
    ("behaviour", "absent", "present"),
    [
        (PLAIN, {"max_completion_tokens", "parallel_tool_calls"}, {"temperature", "max_tokens", "tool_choice"}),
        (
            Behaviour(temperature=False, tool_choice=False, parallel_calls=False, output_field="max_completion_tokens"),
            {"temperature", "max_tokens", "tool_choice"},
            {"max_completion_tokens", "parallel_tool_calls"},
        ),
        (Behaviour(response_format=False, parallel_calls=True), {"response_format", "parallel_tool_calls"}, {"tools"}),
    ],
)
def test_behaviour_decides_what_is_sent(behaviour: Behaviour, absent: set[str], present: set[str]) -> None:
    request = ModelRequest(
        messages=(Message(role="user", content="go"),),
        tools=(ToolSpec(name="tide", description="", parameters={"type": "object"}),),
        tool_choice="required",
        max_tokens=9,
        answer_schema={"type": "object"},
    )

    async def ask(url: str) -> None:
        made = OpenAIModel("m", base_url=url, behaviour=behaviour)
        await made.complete(request)
        await made.aclose()

    with serve([text("ok")]) as server:
        asyncio.run(ask(server.base_url))
    assert not absent & server.bodies[0].keys() and present <= server.bodies[0].keys()


def test_reasoning_comes_back_only_to_a_model_that_wants_it() -> None:
    thinking = calls(("local__tide", {"port": "N"}))
    message = {**(thinking.message or {}), "reasoning_content": "Ask the tide."}
    for behaviour, expected in ((Behaviour(), None), (Behaviour(reasoning_back=True), "Ask the tide.")):
        with serve([type(thinking)(message=message, finish="tool_calls"), text("high")]) as server:
            made = OpenAIModel("m", base_url=server.base_url, behaviour=behaviour)
            with Agent(model=made, skills=[tide]) as agent:
                agent.run("go")
        said = server.bodies[1]["messages"][2]
        assert said["role"] == "assistant" and said.get("reasoning_content") == expected


@pytest.mark.parametrize("strict", [False, True])
def test_strict_schemas_are_opt_in(strict: bool, tmp_path: Path) -> None:
    place = make_place(tmp_path)
    with serve([text("ok")]) as server:
        said = "behaviour = { strict = true }\n" if strict else ""
        place.edit("[model]", f'[model]\nname = "m"\nbase_url = "{server.base_url}"\n{said}')
        place.edit("[defaults]", '[host_skills]\nallow = ["local.tide"]\n[defaults]')
        with place.open() as deployment, Agent(deployment, skills=[tide]) as agent:
            assert agent.run("go").answer == "ok"
    (tool,) = server.bodies[0]["tools"]
    assert tool["function"].get("strict", False) is strict


PRICES = {
    "sample_spec": {"input_cost_per_token": 0.0, "note": "what the columns mean"},
    "gpt-5-mini": {"input_cost_per_token": 2.5e-07, "output_cost_per_token": 2e-06, "max_input_tokens": 400000},
    "anthropic/claude-x": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05},
    "free": {"input_cost_per_token": 0, "output_cost_per_token": 0.0},
    "half": {"input_cost_per_token": 1e-06},
    "odd": {"input_cost_per_token": "much", "output_cost_per_token": True},
    "wrong": {"input_cost_per_token": -1.0, "output_cost_per_token": 1e-06},
    "row": [],
}


def test_prices_come_from_the_deployment_then_from_its_list(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    own = model(name="gpt-5-mini", prices="file:prices.json")
    assert price_of("gpt-5-mini", own, own, tmp_path) == (Price(input=0.25, output=2.0), "prices.json")
    assert price_of("openai/gpt-5-mini", own, own, tmp_path)[0] == Price(input=0.25, output=2.0)
    said = model(name="gpt-5-mini", prices="file:prices.json", price={"input": 1, "output": 2})
    assert price_of("gpt-5-mini", said, said, tmp_path) == (Price(input=1.0, output=2.0), "remit.toml")
    other = FallbackConfig.model_validate({"name": "claude-x", "provider": "anthropic"})
    assert price_of("claude-x", other, own, tmp_path)[0] == Price(input=3.0, output=15.0)
    assert price_of("anthropic:claude-x", own, own, tmp_path)[0] == Price(input=3.0, output=15.0)
    assert price_of("free", own, own, tmp_path)[0] == Price(input=0.0, output=0.0)
    for name in ("half", "odd", "wrong", "row", "sample_spec", "nobody"):
        assert price_of(name, own, own, tmp_path) == (None, "")
    plain = model(name="gpt-5-mini")
    assert price_of("gpt-5-mini", plain, plain, tmp_path) == (None, "")


def test_a_list_of_prices_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = model(name="m", prices="file:prices.json")
    for body in (None, b"[]", b"{", b"\xff", b"[" * 100_000):
        if body is not None:
            (tmp_path / "prices.json").write_bytes(body)
        with pytest.raises(DeploymentError, match=r"list of prices .*prices\.json cannot be read"):
            price_of("m", own, own, tmp_path)
    monkeypatch.setattr(price_list, "LARGEST", 10)
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    with pytest.raises(DeploymentError, match="larger than 10 bytes"):
        price_of("m", own, own, tmp_path)


def test_a_price_of_the_list_is_enough_for_a_cost_limit(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    for keys, fits in (({"prices": "file:prices.json"}, True), ({}, False)):
        config = Config.model_validate({"model": {"name": "gpt-5-mini", "base_url": "http://h", **keys}})
        speakers = speakers_of(Given(), (), config, tmp_path, NO_EXTENSIONS)
        if fits:
            require_prices(speakers, 1.0)
        else:
            with pytest.raises(Exception, match="the price of gpt-5-mini is not known"):
                require_prices(speakers, 1.0)


def test_the_numbers_of_the_breaker_are_the_deployments(tmp_path: Path) -> None:
    def circuits(**keys: Any) -> list[Any]:
        body = {"name": "m", "base_url": "http://breaker.invalid", "fallback": [{"name": "n", "base_url": "http://h"}]}
        config = Config.model_validate({"model": {**body, **keys}})
        return [speaker.circuit for speaker in speakers_of(Given(), (), config, tmp_path, NO_EXTENSIONS)]

    first, fallback = circuits(breaker={"failures": 1, "seconds": 30})
    for circuit in (first, fallback):
        circuit.failed()
        assert circuit.is_open
    usual, _ = circuits()
    assert usual is not first and not usual.is_open
    assert circuits(breaker={"failures": 1, "seconds": 30})[0] is first, "one circuit in the whole process"


def test_model_show(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    (place.folder / "prices.json").write_text(json.dumps(PRICES))
    place.edit(
        "[model]",
        '[model]\nname = "gpt-5-mini"\nprices = "file:prices.json"\nbreaker = { failures = 5, seconds = 30 }\n'
        "total_timeout = 90\nbehaviour = { images = false }\n"
        'fallback = [{ name = "qwen3", base_url = "http://h/v1" }]\n',
    )
    shown = remit("model", "show", folder=place.folder).out
    assert "gpt-5-mini (openai)" in shown and "qwen3 (openai), when those above are down" in shown
    assert "90 s in all; after 5 failures in a row" in shown and "cost 0.25 in, 2 out (prices.json)" in shown
    assert re.search(r"images +no +remit\.toml", shown) and re.search(r"temperature +no +table\ntool_", shown)
    assert shown.count("table: developers.openai.com/") == 1
    models = json.loads(remit("model", "show", "--json", folder=place.folder).out)["models"]
    assert [one["name"] for one in models] == ["gpt-5-mini", "qwen3"]
    assert models[0]["breaker"] == {"failures": 5, "seconds": 30.0}
    assert {"key": "images", "value": None, "from": "default"} in models[1]["behaviour"]
    (other,) = json.loads(remit("model", "show", "--model", "gemma3", "--json", folder=place.folder).out)["models"]
    assert {row["key"]: row["value"] for row in other["behaviour"]}["dialect"] == "tagged"


@pytest.mark.parametrize(
    "line",
    ["behaviour = { image = true }", "breaker = { failures = 0 }", 'prices = "prices.json"', "total_timeout = 0"],
)
def test_what_does_not_fit_is_refused(line: str) -> None:
    import tomllib

    with pytest.raises(ValueError, match=line.partition(" ")[0]):
        Config.model_validate(tomllib.loads(f"[model]\n{line}"))
