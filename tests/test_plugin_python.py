"""The pack `python`: its manifest, what its skills tell a model, and its cells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.try_pack import try_pack
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result
from tests.packaging import build_site, project
from tests.python_parts import BENIGN, ids


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(tmp_path_factory.mktemp("state")))
        with try_pack(project("remit-python"), enforcement="available") as opened:
            yield opened


@pytest.fixture(scope="module")
def pipeline(deployment: Deployment) -> Iterator[Pipeline]:
    with State(deployment.state_folder) as state:
        yield Pipeline(
            skills=deployment.skills, rules=deployment.rules, state=state, sandbox=deployment.sandbox, unattended="deny"
        )


_numbers = count()


def ask(pipeline: Pipeline, skill: str, session: str = "s", **arguments: Any) -> Result:
    call = Call(id=f"c{next(_numbers)}", skill=skill, arguments=json.dumps(arguments), session=session)
    return asyncio.run(pipeline.call(call))


def test_it_has_no_right_at_all(deployment: Deployment) -> None:
    assert deployment.problems == ()
    for name in ("python.run", "python.run_in_session"):
        skill = deployment.skills[name]
        assert skill.effect == "read" and skill.cell is not None
        rights = skill.cell.rights
        assert (rights.read, rights.write, rights.net, rights.exec, dict(rights.env)) == ((), (), (), (), {})
    assert deployment.skills["python.run"].cell.isolation == "fresh"  # type: ignore[union-attr]
    assert deployment.skills["python.run_in_session"].cell.isolation == "warm"  # type: ignore[union-attr]


def test_the_description_names_what_may_be_imported(deployment: Deployment) -> None:
    from remit_sandbox.python.modules import MAIN

    described = deployment.skills["python.run"].description
    assert all(name in described for name in MAIN.split())


def test_a_call_through_the_pipeline(pipeline: Pipeline) -> None:
    result = ask(pipeline, "python.run", code="print('hi')\n(1, 2)")
    assert result.status == "ok" and json.loads(result.text) == {"value": "(1, 2)", "stdout": "hi\n"}
    result = ask(pipeline, "python.run", code="1 / 0")
    assert json.loads(result.text) == {"error": "ZeroDivisionError: division by zero (line 1: 1 / 0)"}
    assert ask(pipeline, "python.run", code="").status == "invalid"
    assert ask(pipeline, "python.run", code="import time\ntime.sleep(60)").status == "timeout"


def test_variables_are_kept_where_a_session_asks_for_it(pipeline: Pipeline) -> None:
    assert json.loads(ask(pipeline, "python.run", code="x = 5\nx").text) == {"value": 5}
    assert "NameError" in ask(pipeline, "python.run", code="x").text
    assert json.loads(ask(pipeline, "python.run_in_session", code="x = 5\nx").text) == {"value": 5}
    assert json.loads(ask(pipeline, "python.run_in_session", code="x + 1").text) == {"value": 6}
    assert "NameError" in ask(pipeline, "python.run_in_session", "other", code="x").text


def test_a_file_leaves_as_a_handle(pipeline: Pipeline) -> None:
    result = ask(pipeline, "python.run", code="save_file('a.bin', b'\\x00\\x01')\n1")
    assert result.status == "ok"
    assert json.loads(result.text)["value"] == 1 and "a.bin" in json.loads(result.text)["files"]
    assert "AAE=" not in result.text


@pytest.mark.parametrize("case", BENIGN[::6], ids=ids(BENIGN[::6]))
def test_shared_cases_through_the_pipeline(case: dict[str, Any], pipeline: Pipeline) -> None:
    answer = json.loads(ask(pipeline, "python.run", code=case["code"]).text)
    assert answer.get("stdout", "") == case.get("expected_stdout", "") and "error" not in answer


def test_the_open_profile_is_a_setting(tmp_path: Path) -> None:
    with (
        try_pack(project("remit-python"), settings={"profile": "open"}, enforcement="available") as deployment,
        State(deployment.state_folder) as state,
    ):
        pipeline = Pipeline(
            skills=deployment.skills, rules=deployment.rules, state=state, sandbox=deployment.sandbox, unattended="deny"
        )
        result = ask(pipeline, "python.run", code="import os\nopen('a.txt', 'w').write('x')\nos.path.join('a', 'b')")
        assert json.loads(result.text)["value"] == "a/b" and "a.txt" in json.loads(result.text)["files"]


def test_the_wheel_holds_the_manifest(tmp_path: Path) -> None:
    site = build_site(tmp_path, "remit-python")
    assert (site / "remit_python" / "pack.toml").is_file()
