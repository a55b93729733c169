"""Which examples a model is shown, and how much is said where the context is short."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from remit.loop.brevity import FORMS, bare, first_sentence, longest_that_fits
from remit.loop.in_text import MOST_TOKENS, TextInterpreter
from remit.loop.native import NativeInterpreter
from remit.loop.shots import shots
from remit.models.estimate import tokens
from remit.skills import Skill


def skill(full: str, *, example: bool = True, said: str = "Does it. Slowly.") -> Skill:
    pack, name = full.split("__")
    schema = {
        "type": "object",
        "properties": {"description": {"type": "string", "description": "What it is. " * 9}},
        "required": ["description"],
    }
    examples = ({"question": f"Do {name}?", "arguments": {"description": name}},) if example else ()
    return Skill(pack=pack, name=name, description=said, schema=schema, examples=examples)


def named(*full: str, **options: Any) -> dict[str, Skill]:
    return {name: skill(name, **options) for name in full}


def test_every_pack_has_its_turn_before_any_has_a_second() -> None:
    skills = named("a__1", "a__2", "a__3", "b__1", "c__1")
    assert [name for _, name, _ in shots(skills, 3)] == ["a__1", "b__1", "c__1"]
    assert [name for _, name, _ in shots(skills, 4)] == ["a__1", "a__2", "b__1", "c__1"]
    assert len(shots(skills)) == 5


def test_of_each_skill_the_first_good_example_is_shown() -> None:
    written = ({"question": 3}, {"question": "1", "arguments": {}}, {"question": "2", "arguments": {}})
    skills = {name: replace(one, examples=written) for name, one in named("a__1", "a__2").items()}
    assert [(name, question) for question, name, _ in shots(skills)] == [("a__1", "1"), ("a__2", "1")]


def test_one_example_is_made_up_where_nobody_wrote_any() -> None:
    """Values that are made up get copied by small models; without any example they do not call at all."""
    bare_ones = named("a__1", "b__1", example=False)
    assert shots(bare_ones) == [
        ('Use a__1 with description "example".', "a__1", {"description": "example"}),
    ]
    assert [name for _, name, _ in shots({**bare_ones, **named("c__1")})] == ["c__1"]
    assert shots(bare_ones, 0) == []


def test_the_form_that_fits_is_taken() -> None:
    costs = dict(zip(FORMS, (100, 50, 20, 10), strict=True))
    for context, form in ((None, 0), (1000, 0), (100, 1), (40, 2), (20, 3), (1, 3)):
        assert longest_that_fits(lambda form: form, costs.__getitem__, context) is FORMS[form]


def test_a_bare_schema_keeps_an_argument_called_description() -> None:
    schema = {
        "type": "object",
        "description": "x",
        "properties": {
            "description": {"type": "string", "description": "x"},
            "list": {"type": "array", "items": {"description": "x", "anyOf": [{"description": "x", "type": "null"}]}},
        },
        "additionalProperties": False,
    }
    assert bare(schema) == {
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "list": {"type": "array", "items": {"anyOf": [{"type": "null"}]}},
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("text", "first"), [("Does it. Slowly.", "Does it."), ("Does 2.5 of it", "Does 2.5 of it"), ("", "")]
)
def test_first_sentence(text: str, first: str) -> None:
    assert first_sentence(text) == first


def full_names(skills: Mapping[str, Skill]) -> dict[str, Skill]:
    return {name.replace("__", "."): one for name, one in skills.items()}


def test_less_is_said_where_the_context_is_short() -> None:
    skills = full_names(named(*(f"p{n}__do" for n in range(8))))
    whole, short = (TextInterpreter(skills, dialect="react", context=tokens) for tokens in (None, 900))
    assert len(whole.request([]).messages) == 1 + 2 + 2 * 8
    assert len(short.request([]).messages) < 1 + 2 + 2 * 8
    assert "Slowly" in whole.request([]).messages[0].content
    assert "Slowly" not in short.request([]).messages[0].content
    assert "p7__do: Does it." in short.request([]).messages[0].content
    assert sum(map(tokens, short.head(tuple(skills)).messages)) < sum(map(tokens, whole.head(tuple(skills)).messages))


def test_native_skills_are_shortened_too() -> None:
    skills = full_names(named(*(f"p{n}__do" for n in range(8))))
    whole, short = (NativeInterpreter(skills, context=tokens).request([]).tools for tokens in (None, 500))
    assert [tool.name for tool in whole] == [tool.name for tool in short]
    assert whole[0].description == "Does it. Slowly."
    assert short[0].description == "Does it."
    assert "What it is" in json.dumps(whole[0].parameters)
    assert "What it is" not in json.dumps(short[0].parameters)
    assert "description" in short[0].parameters["properties"]


@pytest.mark.parametrize(("given", "context", "sent"), [(None, None, MOST_TOKENS), (None, 1000, 500), (77, 1000, 77)])
def test_a_reply_in_text_has_a_limit(given: int | None, context: int | None, sent: int) -> None:
    interpreter = TextInterpreter(full_names(named("a__1")), dialect="react", max_tokens=given, context=context)
    assert interpreter.request([]).max_tokens == sent
    assert NativeInterpreter({}, max_tokens=given).request([]).max_tokens == given
