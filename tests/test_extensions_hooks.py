"""What extensions give is used as it should be, and what one of them does wrong ends only that."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from remit.agent import Agent
from remit.deployment.config import Config
from remit.deployment.load import parse_config
from remit.errors import DeploymentError
from remit.extensions.extensions import NO_EXTENSIONS, Extensions
from remit.local_skills import skill
from remit.loop.outcome import RunResult
from remit.models.scripted import ScriptedModel, ask
from remit.state.records import Record
from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.dist_info import write_pack
from tests.extension_parts import Place, make_place


@skill(effect="read")
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@skill(effect="write", secret_arguments=["token"])
def save(text: str, token: str = "") -> str:
    """Save a text."""
    return f"saved {text}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(tmp_path)
    made.edit("[model]", '[host_skills]\nallow = ["local.add", "local.save"]\n[model]')
    return made


def run(place: Place, *script: Any, **options: Any) -> tuple[RunResult, list[Record]]:
    """Run a script in the deployment; return its result and the records."""
    with (
        place.open() as deployment,
        Agent(deployment, model=ScriptedModel(script), skills=[add, save], **options) as agent,
    ):
        result = agent.run("Go.")
        return result, list(agent.state.records())


SUM = ask("local.add", left=2, right=3)
FAILING = """
    class Down:
        def write(self, records):
            raise OSError("disk of the sink is full")
        def close(self):
            raise OSError("cannot close")

    @hookimpl
    def add_audit_sinks():
        return {"down": Down()}
"""


def failures(records: list[Record]) -> list[dict[str, Any]]:
    return [dict(record.body) for record in records if record.event == "extension.failed"]


def test_a_sink_that_fails_never_stops_a_call_and_is_recorded_once(place: Place) -> None:
    place.add("down", FAILING)
    result, _ = run(place, SUM, SUM, "It is 5.")
    assert result.answer == "It is 5." and [call.status for call in result.calls] == ["ok", "ok"]
    _, records = run(place, "Hello.")
    assert failures(records)[0] == {
        "extension": "down",
        "doing": "write to audit sink down",
        "error": "OSError: disk of the sink is full",
    }
    assert len(failures(records)) <= 2, "once for each time that the deployment was open"


def test_the_sink_of_a_required_extension_ends_the_run(place: Place) -> None:
    place.add("down", FAILING, required=True)
    result, records = run(place, SUM, "It is 5.")
    assert result.status == "failed" and "audit sink down of the required extension down" in result.stop_reason
    assert result.calls == () or all(call.status != "ok" for call in result.calls)
    assert len(failures(records)) == 1


def test_observers_that_raise_are_recorded_and_change_nothing(place: Place) -> None:
    code = """
        @hookimpl
        def observe_call_start(call):
            call.skill = "local.save"

        @hookimpl
        def observe_call_end(call):
            raise ValueError(call.text)
    """
    place.add("nosy", code)
    result, records = run(place, SUM, SUM, "It is 5.")
    assert [(call.status, call.value) for call in result.calls] == [("ok", 5), ("ok", 5)]
    told = [(one["extension"], one["doing"], one["error"].partition(":")[0]) for one in failures(records)]
    assert told == [("nosy", "observe_call_start", "FrozenInstanceError"), ("nosy", "observe_call_end", "ValueError")]


def test_an_observer_that_fails_does_not_keep_others_from_being_told(place: Place) -> None:
    place.add("first", "@hookimpl\ndef observe_call_end(call):\n    raise ValueError\n")
    code = """
        @hookimpl
        def observe_call_end(call, setup):
            (setup.folder / "told.txt").write_text(call.status + str(setup.settings))
    """
    place.add("second", code, settings={"level": 1})
    run(place, SUM, "It is 5.")
    assert (place.folder / "told.txt").read_text() == "ok{'level': 1}"


def test_observers_do_not_get_secret_arguments(place: Place) -> None:
    code = """
        @hookimpl
        def observe_call_start(call, setup):
            (setup.folder / "told.txt").write_text(call.arguments)
    """
    place.add("nosy", code)
    place.edit('write = "ask"', 'write = "allow"')
    result, _ = run(place, ask("local.save", text="x", token="s3cret-token"), "Saved.")
    assert result.calls[0].status == "ok"
    assert json.loads((place.folder / "told.txt").read_text()) == {"text": "x", "token": "[not recorded]"}


NAMED_VAULT = """
    @hookimpl
    def add_secret_providers(setup):
        def get(where):
            with (setup.folder / "asked.txt").open("a") as file:
                file.write(where + ";")
            if where == "bad":
                raise ValueError("the secret is hunter2")
            return "" if where == "empty" else "value-of-" + where
        return {"vault": get}
