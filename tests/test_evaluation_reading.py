"""Suites are read strictly: every mistake has its line, and no file can do harm."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import UsageError
from remit.evaluation.case import Suite
from remit.evaluation.example import EXAMPLE
from remit.evaluation.from_session import case_of, written
from remit.evaluation.located import Malformed, read_json, read_yaml
from remit.evaluation.reading import chosen, parse_suite, read_suite
from remit.models.protocol import Message, ToolCall
from remit.state.sessions import SavedSession

ROOT = Path(__file__).parent.parent


def parse(text: str, ending: str = ".yaml") -> Suite:
    return parse_suite(text, Path(f"suite{ending}"))


def refused(text: str, ending: str = ".yaml") -> str:
    with pytest.raises(UsageError) as error:
        parse(text, ending)
    return error.value.message


def test_the_example_is_a_suite_and_the_one_in_examples() -> None:
    suite = parse(EXAMPLE)
    assert suite.name == "example" and len(suite.cases) == 5
    assert (ROOT / "examples/eval/suite.yaml").read_text("utf-8") == EXAMPLE


def test_the_three_forms_say_the_same() -> None:
    case = {"id": "a", "question": "Q?", "answer": {"contains": "x"}, "tags": ["t"]}
    yaml = parse("cases:\n- id: a\n  question: Q?\n  answer: {contains: x}\n  tags: [t]\n")
    assert yaml == parse(json.dumps({"cases": [case]}), ".json") == parse(json.dumps([case]), ".json")
    assert yaml == parse("\n" + json.dumps(case) + "\n\n", ".jsonl")


def test_defaults_hold_where_a_case_does_not_speak_and_lists_add_up() -> None:
    suite = parse(
        "defaults: {max_steps: 4, match: exact, tags: all, forbidden: [files.*], workspace: {files: {a: b}}}\n"
        "cases:\n- {id: a, question: q}\n"
        "- {id: b, question: q, max_steps: 2, match: none, tags: own, forbidden: [x.y]}\n"
    )
    first, second = suite.with_defaults()
    assert (first.max_steps, first.match, first.tags) == (4, "exact", ("all",))
    assert first.workspace is not None and first.workspace.files == {"a": "b"}
    assert (second.max_steps, second.match, second.tags) == (2, "none", ("all", "own"))
    assert [call.skill for call in second.forbidden] == [("files.*",), ("x.y",)]


def test_values_of_yaml_are_those_of_json() -> None:
    found = read_yaml(
        "a: no\nb: 010\nc: 2026-11-30\nd: 1:30\ne: 1_000\nf: 0x1f\ng: 7\nh: -1.5e3\ni: true\nj: ~\nk: '7'\n"
    )
    assert found.value == {
        "a": "no", "b": "010", "c": "2026-11-30", "d": "1:30", "e": "1_000", "f": "0x1f",
        "g": 7, "h": -1500.0, "i": True, "j": None, "k": "7",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "cases:\n- id: a\n  question: q\n  anwser: {}\n",
            "line 4: case a: there is no key anwser; did you mean answer?",
        ),
        (
            "cases:\n- id: a\n  question: q\n  answer:\n    contain: x\n",
            "line 5: case a: there is no key answer.contain; did",
        ),
        (
            "cases:\n- id: a\n  question: q\n  trajectory:\n  - skill: x.y\n    arguments:\n      b: {nearr: 1}\n",
            "line 7: ",
        ),
        ("cases:\n- id: a\n", "line 2: case a: question is missing"),
        ("cases:\n- id: a\n  question: 7\n", "line 3: case a: question: input should be a valid string"),
        ("cases:\n- id: a b\n  question: q\n", "line 2: case a b: id: string should match pattern"),
        (
            "cases:\n- {id: a, question: q}\n- {id: a, question: q}\n",
            "line 3: the id a is that of the case on line 2 already",
        ),
        ("cases:\n- id: a\n  id: b\n", "line 3: the key 'id' stands twice in one table"),
        ("cases:\n- {id: a, question: q, answer: {pattern: '(?=x)'}}\n", "look-around and back-references"),
        (
            "cases:\n- {id: a, question: q, answer: {schema: {type: nonsense}}}\n",
            "line 2: case a: answer: the schema cannot be used",
        ),
        (
            "cases:\n- {id: a, question: q, status: fine}\n",
            "line 2: case a: status: input should be 'answered', 'parked'",
        ),
        (
            "cases:\n- {id: a, question: q, trajectory: [{skill: x.y, arguments: {b: {within: 1}}}]}\n",
            "within needs near",
        ),
        (
            "cases:\n- {id: a, question: q, trajectory: [{skill: x.y, arguments: {b: {lt: soon}}}]}\n",
            "neither a number nor",
        ),
        ("suite: 2\ncases:\n- {id: a, question: q}\n", "line 1: suite: input should be 1"),
        ("", "holds no case"),
        ("cases: []", "holds no case"),
        ("- [", "suite.yaml: line "),
        ("a: b\n---\nc: d\n", "line 2: a second document begins here"),
        ("? [a]\n: b\n", "a key is a text, not a list or table"),
    ],
)
def test_mistakes_have_their_line_and_the_nearest_name(text: str, says: str) -> None:
    assert says in refused(text)


def test_lines_are_right_in_json_too() -> None:
    text = '{\n "cases": [\n  {"id": "x",\n   "question": "q {[,:",\n   '
    text += '"answer": {"contain": [{}, "a"]}},\n  {"id": "y"}]}'
    message = refused(text, ".json")
    assert "line 5: case x: there is no key answer.contain" in message
    assert "line 6: case y: question is missing" in message
    assert "line 2: case b: question is missing" in refused('{"id": "a", "question": "q"}\n{"id": "b"}', ".jsonl")
    assert "line 2: not valid JSON" in refused('{"id": "a", "question": "q"}\n{', ".jsonl")


HOSTILE = {
    "billion laughs": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)),
    "itself": "a: &a [*a]",
    "python": "- !!python/object/apply:os.system [echo]",
    "own tag": "- !thing {a: b}",
    "binary": "- !!python/tuple [1]",
    "deep flow": "[" * 5_000,
    "deep block": "".join(f"{' ' * depth}a:\n" for depth in range(200)),
    "many": "- a\n" * 110_000,
    "nothing there": "- *b",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_is_refused_within_its_caps(name: str) -> None:
    with pytest.raises(Malformed):
        read_yaml(HOSTILE[name])


def test_an_alias_within_the_caps_is_what_it_repeats() -> None:
    assert read_yaml("a: &x {k: [1]}\nb: *x\n").value == {"a": {"k": [1]}, "b": {"k": [1]}}


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(UsageError, match="more than 8 MiB"):
        read_suite(path)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.yaml cannot be read"):
        read_suite(tmp_path / "absent.yaml")
    (tmp_path / "suite.txt").write_text("x")
    with pytest.raises(UsageError, match="does not say how it is written"):
        read_suite(tmp_path / "suite.txt")
    (tmp_path / "suite.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        read_suite(tmp_path / "suite.yaml")


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match="needs PyYAML") as error:
        parse("cases: []")
    assert 'pip install "remit[eval]"' in error.value.remedy
    assert parse('{"id": "a", "question": "q"}', ".jsonl").cases[0].id == "a"


def test_cases_are_chosen_by_id_and_tag() -> None:
    suite = parse(
        "cases:\n- {id: sum-1, question: q, tags: [a]}\n- {id: sum-2, question: q, tags: [b]}\n- {id: x, question: q}\n"
    )
    assert [case.id for case in chosen(suite, filters=("sum",))] == ["sum-1", "sum-2"]
    assert [case.id for case in chosen(suite, filters=("sum",), tags=("b",))] == ["sum-2"]
    assert [case.id for case in chosen(suite, filters=("1", "x"))] == ["sum-1", "x"]
    with pytest.raises(UsageError, match="no case of suite fits"):
        chosen(suite, filters=("y",))
    with pytest.raises(UsageError, match="no case has the tag c"):
        chosen(suite, tags=("c",))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(TEXT, st.dictionaries(TEXT, TEXT | st.integers(-9, 9) | st.none() | st.lists(TEXT, max_size=2), max_size=2))
def test_a_session_as_a_case_reads_back_as_it_was(question: str, arguments: dict[str, Any]) -> None:
    call = ToolCall(id="c1", name="t__f", arguments=json.dumps(arguments))
    messages = (Message(role="user", content=question), Message(role="assistant", content="", calls=(call,)))
    saved = SavedSession(
        id="s", status="answered", transcript=tuple(one.to_json() for one in messages), created=0.0, updated=0.0
    )
    (case,) = parse(written(case_of(saved))).cases
    assert case.question == question and case.trajectory is not None
    (expected,) = case.trajectory
    assert {name: one.eq for name, one in expected.arguments.items()} == arguments


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.sampled_from([None, 1]))
def test_json_is_read_as_it_is_with_a_line_for_every_value(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    found = read_json(text)
    assert found.value == value
    assert set(found.lines) == set(_paths(value, ()))
    assert max(found.lines.values()) <= text.count("\n") + 1


def _paths(value: Any, path: tuple[Any, ...]) -> Any:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from _paths(one, (*path, key))
