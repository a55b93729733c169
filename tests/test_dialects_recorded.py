"""Outputs in the formats of MiniMax, Granite, Phi and Command, whole and in pieces.

They were written for these tests in the formats that the makers and two inference engines describe; `format` of each
says where. Nothing in them was recorded from a model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.dialects import Parser, Skills, parse

FILE = Path(__file__).parent / "data/dialect_families.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
SKILLS: Skills = {
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    "write_file": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    "send": {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}},
            "text": {"type": "string"},
            "urgent": {"type": "boolean"},
        },
    },
}


def found(parsed: Any) -> list[dict[str, Any]]:
    return [{"name": call.name, "arguments": call.value} for call in parsed.calls]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_it_is_read_as_its_family_and_as_any(case: dict[str, Any]) -> None:
    for dialect in (case["dialect"], "auto"):
        parsed = parse(case["text"], SKILLS, dialect)
        assert found(parsed) == case["calls"], parsed
        if case["said"] is None:
            assert parsed.errors, "what is cut off is told"
        else:
            assert parsed.text.strip() == case["said"] and not parsed.errors and not parsed.repairs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_pieces_give_the_same_and_show_no_mark(case: dict[str, Any]) -> None:
    for dialect in (case["dialect"], "auto"):
        for size in (1, 3, 7, 50):
            parser = Parser(dialect, SKILLS)
            shown = ""
            for at in range(0, len(case["text"]), size):
                shown += "".join(event.text for event in parser.feed(case["text"][at : at + size]))
            _, parsed = parser.end()
            assert parsed == parse(case["text"], SKILLS, dialect)
            assert not any(mark in shown for mark in ("<|", "<minimax", "<invoke", "functools[", "Action:", "]<]"))


@pytest.mark.parametrize("case", [case for case in CASES if case["calls"]], ids=lambda case: case["id"])
def test_cut_anywhere_it_gives_no_call_that_the_whole_does_not(case: dict[str, Any]) -> None:
    for end in range(len(case["text"])):
        parsed = parse(case["text"][:end], SKILLS, case["dialect"])
        assert found(parsed) == case["calls"][: len(parsed.calls)], case["text"][:end]