"""
MANIFEST = """\
manifest = 1
[pack]
name = "tide"
[permissions]
secrets = ["token"]
[[skill]]
name = "run"
handler = "tide_pack:run"
effect = "external"
uses = ["secrets"]
"""


def with_secret(place: Place, reference: str) -> None:
    from remit.deployment.enable import enable

    write_pack(place.site, "tide", manifest=MANIFEST)
    enable(
        place.folder, "tide", secrets={"token": reference}, paths=[str(place.site)], managed=place.folder / "no"
    ).apply()


def test_a_secret_of_an_extension_reaches_the_cell_and_is_asked_for_once(place: Place) -> None:
    place.add("vault", NAMED_VAULT)
    with_secret(place, "vault:kv/token")
    place.edit("[model]", '[model]\nname = "m"\napi_key = "vault:kv/token"')
    with place.open() as deployment, Agent(deployment) as agent:
        cell = deployment.skills["tide.run"].cell
        assert cell is not None and dict(cell.secrets) == {"token": "value-of-kv/token"}
        assert "value-of" not in repr(agent.model)
    assert (place.folder / "asked.txt").read_text() == "kv/token;"


@pytest.mark.parametrize(
    ("where", "says"), [("bad", r"failed \(ValueError\)"), ("empty", "gave nothing that is a secret")]
)
def test_a_secret_that_cannot_be_had_leaves_that_skill_out_and_says_no_word_of_it(
    place: Place, where: str, says: str
) -> None:
    import re

    place.add("vault", NAMED_VAULT)
    with_secret(place, f"vault:{where}")
    with place.open() as deployment:
        (problem,) = deployment.problems
        assert re.search(rf"secret provider vault of extension vault \(vault-ext 1\.0\) {says}", problem.reason)
        assert "hunter2" not in str(problem) and deployment.skills == {}


def test_a_reference_of_a_kind_that_nobody_resolves(place: Place) -> None:
    text = (place.folder / "remit.toml").read_text()
    with pytest.raises(DeploymentError, match="never the secret") as caught:
        parse_config(text.replace("[model]", '[model]\napi_key = "vault:hunter2"'), place.folder / "remit.toml")
    assert "hunter2" not in str(caught.value)
    place.add("other", '@hookimpl\ndef add_secret_providers():\n    return {"safe": str}\n')
    with_secret(place, "vault:hunter2")
    place.edit("[model]", '[model]\nname = "m"\napi_key = "vault:hunter2"')
    with place.open() as deployment:
        (problem,) = deployment.problems
        assert "no enabled extension resolves vault: references (known: env:, file:, keyring:, safe:)" in problem.reason
        with pytest.raises(DeploymentError, match="no enabled extension resolves vault:") as caught:
            Agent(deployment)
        assert "hunter2" not in str(caught.value) + str(problem)


def test_a_model_provider_that_is_not_there_or_fails_is_named(place: Place) -> None:
    code = """
        def fail(wanted):
            raise OSError("no such region")

        @hookimpl
        def add_model_providers():
            return {"cloud": fail, "rubbish": lambda wanted: 1}
    """
    place.add("cloud", code)
    place.edit("[model]", '[model]\nname = "m"\nprovider = "clod"')
    with place.open() as deployment:
        with pytest.raises(DeploymentError, match=r"model provider 'clod' \(given: cloud, rubbish\)"):
            Agent(deployment)
        with pytest.raises(DeploymentError, match=r"cloud of extension cloud \(cloud-ext 1\.0\) failed.*no such"):
            Agent(deployment, model="cloud:big")
        with pytest.raises(DeploymentError, match="gave int, which is no model"):
            Agent(deployment, model="rubbish:x")
        Agent(deployment, model="qwen3:8b", base_url="http://127.0.0.1:9/v1").close()
    with place.open(extensions=False) as deployment, pytest.raises(DeploymentError, match="extensions are off"):
        Agent(deployment)


DESK = """
    class Desk:
        async def ask(self, request):
            raise OSError("nobody picks up")

    @hookimpl
    def add_signoff_channels():
        return {"desk": Desk()}
