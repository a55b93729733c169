"""Whom a model is asked of: an extension that did not load never sends its key and its conversation elsewhere."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.agent import Agent
from remit.cli.run import notes
from remit.deployment.config import Config
from remit.deployment.extending import disable_extension
from remit.errors import DeploymentError
from remit.extensions.asked_provider import asked_by_table
from remit.extensions.extensions import NO_EXTENSIONS, Extensions
from remit.extensions.values import Item
from remit.loop.chosen_model import asked_for, chosen_model
from remit.models.scripted import ScriptedModel
from tests.delegation_parts import give, spec
from tests.extension_parts import NOWHERE, Place, make_place
from tests.in_process import remit
from tests.model_server import ModelServer, serve, text

PLAYED = """
from remit.models.scripted import ScriptedModel

@hookimpl
def add_model_providers():
    return {"played": lambda wanted: ScriptedModel([f"played {wanted.name} with {wanted.api_key}"] * 9)}
"""
REFUSED = r"no enabled extension gives the model provider 'played'"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The endpoint of another company, which is asked where nobody names one."""
    with serve([text("caught")] * 9) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("PLAYED_KEY", "sk-played")
        monkeypatch.delenv("REMIT_EXTENSIONS", raising=False)
        yield server


def place_of(tmp_path: Path, model: str) -> Place:
    place = make_place(tmp_path)
    place.add("shelf", PLAYED)
    place.edit("[model]", model)
    return place


