"""Handlers take and give every kind of value that docs/packs.md promises, in cells and in this process alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remit import testing
from remit.testing import TriedPack
from tests.packaging import project


@pytest.fixture(scope="module", params=[True, False], ids=["cells", "in this process"])
def typed(request: pytest.FixtureRequest) -> Iterator[TriedPack]:
    with testing.pack(project("typed"), cells=request.param) as pack:
        assert pack.left_out == ()
        yield pack


def test_models_arrive_as_models_nested_and_by_kind(typed: TriedPack) -> None:
    person = {"name": "Ada", "born": "1815-12-10", "home": {"street": "A"}}
    told = typed.value("models", person=person, pet={"kind": "dog"}, others=[{"name": "Bo"}])
    assert told == {"name": "Ada", "born": "1815-12-10", "home": {"street": "dog", "floor": 0, "tags": ["Bo"]}}
    wrong = typed.call("models", person={**person, "age": 3}, pet={"kind": "cow"})
    assert wrong.status == "invalid" and "person.age" in wrong.text and "pet" in wrong.text


def test_enums_literals_tuples_typed_dicts_and_unions(typed: TriedPack) -> None:
    told = typed.value("plain", colour="blue", size=2, mode=3, point=[2, 3], options={"colour": "red"}, ratio="x")
    assert told == {
        "colour": "blue", "size": 2, "mode": 3, "point": {"x": 2.0, "y": 3.0}, "options": {"colour": "red"}, "count": 1,
        "ratio": "x", "pairs": None,
    }  # fmt: skip
    assert typed.value("plain", colour="red", pairs={"a": [1]})["pairs"] == {"a": [1]}
    for wrong in ({"colour": "green"}, {"colour": "red", "count": 10}, {"colour": "red", "mode": "3"}, {}):
        assert typed.call("plain", wrong).status == "invalid", wrong


def test_dates_and_what_json_lacks(typed: TriedPack) -> None:
    ident = "12345678-1234-5678-1234-567812345678"
    given = {"day": "2026-02-28", "moment": "2026-02-28T01:02:03Z", "wait": "PT0.01S", "price": "2.50", "ident": ident}
    told = typed.value("times", given)
    assert told["next"] == "2026-03-01" and told["moment"] == "2026-02-28T01:02:03+00:00"
    assert (told["wait"], told["price"], told["ident"]) == ("PT0.01S", "2.50", ident)
    assert typed.call("times", day="28.2.2026").status == "invalid"


@pytest.mark.parametrize(("skill", "value"), [("steps", 3), ("later", {"count": 3})])
def test_generators_report_progress(typed: TriedPack, skill: str, value: object) -> None:
    typed.progress.clear()
    assert typed.value(skill, count=3) == value
    assert typed.progress == ["step 1", "step 2", "step 3"]


def test_bytes_and_files_come_back_by_handle(typed: TriedPack) -> None:
    picture = typed.value("picture")
    assert picture["media_type"] == "image/png" and typed.read(picture["handle"]).startswith(b"\x89PNG")
    told = typed.value("report", rows=5)
    assert told["table"]["media_type"].endswith("spreadsheetml.sheet") and told["table"]["size"] == 9
    assert told["document"]["media_type"] == "application/pdf"
    assert typed.read(told["document"]["handle"]) == b"%PDF-1.7"


def test_descriptions_come_from_every_style_of_docstring(typed: TriedPack) -> None:
    said_of = {"models": ("person", "somebody"), "plain": ("size", "how large"), "times": ("day", "a day")}
    for skill, (argument, said) in said_of.items():
        assert said in typed.schema(skill)["properties"][argument]["description"]
        assert "Parameters" not in typed.description(skill) and ":param" not in typed.description(skill)
    assert typed.schema("plain")["required"] == ["colour"]
    assert typed.schema("plain")["properties"]["colour"]["enum"] == ["red", "blue"]
