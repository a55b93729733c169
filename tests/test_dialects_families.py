"""The dialects of the model families: the rules hold in each of them, and what is particular to each."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from remit.dialects import DIALECTS, Parsed, Skills, parse, render_call
from remit.dialects.form import Dialect
from remit.dialects.reader import Reader

SKILLS: Skills = {
    "write_file": {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "mode": {"type": "integer"},
            "force": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/point"}, {"type": "string"}]},
            "any": {},
            "state": {"enum": [1, "one"]},
        },
        "$defs": {"point": {"type": "object"}},
    },
    "now": {"type": "object", "properties": {}},
}
ARGUMENTS = {"path": "a.txt", "content": "rm -rf /tmp/build", "mode": 7}
MARKED = sorted(set(DIALECTS) - {"json", "react", "llama"})
"""Dialects whose calls have marks: no bare JSON, no labels."""


def pairs(parsed: Parsed) -> list[tuple[str, Any]]:
    return [(call.name, call.value) for call in parsed.calls]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_auto_knows_each_by_its_marks(dialect: str) -> None:
    written = render_call("write_file", ARGUMENTS, dialect)
    assert pairs(parse(written, SKILLS)) == [("write_file", ARGUMENTS)]
    assert not parse(written, SKILLS).repairs


@pytest.mark.parametrize("around", ["<think>{}</think>No.", "[THINK]{}[/THINK]No.", "<think>{}", "{}</think>No."])
@pytest.mark.parametrize("dialect", MARKED)
def test_reasoning_is_never_a_call(dialect: str, around: str) -> None:
    text = around.replace("{}", render_call("write_file", ARGUMENTS, dialect).replace("</think>", ""))
    for reader in ("auto", dialect):
        parsed = parse(text, SKILLS, reader)
        if not around.startswith("{}"):
            assert not parsed.calls
        assert not parse(text, SKILLS, reader, thinking=True).calls


@pytest.mark.parametrize("dialect", DIALECTS)
def test_quoted_calls_are_never_calls(dialect: str) -> None:
    written = render_call("write_file", ARGUMENTS, dialect)
    quoted = "\n".join(f"> {line}" for line in written.splitlines())
    texts = [f"So:\n{quoted}\nas you said", f"So:\n```xml\n{written}\n```\nas you said", f"~~~text\n{written}\n~~~"]
    if "\n" not in written:
        texts.append(f"One writes `{written}` for that.")
    for text in texts:
        for reader in ("auto", dialect):
            parsed = parse(text, SKILLS, reader)
            assert parsed == Parsed(text=text), text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_half_a_call_never_runs(dialect: str) -> None:
    written = render_call("write_file", ARGUMENTS, dialect)
    whole = [("write_file", ARGUMENTS)]
    for cut in range(1, len(written)):
        for reader in ("auto", dialect):
            parsed = parse(written[:cut], SKILLS, reader)
            assert pairs(parsed) in ([], whole), written[:cut]
            assert not any(call.repaired for call in parsed.calls)


@pytest.mark.parametrize("dialect", MARKED)
def test_nothing_runs_out_of_a_call_that_is_cut_off(dialect: str) -> None:
    """A call quoted inside the text of a call that does not end must not run in its place."""
    inner = render_call("now", {}, dialect)
    written = render_call("write_file", {"content": f"see {inner} and"}, dialect)
    for cut in range(written.index("see") + 3, len(written)):
        for reader in ("auto", dialect):
            assert not [name for name, _ in pairs(parse(written[:cut], SKILLS, reader)) if name == "now"], cut


@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"pythonic"}))
def test_unknown_names_are_told_in_every_dialect(dialect: str) -> None:
    written = render_call("write_fil", ARGUMENTS, dialect)
    for reader in ("auto", dialect):
        parsed = parse(written, SKILLS, reader)
        assert not parsed.calls
        assert parsed.errors
        assert "write_file" in parsed.errors[0]
        assert not parsed.text


@pytest.mark.parametrize("dialect", MARKED)
def test_two_calls_and_text_around_them(dialect: str) -> None:
    first, second = render_call("write_file", ARGUMENTS, dialect), render_call("now", {}, dialect)
    for reader in ("auto", dialect):
        assert pairs(parse(f"{first}\n{second}", SKILLS, reader)) == [("write_file", ARGUMENTS), ("now", {})]
        if dialect not in ("phi", "pythonic", "harmony"):
            parsed = parse(f"First:{first}", SKILLS, reader)
            assert (parsed.text, len(parsed.calls)) == ("First:", 1)


def xml(fields: str) -> str:
    return f"<tool_call>\n<function=write_file>\n{fields}</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("path", "7", "7"),
        ("path", "null", "null"),
        ("mode", "7", 7),
        ("mode", "seven", "seven"),
        ("force", "True", True),
        ("force", "false", False),
        ("note", "null", None),
        ("note", "None", None),
        ("note", "none of it", "none of it"),
        ("either", "12345678901234567890123", 12345678901234567890123),
        ("either", '{"x": 1}', {"x": 1}),
        ("either", "x", "x"),
        ("any", "[1, 2]", [1, 2]),
        ("any", "some text", "some text"),
        ("unheard_of", "5", "5"),
        ("state", "1", 1),
        ("state", "one", "one"),
        ("mode", "1e999", "1e999"),
    ],
)
def test_the_schema_says_what_a_value_is(key: str, raw: str, value: Any) -> None:
    for text in (
        xml(f"<parameter={key}>\n{raw}\n</parameter>\n"),
        f"<tool_call>write_file<arg_key>{key}</arg_key><arg_value>{raw}</arg_value></tool_call>",
        f'<invoke name="write_file"><parameter name="{key}">{raw}</parameter></invoke>',
    ):
        parsed = parse(text, SKILLS)
        assert pairs(parsed) == [("write_file", {key: value})]
        assert type(parsed.calls[0].value[key]) is type(value)
        assert not parsed.repairs


def test_damaged_structures_in_fields_are_repairs() -> None:
    parsed = parse(xml("<parameter=any>\n{'a': 1,}\n</parameter>\n"), SKILLS)
    assert pairs(parsed) == [("write_file", {"any": {"a": 1}})]
    assert parsed.calls[0].repaired


def test_missing_end_marks_of_fields_are_supplied_openly() -> None:
    parsed = parse(xml("<parameter=path>\na\n<parameter=content>\nb\n</parameter>\n"), SKILLS)
    assert pairs(parsed) == [("write_file", {"path": "a", "content": "b"})]
    assert parsed.repairs == ("missing end mark of an argument supplied",)
    assert parsed.calls[0].repaired
    pair = "<tool_call>write_file<arg_key>path</arg_key><arg_value>a</tool_call>"
    assert parse(pair, SKILLS).calls[0].repaired


def test_an_unclear_end_of_a_value_is_an_error() -> None:
    pair = "<tool_call>write_file<arg_key>path</arg_key><arg_value>a</tool_call>"
    parsed = parse(f"{pair}<tool_call>now<arg_key>x</arg_key><arg_value>b</arg_value></tool_call>", SKILLS)
    assert not parsed.calls
    assert "not clear where a value ends" in parsed.errors[0]


@pytest.mark.parametrize(
    "text",
    [
        xml("<parameter=path>\na\n</parameter>\n<parameter=path>\nb\n</parameter>\n"),
        "<|tool_call>call:write_file{mode:1,mode:2}<tool_call|>",
        "[write_file(mode=1, mode=2)]",
        '[TOOL_CALLS]write_file[ARGS]{"mode": 1, "mode": 2}',
        "<|tool_call>call:write_file{mode:NaN}<tool_call|>",
        '[TOOL_CALLS]write_file[ARGS]{"mode": Infinity}',
        "<|python_start|>[write_file(mode=1 + 1)]<|python_end|>",
        "<|python_start|>[write_file('a')]<|python_end|>",
    ],
)
def test_what_must_not_be_guessed(text: str) -> None:
    assert not parse(text, SKILLS).calls
    assert parse(text, SKILLS).errors or text.startswith("[write_file")


@pytest.mark.parametrize(
    "text",
    [
        "The call [write_file(path='x')] writes a file.",
        "write_file(path='x') would write it.",
        "```python\nwrite_file(path='x')\n```\nThat is how it works.",
        "```python\nprint(1)\nwrite_file(path='x')\n```",
        "[link](https://example.org) and [write](x)",
        "Set mode to write_file\n{see above}",
        "a < b, c[d](e), {f} and [g]",
    ],
)
def test_text_that_only_looks_like_python_stays_text(text: str) -> None:
    assert parse(text, SKILLS) == Parsed(text=text)


def test_good_calls_survive_a_bad_neighbour_in_sections() -> None:
    begin, end = "<|tool_call_begin|>functions.", "<|tool_call_end|>"
    good = f"{begin}write_file:0<|tool_call_argument_begin|>{json.dumps(ARGUMENTS)}{end}"
    bad = f"{begin}write_file:1<|tool_call_argument_begin|>{{mode}}{end}"
    for body in (good + bad, bad + good, f"{bad}{good}{bad}"):
        parsed = parse(f"<|tool_calls_section_begin|>{body}<|tool_calls_section_end|>", SKILLS)
        assert pairs(parsed) == [("write_file", ARGUMENTS)]
        assert len(parsed.errors) == body.count("{mode}")
        assert not parsed.text


def test_reasoning_that_the_prompt_began() -> None:
    call = render_call("now", {}, "hermes")
    parsed = parse(f"hm {call}</think>\n\nDone.", SKILLS, thinking=True)
    assert (parsed.text, parsed.calls, parsed.errors) == ("Done.", (), ())
    assert parsed.reasoning == f"hm {call}"
    cut = parse(f"hm {call}", SKILLS, thinking=True)
    assert (cut.text, cut.calls) == ("", ())
    assert "inside of reasoning" in cut.errors[0]
    assert parse("<think>a</think>b", SKILLS, thinking=True) == Parsed(text="b", reasoning="a")


def test_an_answer_in_a_channel_holds_no_call() -> None:
    call = json.dumps({"name": "now", "arguments": {}})
    text = f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{call}"
    assert parse(text, SKILLS) == Parsed(text=call, reasoning="hm")


def test_white_space_before_a_special_token_is_text() -> None:
    for dialect in ("kimi", "mistral", "deepseek", "gemma"):
        parsed = parse(f"Wait. {render_call('now', {}, dialect)}", SKILLS)
        assert (parsed.text, len(parsed.calls)) == ("Wait. ", 1)
    assert parse(f"Wait.\n{render_call('now', {}, 'hermes')}", SKILLS).text == "Wait."


def test_too_many_calls_are_told() -> None:
    parsed = parse(render_call("now", {}, "hermes") * 1500, SKILLS)
    assert len(parsed.calls) == 1000
    assert "More than 1000 calls" in parsed.errors[0]


@pytest.mark.parametrize(
    ("dialect", "text", "way"),
    [
        ("tagged", "<call>oops</call>", '{"name": "SKILL", "arguments": {...}}. Put it into the tags for calls.'),
        ("qwen_xml", "<function=now>oops</function>", "<function=SKILL>\n<parameter=NAME>\nvalue"),
        ("mistral", "[TOOL_CALLS] oops", "[TOOL_CALLS]SKILL[ARGS]{...}"),
        ("auto", "[TOOL_CALLS] oops", 'Write a call as JSON: {"name": "SKILL", "arguments": {...}}.'),
        ("react", "Action: now", 'Write "Action: SKILL" and on the next line "Action Input: {...}"'),
    ],
)
def test_errors_say_how_to_write_it_right(dialect: str, text: str, way: str) -> None:
    (error,) = parse(text, SKILLS, dialect, tag="call").errors
    assert way in error


def documented(language: str) -> list[str]:
    page = Path(__file__).parent.parent / "docs" / "dialects.md"
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_names_every_dialect_and_its_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parent.parent / "docs" / "dialects.md").read_text(encoding="utf-8")
    for dialect in DIALECTS:
        assert f"`{dialect}`" in page
    exec(documented("python")[0], {})
    assert capsys.readouterr().out == (
        "Let me look. [('weather', {'city': 'Oslo', 'days': 2})]\nIt is 5 degrees.True\n"
    )


def test_the_dialect_that_the_page_adds() -> None:
    names: dict[str, Any] = {}
    exec(documented("python")[1], names)
    dialect: Dialect = names["DIALECT"]

    def read(text: str) -> Parsed:
        return Reader(text, SKILLS, forms=dialect.forms, tags=(), labels=False).read()

    written = dialect.writing.call("write_file", ARGUMENTS, "")
    assert pairs(read(f"Now:\n{written}\n=> now {{}}")) == [("write_file", ARGUMENTS), ("now", {})]
    assert not read(f"`{written}`").calls
    for cut in range(1, len(written)):
        assert not read(written[:cut]).calls


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent.parent / "docs").glob("*.md")), ids=lambda path: path.name
)
def test_documents_are_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert parse(text, SKILLS) == Parsed(text=text.strip())
