"""The streaming twin: what is shown before the end, and that nothing shown has to be taken back."""

import json
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.dialects import DIALECTS, Parsed, Parser, Skills, TextDelta, TextWithdrawn, parse, render_call

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "parser.jsonl").read_text(encoding="utf-8").splitlines()
]
SKILLS: Skills = {
    "calc": {"type": "object", "properties": {"expr": {"type": "string"}}},
    "now": {"type": "object", "properties": {}},
}
CALLS = [render_call(name, given, each) for each in DIALECTS for name, given in (("calc", {"expr": "1"}), ("now", {}))]
RAW = [row["raw"] for row in ROWS if row.get("raw")]


def shown_before_end(text: str, size: int = 3, *, dialect: str = "auto", thinking: bool = False) -> str:
    parser = Parser(dialect, SKILLS, thinking=thinking)
    return "".join(event.text for at in range(0, len(text), size) for event in parser.feed(text[at : at + size]))


def streamed(text: str, size: int, *, dialect: str = "auto", thinking: bool = False) -> Parsed:
    parser = Parser(dialect, SKILLS, thinking=thinking)
    shown = "".join(event.text for at in range(0, len(text), size) for event in parser.feed(text[at : at + size]))
    events, parsed = parser.end()
    for event in events:
        shown = "" if isinstance(event, TextWithdrawn) else shown + event.text
    assert shown == parsed.text
    return parsed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is 5, and 6 < 7.", "It is 5, and 6 < 7."),
        ("<think>\nhm\n</think>\n\nIt is 5.", "It is 5."),
        ("[THINK]hm[/THINK]It is 5.", "It is 5."),
        ("Run `make test` or ``a`b`` first.", "Run `make test` or ``a`b`` first."),
        ("So:\n```python\nprint(1)\n```\nand so on.", "So:\n```python\nprint(1)\n```\nand so on."),
        ('So:\n```json\n{"a": 1}\n```\nand so on.', 'So:\n```json\n{"a": 1}\n```\nand so on.'),
        ("Use <b>bold</b> and [1] and [a](b).", "Use <b>bold</b> and [1] and [a](b)."),
        ("[1] says so", "[1] says so"),
        ("> quoted\nThen", "> quoted\nThen"),
        ('Yes.\n<tool_call>{"name": "now"}</tool_call>', "Yes."),
        ("Yes.[TOOL_CALLS]now[ARGS]{}", "Yes."),
        ('{"name": "now"}', ""),
        ("calc(expr='1')", ""),
        ("calculate it yourself, then.", "calculate it yourself, then."),
        ("Thought: hm", ""),
    ],
)
def test_what_is_shown_before_the_end(text: str, shown: str) -> None:
    for size in (1, 2, 5, 100):
        assert shown_before_end(text, size) == shown
        assert streamed(text, size) == parse(text, SKILLS)


def test_reasoning_that_the_prompt_began_is_not_shown() -> None:
    for size in (1, 4, 100):
        assert shown_before_end("hm, 2 + 2 is more than 3</think>It is 4.", size, thinking=True) == "It is 4."
        assert shown_before_end("hm, 2 + 2 is more than 3", size, thinking=True) == ""


@pytest.mark.parametrize("call", CALLS)
def test_no_part_of_a_call_is_shown(call: str) -> None:
    for size in (1, 3, 7):
        assert shown_before_end(call, size) == ""
        assert streamed(call, size) == parse(call, SKILLS)


@pytest.mark.parametrize("text", RAW)
def test_what_was_shown_stays(text: str) -> None:
    parser = Parser("auto", SKILLS)
    shown = "".join(event.text for letter in text for event in parser.feed(letter))
    events, parsed = parser.end()
    assert parsed.text.startswith(shown) or TextWithdrawn() in events
    assert all(isinstance(event, TextDelta) for event in events)


def mutated(text: str, draw: st.DrawFn) -> str:
    for _ in range(draw(st.integers(1, 3))):
        at, size = draw(st.integers(0, len(text))), draw(st.integers(0, 30))
        other = draw(st.sampled_from([*CALLS, *RAW, "\n", "`", "```", "<think>", "</think>", "{", "}", '"', "'", " "]))
        text = draw(st.sampled_from([text[:at] + text[at + size :], text[:at] + other + text[at:], text[:at]]))
    return text


@st.composite
def damaged(draw: st.DrawFn) -> str:
    return mutated(draw(st.sampled_from([*CALLS, *RAW])), draw)


@settings(max_examples=400, deadline=None)
@given(damaged(), st.integers(1, 9), st.sampled_from(["auto", "auto", *DIALECTS]), st.booleans())
def test_damaged_texts_in_any_chunks_give_the_same(text: str, size: int, dialect: str, thinking: bool) -> None:
    parsed = parse(text, SKILLS, dialect, thinking=thinking)
    assert streamed(text, size, dialect=dialect, thinking=thinking) == parsed
    assert parsed.text.strip() or parsed.calls or parsed.errors
    for call in islice(parsed.calls, 3):
        assert call.name in SKILLS
        assert isinstance(call.value, dict)
