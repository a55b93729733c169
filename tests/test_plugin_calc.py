"""The pack `calc`: its manifest, what its skills tell a model, and calls through the whole pipeline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.try_pack import try_pack
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result
from remit_sandbox.calculation.functions import FUNCTIONS
from tests.packaging import project

SKILLS = ("calc.evaluate", "calc.convert", "calc.date_difference", "calc.date_after")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(tmp_path_factory.mktemp("state")))
        with try_pack(project("remit-calc"), enforcement="available") as opened:
            yield opened


@pytest.fixture(scope="module")
def pipeline(deployment: Deployment) -> Iterator[Pipeline]:
    with State(deployment.state_folder) as state:
        yield Pipeline(
            skills=deployment.skills, rules=deployment.rules, state=state, sandbox=deployment.sandbox, unattended="deny"
        )


_numbers = count()


def ask(pipeline: Pipeline, skill: str, **arguments: Any) -> Result:
    call = Call(id=f"c{next(_numbers)}", skill=skill, arguments=json.dumps(arguments), session="s")
    return asyncio.run(pipeline.call(call))


def test_it_has_no_right_at_all(deployment: Deployment) -> None:
    assert deployment.problems == ()
    assert set(SKILLS) <= set(deployment.skills)
    for name in SKILLS:
        skill = deployment.skills[name]
        assert skill.effect == "read" and skill.cell is not None
        rights = skill.cell.rights
        assert (rights.read, rights.write, rights.net, rights.exec, dict(rights.env)) == ((), (), (), (), {})


def test_the_description_names_the_functions(deployment: Deployment) -> None:
    described = deployment.skills["calc.evaluate"].description
    left_out = {"len", "percent", "prod", "pvariance", "range", "trunc", "xor", "atan2"}
    assert not [name for name in FUNCTIONS if name not in described and name not in left_out]
    assert "radians" in described and "natural logarithm" in described


def test_a_result_shows_what_was_computed(pipeline: Pipeline) -> None:
    result = ask(pipeline, "calc.evaluate", expression="15% of 1,200")
    assert json.loads(result.text) == {"expression": "percent(15) * 1200", "result": "180"}
    result = ask(pipeline, "calc.convert", amount=5, unit="km", to="miles")
    assert json.loads(result.text)["conversion"] == "5 km = 3.10685596118667 mi"
    result = ask(pipeline, "calc.convert", amount="1/2", unit="L", to="ml")
    assert json.loads(result.text)["result"] == "500"
    result = ask(pipeline, "calc.date_difference", start="2024-02-01", end="2024-03-01")
    assert json.loads(result.text)["days"] == 29
    assert json.loads(result.text)["years_months_days"] == "0 years, 1 month, 0 days"
    result = ask(pipeline, "calc.date_after", start="2024-01-31", months=1)
    assert json.loads(result.text) == {"date": "2024-02-29", "weekday": "Thursday"}


@pytest.mark.parametrize(
    ("skill", "arguments", "says"),
    [
        ("calc.evaluate", {"expression": "2 +"}, "one complete expression"),
        ("calc.evaluate", {"expression": "9**9**9"}, "digits"),
        ("calc.evaluate", {"expression": "open('x')"}, "quotes"),
        ("calc.convert", {"amount": 1, "unit": "km", "to": "kg"}, "same quantity"),
        ("calc.convert", {"amount": 1, "unit": "parsnips", "to": "kg"}, "unknown"),
        ("calc.date_difference", {"start": "03/04/2024", "end": "2024-01-01"}, "2024-03-04 or 2024-04-03"),
    ],
)
def test_a_refusal_says_what_to_write(pipeline: Pipeline, skill: str, arguments: dict[str, Any], says: str) -> None:
    result = ask(pipeline, skill, **arguments)
    assert result.status == "failed" and says in result.text
