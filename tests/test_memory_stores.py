"""Facts in a store of an extension: chosen by name, checked, and never the end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.errors import DeploymentError
from remit.models.scripted import ask
from tests.extension_parts import Place
from tests.in_process import remit
from tests.memory_parts import Listening, agent, remembering_place
from tests.model_server import serve, text

FAILING = """
class Failing:
    def facts(self, who):
        raise OSError("the shelf is on fire")
    def put(self, who, fact):
        raise OSError("the shelf is on fire")
    def forget(self, who, name):
        raise OSError("the shelf is on fire")

@hookimpl
def add_memory_stores():
    return {"shelf": Failing()}
"""
KEEPING = """
class Keeping:
    def __init__(self):
        self.kept = {}
    def facts(self, who):
        return list(self.kept.get(who, {}).values())
    def put(self, who, fact):
        self.kept.setdefault(who, {})[fact.name] = fact
    def forget(self, who, name):
        self.kept.get(who, {}).pop(name, None)

STORE = Keeping()

@hookimpl
def add_memory_stores():
    return {"shelf": STORE}
"""
HALF = KEEPING.replace("self.kept.setdefault(who, {})[fact.name] = fact", 'raise OSError("full")')
RUBBISH = KEEPING.replace("list(self.kept.get(who, {}).values())", '["Oslo"]')
REMEMBER = ask("remit.remember_fact", name="city", value="Oslo")


def place_with(tmp_path: Path, code: str) -> Place:
    place = remembering_place(tmp_path, memory='facts = true\nstore = "shelf"\n') if not code else None
    if place is None:
        place = remembering_place(tmp_path)
        place.add("shelves", code)
        place.edit("[memory]\n", '[memory]\nstore = "shelf"\n')
    return place


def test_a_store_keeps_the_facts_of_each_person(tmp_path: Path) -> None:
    place = place_with(tmp_path, KEEPING)
    for who, city in (("ada", "Oslo"), ("bob", "Rome")):
        script = [ask("remit.remember_fact", name="city", value=city), "Noted."]
        with agent(place, script, who=who) as made:
            assert made.run(f"I live in {city}.").calls[0].status == "ok"
            assert next(made.state.records(event="memory.remembered")).body["store"] == "shelf"
            assert not made.state.database.read(lambda c: c.execute("SELECT * FROM facts").fetchall())
    model = Listening()
    with agent(place, model, who="ada") as reading:
        reading.run("Hello")
    assert "Oslo" in model.shown[0][1] and "Rome" not in str(model.shown)


@pytest.mark.parametrize("code", [FAILING, RUBBISH], ids=["failing", "rubbish"])
def test_a_store_that_fails_ends_no_run(tmp_path: Path, code: str) -> None:
    place = place_with(tmp_path, code)
    with agent(place, [REMEMBER, "I could not."]) as made:
        result = made.run("I live in Oslo.")
        assert (result.status, result.calls[0].status) == ("answered", "failed")
        assert "memory cannot be used at the moment" in result.calls[0].text and "fire" not in result.calls[0].text
        (failed,) = made.state.records(event="extension.failed")
        assert (failed.body["extension"], failed.body["doing"]) == ("shelves", "facts of memory store shelf")


@pytest.mark.parametrize(("code", "told"), [(FAILING, 1), (KEEPING, 0)], ids=["failing", "control"])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_terminal_says_that_a_store_failed(tmp_path: Path, code: str, told: int, more: tuple[str, ...]) -> None:
    place = place_with(tmp_path, code)
    with serve([text("Hello.")]) as server:
        place.edit("[model]", f'[model]\nname = "m"\nbase_url = "{server.base_url}"')
        ran = remit("run", "Hi", *more, folder=place.folder, environment={"PYTHONPATH": str(place.site)})
    assert "Hello." in ran.out
    assert ran.err.count("extension shelves, facts of memory store shelf: ") == told
    assert ("the shelf is on fire" in ran.err and "remit log list --event extension.failed" in ran.err) is bool(told)


def test_a_change_that_a_store_did_not_make_is_on_record_as_failed(tmp_path: Path) -> None:
    with agent(place_with(tmp_path, HALF), [REMEMBER, "I could not."]) as made:
        assert made.run("I live in Oslo.").calls[0].status == "failed"
        events = [record.event for record in made.state.records() if record.event.startswith("memory.")]
    assert events == ["memory.remembered", "memory.failed"]


def test_a_store_that_nobody_gives_is_named(tmp_path: Path) -> None:
    place = place_with(tmp_path, "")
    with pytest.raises(DeploymentError, match=r"memory\.store names 'shelf', a memory store that no enabled extension"):
        place.open()


def test_while_extensions_are_off_nothing_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_with(tmp_path, KEEPING)
    monkeypatch.setenv("REMIT_EXTENSIONS", "off")
    with agent(place, ["Yes."]) as made:
        made.run("Hello")
        assert not [name for name in made.skills if "fact" in name]


def test_of_two_stores_of_one_name_neither_is_used(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    place.add("one", KEEPING)
    place.add("two", KEEPING)
    with place.open() as deployment:
        reasons = [problem.reason for problem in deployment.extensions.problems]
        assert len(reasons) == 2 and all("memory store shelf is also given by" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("{'shelf': object()}", "it has no method facts"),
        ("{'state': object()}", "that name is Remit's own"),
        ("{'A b': object()}", "lower-case letters"),
    ],
)
def test_an_unfit_store_is_refused_with_the_reason(tmp_path: Path, code: str, why: str) -> None:
    place = remembering_place(tmp_path)
    place.add("unfit", f"@hookimpl\ndef add_memory_stores():\n    return {code}\n")
    with place.open() as deployment:
        (problem,) = deployment.extensions.problems
        assert why in problem.reason