def change(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = place.site.glob("ext_shelf*/__init__.py")
    file.write_text(file.read_text() + "# changed\n")


def unlock(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.deployment.trust import trust

    (place.folder / "remit.lock").unlink()
    trust(place.folder)


def disable(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    disable_extension(place.folder, "shelf", managed=NOWHERE).apply()


def switch_off(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_EXTENSIONS", "off")


def break_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = place.site.glob("ext_shelf*/__init__.py")
    file.write_text("raise ImportError('no luck')\n")
    place.enable("shelf")


def uninstall(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in place.site.rglob("RECORD"):
        file.unlink()


@pytest.mark.parametrize("left_out", [change, unlock, disable, switch_off, break_it, uninstall])
def test_an_extension_that_does_not_load_sends_nothing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: ModelServer, left_out: Callable[..., None]
) -> None:
    place = place_of(tmp_path, '[model]\nname = "played:x"\napi_key = "env:PLAYED_KEY"\n')
    with place.open() as deployment, Agent(deployment) as agent:  # the control
        assert agent.run("private").answer == "played x with sk-played"
    left_out(place, monkeypatch)
    with place.open() as deployment:
        with pytest.raises(DeploymentError, match=REFUSED) as caught:
            Agent(deployment)
        assert "base_url" in str(caught.value.remedy)
        with pytest.raises(DeploymentError, match=REFUSED):
            Agent(deployment, model="played:y")
        with pytest.raises(DeploymentError, match=REFUSED):
            Agent(deployment, model="y")  # of the deployment's own provider
        with pytest.raises(DeploymentError, match=REFUSED):
            Agent(deployment, model=ScriptedModel([]), agents=[spec("helper", model="played:z")])
    assert elsewhere.requests == []
    # Control: without the guard, which a person lifts by naming Remit's own client, it does go there.
    place.edit('name = "played:x"', 'name = "played:x"\nprovider = "openai"')
    with place.open() as deployment, Agent(deployment) as agent:
        assert agent.run("private").answer == "caught"
    assert elsewhere.requests[0][1]["authorization"] == "Bearer sk-played"


TABLES = [
    '[model]\nname = "m"\nbase_url = "http://127.0.0.1:9"\n'
    '[[model.fallback]]\nname = "played:x"\napi_key = "env:PLAYED_KEY"\n',
    '[agents.helper]\ndescription = "Helps."\nmodel = { name = "played:x", api_key = "env:PLAYED_KEY" }\n[model]\n',
    '[model]\nprovider = "openai"\nname = "m"\n[[model.fallback]]\nname = "played:x"\napi_key = "env:PLAYED_KEY"\n',
]


@pytest.mark.parametrize("tables", TABLES)
def test_nor_does_a_fallback_or_the_model_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: ModelServer, tables: str
) -> None:
    place = place_of(tmp_path, tables)
    model = ScriptedModel([give("helper", "private"), "done"]) if "agents" in tables else None
    with place.open() as deployment, Agent(deployment, model=model) as agent:  # the control
        if model is not None:
            assert "played x with sk-played" in agent.run("private").calls[0].text
    change(place, monkeypatch)
    with place.open() as deployment, pytest.raises(DeploymentError, match=REFUSED):
        Agent(deployment, model=model)
    assert elsewhere.requests == []


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: ModelServer) -> None:
    place = place_of(tmp_path, '[model]\napi_key = "env:PLAYED_KEY"\n')
    monkeypatch.syspath_prepend(str(place.site))
    ran = remit("run", "private", "--model", "played:y", folder=place.folder)
    assert "played y with None" in ran.out, "the deployment's key is for the deployment's endpoint"
    assert "base URL" not in ran.err
    off = remit("run", "private", "--model", "played:y", "--no-extensions", folder=place.folder, expect=1)
    assert "the model provider 'played' (given: none; extensions are off)" in off.err
    assert elsewhere.requests == []
    named = remit("run", "private", "--model", "qwen3:8b", "--base-url", elsewhere.base_url, folder=place.folder)
    assert named.out == "caught\n" and elsewhere.bodies[0]["model"] == "qwen3:8b"
    assert "authorization" not in elsewhere.requests[0][1]


def test_a_name_with_a_colon_is_one_where_an_endpoint_is_named(tmp_path: Path, elsewhere: ModelServer) -> None:
    place = place_of(tmp_path, f'[model]\nname = "qwen3:8b"\nbase_url = "{elsewhere.base_url}"\n')
    with place.open() as deployment:
        for model in (None, "gemma3:4b"):
            with Agent(deployment, model=model) as agent:
                assert agent.run("Hello").answer == "caught"
        with Agent(deployment, model="played:y") as agent:
            assert agent.run("Hello").answer == "played y with None"
        for base_url in ("", " "):
            with pytest.raises(DeploymentError, match="model provider 'qwen3'"):
                Agent(deployment, base_url=base_url)
    assert [body["model"] for body in elsewhere.bodies] == ["qwen3:8b", "gemma3:4b"]


def giving(*names: str, known: tuple[str, ...] = ()) -> Extensions:
    items = [Item(kind="model provider", name=name, extension=name, source="x 1", value=print) for name in names]
    return Extensions(items, known=frozenset(known))


@pytest.mark.parametrize(
    ("table", "model", "expected"),
    [
        ({"name": "gpt-5"}, None, ("openai", "gpt-5")),
        ({"name": "ft:gpt-4o:org::id"}, None, ("openai", "ft:gpt-4o:org::id")),
        ({"name": "org/qwen3:8b"}, None, ("openai", "org/qwen3:8b")),
        ({"name": "openai:gpt-5"}, None, ("openai", "gpt-5")),
        ({"name": "qwen3:8b"}, None, ("qwen3", "8b")),
        ({"name": "qwen3:8b", "base_url": "http://h"}, None, ("openai", "qwen3:8b")),
        ({"name": "qwen3:8b", "provider": "openai"}, None, ("openai", "qwen3:8b")),
        ({"name": "locked:x", "base_url": "http://h"}, None, ("locked", "x")),
        ({"name": "given:x", "provider": "other"}, None, ("other", "given:x")),
        ({"name": "other:x", "provider": "other"}, None, ("other", "x")),
        ({"name": "m", "provider": "other"}, "qwen3:8b", ("other", "qwen3:8b")),
        ({"name": "other:m"}, "n", ("other", "n")),
        ({"name": "m", "provider": "other"}, "given:x", ("given", "x")),
        ({"name": "m", "provider": "other"}, "locked:x", ("locked", "x")),
        ({"name": "m", "provider": "other"}, "openai:gpt-5", ("openai", "gpt-5")),
        ({"name": "m", "base_url": "http://h"}, "locked:x", ("locked", "x")),
    ],
)
def test_what_a_name_leads_to(table: dict[str, str], model: str | None, expected: tuple[str, str]) -> None:
    config = Config.model_validate({"model": table})
    found = asked_for(model, None, config, giving("given", known=("locked",)))
    assert (found.provider, found.name) == expected


@pytest.mark.parametrize("name", ["given:x", "locked:x", "n"])
def test_what_loads_changes_nothing_of_where_it_is_asked(name: str) -> None:
    for table in ({"name": name}, {"name": name, "provider": "other"}, {"name": name, "provider": "openai"}):
        model = Config.model_validate({"model": table}).model
        with_it, without = giving("given", "locked", "other"), giving(known=("locked",))
        assert asked_by_table(model, with_it) == asked_by_table(model, without)


def test_the_deployments_key_goes_only_where_the_deployment_asks(tmp_path: Path) -> None:
    wanted = []
    items = [
        Item(kind="model provider", name=name, extension=name, source="x 1", value=wanted.append)
        for name in ("one", "two")
    ]
    config = Config.model_validate({"model": {"name": "one:m", "api_key": "file:key", "base_url": "http://h"}})
    (tmp_path / "key").write_text("sk-one")
    for model in (None, "n", "one:o", "two:m"):
        with pytest.raises(DeploymentError, match="no model"):
            chosen_model(model, None, None, config, tmp_path, Extensions(items))
    own = ("sk-one", "http://h")
    assert [(one.api_key, one.base_url) for one in wanted] == [own, own, own, (None, None)]


def test_without_a_deployment(elsewhere: ModelServer) -> None:
    with pytest.raises(DeploymentError, match="model provider 'anthropic'"):
        Agent(model="anthropic:claude-opus-5-5", api_key="sk-ant")
    with Agent(model="anthropic:claude-opus-5-5", api_key="sk-ant", base_url=elsewhere.base_url) as agent:
        assert agent.run("Hello").answer == "caught"


def test_model_show_says_whom_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("REMIT_EXTENSIONS", raising=False)
    place = place_of(tmp_path, '[model]\nname = "played:x"\n[[model.fallback]]\nname = "lost:y"\n')
    monkeypatch.syspath_prepend(str(place.site))
    ran = remit("model", "show", folder=place.folder)
    assert "played:x (played)\n" in ran.out and "lost:y (lost, which no enabled extension gives), when" in ran.out
    assert "extensions are off" not in ran.err
    models = json.loads(remit("model", "show", "--json", "--model", "qwen3", folder=place.folder).out)["models"]
    assert (models[0]["provider"], models[0]["given"]) == ("played", True)
    off = remit("model", "show", folder=place.folder, environment={"REMIT_EXTENSIONS": "off"})
    assert "extensions are off in this run: shelf" in off.err and "(played, which no" in off.out


def test_nothing_is_said_of_an_endpoint_that_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def said(name: str) -> bool:
        options = Namespace(yes_to_writes=False, base_url=None, api_key=None, model=None)
        config = Config.model_validate({"model": {"name": name}})
        return any("api.openai.com" in note for note in notes(options, config, NO_EXTENSIONS))

    assert said("gpt-5") and not said("played:x")
