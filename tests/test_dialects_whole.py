"""Reading whole texts: the shared fixtures, the rules, and that no text is too strange."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.dialects import DIALECTS, Parsed, Parser, Skills, TextDelta, TextWithdrawn, parse

DATA = Path(__file__).parent / "data"
ROWS = [json.loads(line) for line in (DATA / "parser.jsonl").read_text(encoding="utf-8").splitlines()]
OUTPUTS = [json.loads(line) for line in (DATA / "model_outputs.jsonl").read_text(encoding="utf-8").splitlines()]
TYPES = json.loads((DATA / "parser_argument_types.json").read_text(encoding="utf-8"))


def skills_of(names: list[str]) -> Skills:
    return {
        name: {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in TYPES[name].items()},
            "required": list(TYPES[name])[:1],
        }
        for name in names
    }


SKILLS = skills_of(list(TYPES))
SMALL: Skills = {
    "calculator": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "get_time": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def pairs(parsed: Parsed) -> list[tuple[str, Any]]:
    return [(call.name, call.value) for call in parsed.calls]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_shared_fixture(row: dict[str, Any]) -> None:
    parsed = parse(row.get("raw", ""), skills_of(row["tools"]))
    expected = row["expected"]
    if expected == "error" or ("error" in row.get("lenient_ok", ()) and parsed.errors):
        assert parsed.errors
        assert not parsed.calls
    elif expected == "final":
        assert (parsed.text, parsed.calls, parsed.errors) == (row["final"], (), ())
    else:
        assert pairs(parsed) == [(call["name"], call["arguments"]) for call in expected]
        assert len(parsed.errors) == row.get("errors", 0)


def dialect_of(row: dict[str, Any]) -> dict[str, str]:
    if row["mode"].startswith("react"):
        return {"dialect": "react"}
    return {"dialect": "tagged", "tag": "call"} if row["mode"] == "neutral" else {"dialect": "auto"}


@pytest.mark.parametrize("row", OUTPUTS, ids=lambda row: f"{row['mode']}: {row.get('prompt', '')[:30]}")
def test_output_of_a_small_model(row: dict[str, Any]) -> None:
    parsed = parse(row["raw"], SMALL, **dialect_of(row))
    written = next(
        (name for name in SMALL if f'"name": "{name}"' in row["raw"] or f"Action: {name}" in row["raw"]), None
    )
    if written is not None and "10000000000" not in row["raw"]:
        assert [call.name for call in parsed.calls] == [written]
    else:
        assert not parsed.calls
    assert "TOOL_NAME" not in parsed.text
    if "Final Answer:" in row["raw"]:
        assert parsed.text == row["raw"].split("Final Answer:")[1].strip()
    assert "Thought:" not in parsed.text


CALL = '{"name": "calc", "arguments": {"expr": "1+1"}}'


@pytest.mark.parametrize("end", ["<|im_end|>\n", "<|im_start|>user\n", "<|endoftext|>", "<|eot_id|>"])
def test_text_after_the_turn_is_dropped(end: str) -> None:
    made_up = f"{end}And now?\n<tool_call>{CALL}</tool_call>"
    assert parse(f"Done.{made_up}", SKILLS) == Parsed(text="Done.")
    assert pairs(parse(f"{CALL}{made_up}", SKILLS)) == [("calc", {"expr": "1+1"})]


def test_the_tag_is_configurable() -> None:
    text = f"<call>{CALL}</call>"
    assert pairs(parse(text, SKILLS, "tagged", tag="call"))
    assert not parse(text, SKILLS, "tagged").calls
    for dialect, tag in [("nonsense", "x"), ("auto", "a b"), ("auto", "")]:
        with pytest.raises(ValueError, match=r"dialect|tag"):
            parse("", SKILLS, dialect, tag=tag)


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{CALL}\n<tool_call>{CALL}</tool_call></think>No.",
        f"<think>never closed\n{CALL}",
        f"It was thought aloud: {CALL}\n</think>No.",
        f"[THINK]\n{CALL}[/THINK]No.",
        f"Write `<tool_call>{CALL}</tool_call>` for that.",
        f"> <tool_call>{CALL}</tool_call>\n> {CALL}\nas you said",
        f"```python\n{CALL}\n```",
        f"~~~text\n<tool_call>{CALL}</tool_call>\n~~~",
        f"For example {CALL} would do.",
    ],
)
def test_reasoning_and_quotes_are_never_calls(text: str) -> None:
    assert not parse(text, SKILLS).calls
    assert not parse(text, SKILLS, "tagged").calls


def test_a_made_up_result_ends_the_turn() -> None:
    text = f"<tool_call>{CALL}</tool_call>\n<tool_response>2</tool_response>\nIt is 2."
    assert pairs(parse(text, SKILLS)) == [("calc", {"expr": "1+1"})]
    assert not parse(text, SKILLS).text
    assert not parse(f"<call>{CALL}</call><call_result>2</call_result>2", SKILLS, "tagged", tag="call").text


def test_a_tagged_call_in_a_fence_of_its_own() -> None:
    for fence in ("```", "```json", "```tool_call"):
        assert pairs(parse(f"{fence}\n<tool_call>{CALL}</tool_call>\n```", SKILLS)) == [("calc", {"expr": "1+1"})]
    for text in (f"```xml\n<tool_call>{CALL}</tool_call>\n```", f"```\nuse <tool_call>{CALL}</tool_call>\n```"):
        assert parse(text, SKILLS) == Parsed(text=text)


def test_reasoning_is_kept_apart() -> None:  # field case L104
    skills = {"wipe": {"type": "object", "properties": {}}}
    text = '<think>I could emit <tool_call>{"name":"wipe","arguments":{}}</tool_call> or not</think>\nAnswer: 4'
    parsed = parse(text, skills)
    assert (parsed.text, parsed.calls) == ("Answer: 4", ())
    assert parsed.reasoning.startswith("I could emit")
    assert parse("hm, 2+2</think>4", skills) == Parsed(text="4", reasoning="hm, 2+2")


@pytest.mark.parametrize(
    "name", ["TOOL_NAME", "SKILL", "<skill>", "tool_name", "your_skill_name", "BYE", "calcc", "calc; rm", ""]
)
def test_unknown_names_are_told(name: str) -> None:
    call = json.dumps({"name": name, "arguments": {"expr": "1"}})
    for text in (call, f"<tool_call>{call}</tool_call>", f"```json\n{call}\n```"):
        parsed = parse(text, SKILLS)
        assert not parsed.calls
        assert len(parsed.errors) == 1
        assert not parsed.text
    assert "Did you mean calc?" in parse(call.replace(name, "calcc") if name else call, SKILLS).errors[0] or not name


def test_json_that_is_no_call_stays_text() -> None:
    indented = 'So:\n\n    {"a": 1}\n    [{"b": 2}] and\n  {"type": kind, "b": c}\n'
    assert parse(indented, SKILLS).text == indented.strip()
    for text in ('{"answer": 42}', "[1, 2]", '{"name": "Alice", "age": 3}', "[1] says so", "{", '{"a": "', "[[[", "{}"):
        assert parse(text, SKILLS) == Parsed(text=text)


def test_names_are_mapped() -> None:
    skills = {"files__read": SKILLS["read_file"]}
    for name in ("files__read", "files.read", "functions.files__read", "files__read<|channel|>commentary"):
        assert [call.name for call in parse(json.dumps({"name": name, "arguments": {}}), skills).calls] == [
            "files__read"
        ]


def test_exact_text_of_arguments_is_kept() -> None:
    text = '{"name": "calc", "arguments": {"expr":  "1",\n "precision": 0.10000000000000000001}}'
    (call,) = parse(text, SKILLS).calls
    assert call.arguments == '{"expr":  "1",\n "precision": 0.10000000000000000001}'
    assert not call.repaired


def test_arguments_as_a_json_string_are_decoded_once() -> None:
    text = json.dumps({"name": "calc", "arguments": json.dumps({"expr": "1"})})
    assert pairs(parse(text, SKILLS)) == [("calc", {"expr": "1"})]
    twice = json.dumps({"name": "calc", "arguments": json.dumps(json.dumps({"expr": "1"}))})
    assert parse(twice, SKILLS).errors
    for nothing in (None, "", "  ", {}, []):
        assert pairs(parse(json.dumps({"name": "now", "arguments": nothing}), SKILLS)) == [("now", {})]


def test_good_calls_survive_a_bad_neighbour() -> None:
    bad = '<tool_call>{"name": "calc", "arguments": {expr}}</tool_call>'
    good = f"<tool_call>{CALL}</tool_call>"
    for text in (bad + good, good + bad, f"{bad}\n{good}\n{bad}"):
        parsed = parse(text, SKILLS)
        assert pairs(parsed) == [("calc", {"expr": "1+1"})]
        assert len(parsed.errors) == text.count("{expr}")
        assert not parsed.text
    unclosed = f'<tool_call>{{"name": "calc", "arguments": {{"expr": "1}}\n{good}'
    assert parse(unclosed, SKILLS).errors


@pytest.mark.parametrize("cut", range(1, len(CALL)))
def test_a_cut_call_never_runs(cut: int) -> None:
    for text in (
        f"<tool_call>{CALL[:cut]}",
        f"Action: calc\nAction Input: {CALL[30:][: cut - 31]}" if cut > 30 else "<tool_call>",
    ):
        parsed = parse(text, SKILLS)
        assert parsed.errors, text
        assert not parsed.calls, text
    assert not parse(CALL[:cut], SKILLS).calls
    assert not parse(f"```json\n{CALL[:cut]}", SKILLS).calls


def test_missing_closers_are_supplied_only_before_the_end_mark() -> None:
    inner = '{"name": "calc", "arguments": {"expr": "1"'
    parsed = parse(f"<tool_call>{inner}}}\n</tool_call>", SKILLS)
    assert pairs(parsed) == [("calc", {"expr": "1"})]
    assert parsed.calls[0].repaired
    assert parsed.repairs == ("missing } supplied",)
    assert not parse(f"<tool_call>{inner}}}\n", SKILLS).calls
    surplus = parse(f"<tool_call>{CALL}}}</tool_call>", SKILLS)
    assert surplus.calls[0].repaired


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("{'expr': 'it\\'s', }", {"expr": "it's"}),
        ("{'expr': 'say \"hi\"'}", {"expr": 'say "hi"'}),
        ('{"expr": "1", "precision": 2,}', {"expr": "1", "precision": 2}),
        ('{expr: "1"}', {"expr": "1"}),
        ('{"expr": None, "precision": True}', {"expr": None, "precision": True}),
        ('{"expr": "1" /* one */, // two\n "precision": 2}', {"expr": "1", "precision": 2}),
    ],
)
def test_repairs_are_reported(arguments: str, value: Any) -> None:
    parsed = parse(f'{{"name": "calc", "arguments": {arguments}}}', SKILLS)
    assert pairs(parsed) == [("calc", value)]
    assert parsed.calls[0].repaired
    assert parsed.repairs
    assert json.loads(parsed.calls[0].arguments) == value


@pytest.mark.parametrize(
    "arguments",
    [
        '{"expr": 01}',
        '{"expr": NaN}',
        '{"expr": -Infinity}',
        '{"a": 1, "a": 2}',
        '{"expr": 1e999}',
        '{"expr": "\\q"}',
        "{expr 1}",
    ],
)
def test_what_must_not_be_guessed(arguments: str) -> None:
    parsed = parse(f'{{"name": "calc", "arguments": {arguments}}}', SKILLS)
    assert parsed.errors
    assert not parsed.calls
    assert not parsed.text


REACT = 'Action: calc\nAction Input: {"expr": "1"}\n'


def test_react_stops_at_an_observation_and_takes_the_first_action() -> None:
    text = f"Thought: compute\n{REACT}Observation: 2\n{REACT.replace('1', '9')}Final Answer: 2"
    for dialect in ("react", "auto"):
        parsed = parse(text, SKILLS, dialect)
        assert pairs(parsed) == [("calc", {"expr": "1"})]
        assert parsed.reasoning == "compute"
        assert not parsed.text
    assert parse("Observation: 2\nFinal Answer: 2", SKILLS, "react").errors


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Final Answer: 5", "5"),
        ("Thought: I know\nFinal Answer: 5\nThought: more\nAction: calc", "5"),
        ("Thought: the answer is 5", "the answer is 5"),
        ("Thought: a\nThought: the answer is 5<|im_end|>x", "the answer is 5"),
        ("**Final Answer:** 5", "5"),
        ("just 5", "just 5"),
        ("Final Answer: 5\nObservation: 6", "5"),
        ("Final Answer: two\nlines\n", "two\nlines"),
    ],
)
def test_react_answers(text: str, answer: str) -> None:
    parsed = parse(text, SKILLS, "react")
    assert (parsed.text, parsed.calls, parsed.errors) == (answer, (), ())


@pytest.mark.parametrize(
    "text",
    [
        "Action: nope\nAction Input: {}",
        "Action: calc",
        "Action: send_mail\nAction Input: [1]",
        'Action: calc\nAction Input: {"expr": ',
        "Action Input: {}",
        "Action: \nAction Input: {}",
        "Action: send_mail\nAction Input: hello",
        "",
        "Thought:",
    ],
)
def test_react_errors_are_told(text: str) -> None:
    parsed = parse(text, SKILLS, "react")
    assert parsed.errors
    assert not parsed.calls


def test_react_mends_names_and_raw_input_openly() -> None:
    for text, value in [
        ('Action: calc(expr)\nAction Input: {"expr": "1"}', {"expr": "1"}),
        ("Action: calc\nAction Input: 1 + 2", {"expr": "1 + 2"}),
        ("Action: calc\nAction Input: 'a' + 'b'", {"expr": "'a' + 'b'"}),
        ('Action: calc\nAction Input: \'{"expr": "1"}\'', {"expr": "1"}),
    ]:
        parsed = parse(text, SKILLS, "react")
        assert pairs(parsed) == [("calc", value)]
        assert parsed.calls[0].repaired
        assert parsed.repairs


def test_react_action_as_json() -> None:
    text = 'Action:\n```json\n{"action": "calc", "action_input": {"expr": "1"}}\n```'
    assert pairs(parse(text, SKILLS, "react")) == [("calc", {"expr": "1"})]


def test_labels_in_ordinary_text_are_text_in_auto() -> None:
    text = "Here is the plan.\nAction: call your bank.\nFinal Answer: none."
    assert parse(text, SKILLS) == Parsed(text=text)


def streamed(text: str, cuts: list[int], dialect: str) -> Parsed:
    parser = Parser(dialect, SKILLS)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    shown = ""
    for start, end in pairwise(places):
        shown += "".join(event.text for event in parser.feed(text[start:end]))
    events, parsed = parser.end()
    for event in events:
        if isinstance(event, TextWithdrawn):
            shown = ""
        elif isinstance(event, TextDelta):
            shown += event.text
    assert shown == parsed.text
    return parsed


PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "```", "`", "\n", " ", "\n\n", "> "),
        *("Thought: ", "Action: ", "Action Input: ", "Observation: ", "Final Answer: ", "calc", "Hello", "a < b"),
        *(CALL, CALL[:20], CALL[20:], '{"name": "nope", "arguments": {}}', "{", "}", "[", "]", '"', "'", "\\", ","),
        *("<|im_start|>", "<|im_end|>", "[THINK]", "[/THINK]", "\ufeff", "~~~\n", "/*", "//", "é", "\ud800"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=14).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 200), max_size=8), st.sampled_from(DIALECTS))
def test_any_text_in_any_chunks_gives_the_same(text: str, cuts: list[int], dialect: str) -> None:
    parsed = parse(text, SKILLS, dialect)
    assert streamed(text, cuts, dialect) == parsed
    assert parsed.text or parsed.calls or parsed.errors
    for call in parsed.calls:
        assert call.name in SKILLS
        assert isinstance(call.value, dict)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_fixtures_letter_by_letter(row: dict[str, Any]) -> None:
    text = row.get("raw", "")
    assert streamed(text, list(range(len(text))), "auto") == parse(text, SKILLS)


def test_plain_text_is_shown_as_it_comes() -> None:
    parser = Parser("auto", SKILLS)
    shown = [event.text for word in ("It ", "is 5 ", "< 6", ".\n", "Then") for event in parser.feed(word)]
    assert "".join(shown) == "It is 5 < 6.\nThen"
    assert parser.end() == ((), Parsed(text="It is 5 < 6.\nThen"))


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<tool_call>",
            "<tool_call>{",
            "<tool_call>[/*",
            '<tool_call>["',
            "[",
            "{",
            '{"a":',
            "\n{",
            "\n[1,",
            "`",
            "` `` ",
        ),
        *(
            "\n```\n",
            "<think>",
            "</think>",
            "Thought: ",
            "\nThought: a\nAction: b",
            "\n> ",
            "Action: calc\n",
            "\\",
            '"',
        ),
        *("\n{'", "\n[/*", " ", "\n", "```json\n{\n", "<", "<|im_start|>", CALL + "\n", "~~~\n", '\n{"name": "calc'),
    ],
)
def test_long_adversarial_text_is_read(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    for dialect in ("auto", "react"):
        parsed = parse(text, SKILLS, dialect)
        assert parsed.text or parsed.calls or parsed.errors or parsed.reasoning
