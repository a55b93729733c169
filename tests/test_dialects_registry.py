"""Dialects that others add: checked when they come, guarded while they are there, gone when they are taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.dialects import Parser, known_dialects, parse, register_dialect, render_call
from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError
from remit.dialects.shapes import named_call
from remit.dialects.tagged import TAGGED

HEAD = re.compile(r"=>[ ]{1,9}(?P<name>[\w.-]{1,200})[ ]{0,9}(?=\{)")
SKILLS: Skills = {"weather": {"type": "object", "properties": {"city": {"type": "string"}}}}


def read(text: str, at: int, skills: Skills) -> Part | None:
    head = HEAD.match(text, at)
    if head is None:
        return None
    try:
        found, repairs, end = named_call(head["name"], text, head.end(), skills)
    except ScanError as error:
        return recover(text, at, error, None)
    return Part(end=end, found=(found,), repairs=tuple(repairs))


FORM = Form(name="arrow", read=read, line=r"=>\ ", begins=("=> ",))
WRITING = Writing(
    how="=> SKILL {...}",
    call=lambda name, arguments, tag: f"=> {name} {json.dumps(arguments)}",
    result=lambda name, text, tag: f"<= {text}",
    stop=lambda tag: ("<= ",),
)
ARROW = Dialect(forms=(FORM,), writing=WRITING)
CALL = '=> weather {"city": "Oslo"}'
PIECES = [CALL, "=> ", "=", ">", "\n", "text", "<tool_call>", '{"name"', "`", "=> weather {"]


@pytest.fixture
def arrow() -> Iterator[None]:
    take_out = register_dialect("arrow", ARROW, by="a test")
    yield
    take_out()


def test_it_is_known_while_it_is_there() -> None:
    assert parse(CALL, SKILLS).calls == ()
    take_out = register_dialect("arrow", ARROW)
    assert known_dialects()[-1] == "arrow" and render_call("weather", {"city": "Oslo"}, "arrow") == CALL
    for dialect in ("arrow", "auto"):
        (call,) = parse(f"Let me look.\n{CALL}", SKILLS, dialect).calls
        assert (call.name, call.value) == ("weather", {"city": "Oslo"})
    assert parse(CALL, SKILLS, "react").calls == ()
    take_out()
    take_out()
    assert "arrow" not in known_dialects() and parse(CALL, SKILLS).calls == ()
    with pytest.raises(ValueError, match="no dialect 'arrow'"):
        parse(CALL, SKILLS, "arrow")


def test_it_stays_until_everybody_has_taken_it_out() -> None:
    one, other = register_dialect("arrow", ARROW, by="x"), register_dialect("arrow", ARROW, by="x")
    one()
    assert "arrow" in known_dialects()
    other()
    assert "arrow" not in known_dialects()


@pytest.mark.parametrize(
    ("name", "dialect", "says"),
    [
        ("react", ARROW, "the dialect react is Remit's own"),
        ("auto", ARROW, "is no name for a dialect"),
        ("A-b", ARROW, "is no name for a dialect"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, name="phi"),)), "needs another name"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, name="a b"),)), "needs another name"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, name="fence"),)), "needs another name"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, line="(=>)"),)), "has a capturing group"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, line="["),)), "its line pattern is none"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, line="x?"),)), "matches nothing at all"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, line=""),)), "it has no mark"),
        ("arrow2", replace(ARROW, forms=(replace(FORM, line="->"),)), "does not read the call it writes"),
        ("arrow2", replace(ARROW, writing=replace(WRITING, call=lambda *_: 1)), "where a text is due"),
        ("arrow2", replace(ARROW, writing=replace(WRITING, call=lambda: "")), "cannot be written: TypeError"),
        ("arrow2", replace(ARROW, writing=TAGGED.writing), "read as arrow2, does not read"),
    ],
)
def test_one_that_breaks_the_rules_is_refused_and_leaves_nothing(name: str, dialect: Any, says: str) -> None:
    before = known_dialects()
    with pytest.raises(ValueError, match=re.escape(says)):
        register_dialect(name, dialect)
    assert known_dialects() == before and parse(CALL, SKILLS).calls == ()


def test_a_name_that_is_taken_names_who_has_it(arrow: None) -> None:
    with pytest.raises(ValueError, match="arrow is there already, from a test"):
        register_dialect("arrow", replace(ARROW, tag="x"), by="another")


def broken_reader(answer: Any) -> Form:
    """Return a form that reads the sample call when it is checked, and later does what `answer` says."""

    def reading(text: str, at: int, skills: Skills) -> Any:
        if "sample_skill" in text:
            return read(text, at, skills)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return replace(FORM, read=reading)


@pytest.mark.parametrize("answer", [ZeroDivisionError("x"), RecursionError(), "no part", 7])
def test_a_reader_that_fails_is_told_and_never_raises(answer: Any) -> None:
    take_out = register_dialect("arrow", replace(ARROW, forms=(broken_reader(answer),)))
    try:
        for dialect in ("arrow", "auto"):
            parsed = parse(f"{CALL}\n{CALL}", SKILLS, dialect)
            assert parsed.calls == () and len(parsed.errors) == 1
            assert "the dialect arrow failed" in parsed.errors[0]
    finally:
        take_out()


def test_what_comes_in_is_held_back_from_its_mark_on(arrow: None) -> None:
    parser = Parser("auto", SKILLS)
    shown = "".join(event.text for letter in f"I look.\n{CALL}" for event in parser.feed(letter))
    assert shown == "I look."
    events, parsed = parser.end()
    assert events == () and len(parsed.calls) == 1


@settings(max_examples=150)
@given(parts=st.lists(st.sampled_from(PIECES)))
def test_whole_and_streamed_are_the_same_with_it(parts: list[str]) -> None:
    take_out = register_dialect("arrow", ARROW)
    try:
        text = "".join(parts)
        parser = Parser("auto", SKILLS)
        for part in parts:
            parser.feed(part)
        assert parser.end()[1] == parse(text, SKILLS)
    finally:
        take_out()