"""


def test_a_channel_that_breaks_has_denied(place: Place) -> None:
    place.add("desk", DESK)
    place.edit("[extensions]", '[extensions]\nsignoff = "desk"')
    result, _ = run(place, ask("local.save", text="x"), "Done.")
    assert result.calls[0].status == "denied" and "could not be put to a person (OSError)" in result.calls[0].reason


def test_a_channel_that_nobody_gives_stops_the_start(place: Place) -> None:
    place.add("desk", DESK.replace('"desk": Desk()', '"bureau": Desk()'))
    place.edit("[extensions]", '[extensions]\nsignoff = "desk"')
    with pytest.raises(DeploymentError, match=r"signoff names 'desk'.*\(given: bureau\)"):
        place.open()
    with place.open(extensions=False) as deployment:
        assert deployment.extensions.approver is None


def test_without_its_name_in_the_deployment_a_channel_is_never_asked(place: Place) -> None:
    place.add("desk", DESK)
    result, _ = run(place, ask("local.save", text="x"), "Done.")
    assert result.calls[0].status == "parked"


class Yes:
    """An approver of the program."""

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        return SignoffDecision(answer="once", digest=request.digest, by="the program")


def test_an_approver_of_the_program_counts_before_the_channel(place: Place) -> None:
    place.add("desk", DESK)
    place.edit("[extensions]", '[extensions]\nsignoff = "desk"')
    result, _ = run(place, ask("local.save", text="x"), "Done.", approver=Yes())
    assert result.calls[0].status == "ok"


DIALECT = """
    from remit.dialects.tagged import TAGGED
    from dataclasses import replace

    @hookimpl
    def add_dialects():
        return {"mine": replace(TAGGED, tag="mine"), "react": TAGGED}
"""


def test_dialects_are_there_as_long_as_a_deployment_is_open(place: Place) -> None:
    from remit.dialects import known_dialects

    place.add("speech", DIALECT)
    with place.open() as deployment:
        (problem,) = deployment.extensions.problems
        assert problem.reason == "the dialect react is Remit's own"
        assert "mine" in known_dialects()
        with place.open():
            pass
        assert "mine" in known_dialects()
    assert "mine" not in known_dialects()


def test_two_extensions_cannot_wrap_each_other(place: Place) -> None:
    wrapper = """
        @hookimpl(wrapper=True)
        def add_prompt_fragments():
            yield
            return [{"mine": "only this"}]
    """
    place.add("wrapper", wrapper)
    place.add("plain", '@hookimpl\ndef add_prompt_fragments():\n    return {"other": "and this"}\n')
    with place.open() as deployment:
        assert [(item.extension, item.name) for item in deployment.extensions.items] == [
            ("wrapper", "mine"),
            ("plain", "other"),
        ]


def test_an_agent_without_a_deployment_has_no_extensions() -> None:
    with Agent(skills=[add], model=ScriptedModel([SUM, "It is 5."])) as agent:
        assert agent.run("2 + 3?").answer == "It is 5."
    assert NO_EXTENSIONS.items == () and Extensions().approver is None


def test_closing_twice_does_nothing(place: Place) -> None:
    place.add("down", FAILING)
    deployment = place.open()
    assert deployment.extensions.items
    deployment.close()
    deployment.close()
    with place.open() as again:
        assert again.extensions.items


def test_settings_may_hold_what_they_like() -> None:
    config = parse_config(
        'policy = 1\n[extensions]\nenabled = ["a"]\n[extensions.settings.a]\nurl = "x"\ndeep = { list = [1, 2.5] }\n',
        Path("remit.toml"),
    )
    assert config.extensions.settings["a"] == {"url": "x", "deep": {"list": [1, 2.5]}}
    assert Config().extensions.enabled == ()


def test_the_channel_says_whether_it_is_apart(place: Place) -> None:
    place.add("desk", DESK.replace("class Desk:", "class Desk:\n        apart = True"))
    place.edit("[extensions]", '[extensions]\nsignoff = "desk"')
    with place.open() as deployment:
        approver = deployment.extensions.approver
        assert approver is not None and approver.apart is True  # type: ignore[attr-defined]
        with pytest.raises(OSError, match="nobody picks up"):
            asyncio.run(approver.ask(None))  # type: ignore[arg-type]
