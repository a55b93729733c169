"""Arguments against a locked schema: the lossless bends, and what the model is told."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.packs.arguments import Arguments, Checked, Rejected
from remit.packs.schema import accept_schema


def arguments(required: tuple[str, ...] = (), **parts: Any) -> Arguments:
    schema = {"type": "object", "properties": parts, "required": list(required)}
    return Arguments(accept_schema(json.dumps(schema).encode()))


def good(checker: Arguments, given: Any) -> Any:
    result = checker.check(given if isinstance(given, str) else json.dumps(given))
    assert isinstance(result, Checked), result.message
    assert json.loads(result.json) == result.value
    return result.value


def bad(checker: Arguments, given: Any) -> str:
    result = checker.check(given if isinstance(given, str) else json.dumps(given))
    assert isinstance(result, Rejected)
    assert result.errors
    return result.message


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}


def optional(part: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [part, {"type": "null"}], "default": None}


@pytest.mark.parametrize("nothing", ["", "  \n\t", "null", " null ", "{}", " {} "])
def test_nothing_means_no_arguments(nothing: str) -> None:  # field cases L16, L51
    assert good(arguments(a=TEXT), nothing) == {}
    assert "a: is required" in bad(arguments(("a",), a=TEXT), nothing)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": "x"} and more', "character 11"),
        ('{"a": "x"}{"a": "y"}', "more text"),
        ('{"a": "x"', "character 9"),
        ("{'a': 'x'}", "not valid JSON"),
        ('{"a": "x", "a": "y"}', "stands twice"),
        ('{"n": NaN}', "NaN"),
        ('{"n": -Infinity}', "Infinity"),
        ('{"n": 9007199254740992}', "9007199254740991"),
        ('{"n": 1e400}', "range of a double"),
        ('{"n": 1e-400}', "range of a double"),
        ('{"n": 0.12345678901234567890}', "more digits"),
        ('{"n": 01}', "not valid JSON"),
        ('{"a": "\\ud83d"}', "surrogate"),
        ('{"a": "\ud83d"}', "surrogate"),
        ('["a"]', "must be a JSON object, not array"),
        ('"text"', "must be a JSON object, not string"),
        ("7", "must be a JSON object, not integer"),
        ("[" * 100_000, "nested"),
        ('{"o": ' * 5000, "nested"),
        ("1" * 5000, "too large"),
    ],
)
def test_what_is_no_json_object_is_told(text: str, told: str) -> None:
    assert told in bad(arguments(a=TEXT, n=NUMBER), text)


@pytest.mark.parametrize("number", ["9007199254740991", "-5", "0.1", "2.50", "1e3", "1E+2", "0", "-0.0", "1e22"])
def test_numbers_that_survive_are_kept(number: str) -> None:
    assert good(arguments(n=NUMBER), f'{{"n": {number}}}')["n"] == float(number)


def test_raw_control_characters_are_no_damage() -> None:  # field case L53
    given_text = '{"path":"a.go","text":"\t\tif x {\n\t}\\n"}'
    value = good(arguments(path=TEXT, text=TEXT), given_text)
    assert value["text"].count("\t") * 10 + value["text"].count("\n") == 32


def test_quotes_stay(  # field cases L41, L55
) -> None:
    assert good(arguments(q=TEXT), {"q": "what's the captain's watch"}) == {"q": "what's the captain's watch"}
    assert good(arguments(body=TEXT), {"body": '{"a": [1, 2]}'}) == {"body": '{"a": [1, 2]}'}


def test_text_that_spells_a_number_or_boolean_is_read() -> None:
    checker = arguments(n=INTEGER, f=NUMBER, b=BOOLEAN)
    assert good(checker, {"n": "5", "f": "-2.5e1", "b": "true"}) == {"n": 5, "f": -25.0, "b": True}
    result = checker.check('{"n": "5"}')
    assert isinstance(result, Checked)
    assert result.notes == ("n: text read as the integer it spells",)
    assert checker.check('{"n": 5}', repaired=True) == Checked(
        json=b'{"n":5}', value={"n": 5}, notes=("the JSON text was repaired by a parser",)
    )


@pytest.mark.parametrize(
    "text", ["05", " 5", "5 ", "+5", "5,0", "0x5", "1_000", "5.5", "five", "１", "9007199254740992"]
)
def test_text_that_does_not_spell_exactly_an_integer_is_refused(text: str) -> None:
    assert "n: must be integer, not string" in bad(arguments(n=INTEGER), {"n": text})


@pytest.mark.parametrize("text", ["True", "yes", "1", "TRUE"])
def test_text_that_does_not_spell_exactly_a_boolean_is_refused(text: str) -> None:
    bad(arguments(b=BOOLEAN), {"b": text})


def test_a_text_parameter_is_never_reread() -> None:  # field case L46
    either = {"anyOf": [NUMBER, TEXT]}
    assert good(arguments(v=either, w=NUMBER), {"v": 1, "w": 2}) == {"v": 1, "w": 2}
    assert good(arguments(v=either), {"v": "1"}) == {"v": "1"}
    assert good(arguments(v={"anyOf": [{"type": "array"}, TEXT]}), {"v": "[1]"}) == {"v": "[1]"}
    assert "t: must be string, not integer" in bad(arguments(t=TEXT), {"t": 5})


def test_one_level_of_json_text_is_read() -> None:
    checker = arguments(l={"type": "array", "items": {"type": "object", "properties": {"q": INTEGER}}})
    assert good(checker, {"l": '[{"q": "4"}]'}) == {"l": [{"q": 4}]}
    bad(checker, {"l": json.dumps([json.dumps({"q": 4})])})
    assert good(arguments(a=TEXT), json.dumps('{"a": "x"}')) == {"a": "x"}


def test_no_splitting_guess() -> None:  # field case L43
    checker = arguments(names={"type": "array", "items": TEXT})
    assert "names: must be array, not string" in bad(checker, {"names": "oak, elm"})
    bad(checker, {"names": '"oak"'})


def test_whole_numbers_become_integers_only_where_due() -> None:
    value = good(arguments(n=INTEGER, m=optional(INTEGER), f=NUMBER), '{"n": 5.0, "m": 1e3, "f": 5.0}')
    assert [type(one) for one in value.values()] == [int, int, float]
    bad(arguments(n=INTEGER), '{"n": 5.5}')
    assert "integer" in bad(arguments(n=INTEGER), '{"n": true}')
    bad(arguments(f=NUMBER), '{"f": true}')


def test_literals_do_not_mix() -> None:  # field case L31
    checker = arguments(level={"enum": ["lo", "hi", 3, None]})
    for value in ("lo", 3, None):
        assert good(checker, {"level": value}) == {"level": value}
    for value in ("3", True, 4, "LO"):
        assert 'must be one of "lo", "hi", 3, null' in bad(checker, {"level": value})
    bad(arguments(n={"enum": [1, 2]}), {"n": "1"})
    assert type(good(arguments(n={"enum": [1, 2]}), '{"n": 1.0}')["n"]) is int


def test_not_given() -> None:  # field cases L50, L35, L12
    date = {"type": "string", "format": "date"}
    checker = arguments(("ns",), ns=TEXT, since=optional(date), label=optional(TEXT), n=optional(INTEGER))
    assert good(checker, {"ns": "core", "since": "", "label": "", "n": ""}) == {"ns": "core", "label": ""}
    assert good(checker, {"ns": "core", "since": None}) == {"ns": "core", "since": None}
    assert good(arguments(city=TEXT, days=INTEGER), {"city": "Oulu", "days": None}) == {"city": "Oulu"}  # L17
    assert "n: must be integer" in bad(arguments(("n",), n=INTEGER), {"n": ""})
    assert "n: must be integer" in bad(arguments(("n",), n=INTEGER), {"n": None})
    assert good(arguments(t={"type": "string", "minLength": 1}), {"t": ""}) == {}


def test_defaults_are_never_inserted() -> None:  # field case L49
    assert good(arguments(q=TEXT, limit={"type": "integer", "default": 5}), {"q": "x"}) == {"q": "x"}


def test_unknown_names_are_refused_with_the_nearest() -> None:  # field case L47
    told = bad(arguments(topic=TEXT, limit=INTEGER), {"path": "ledger", "Limit": 3})
    assert "path: is unknown; known are topic, limit" in told
    assert "Limit: is unknown; did you mean 'limit'?" in told


def test_unknown_names_inside_are_refused() -> None:  # field case L30
    item = {"type": "object", "properties": {"sku": TEXT, "qty": INTEGER}, "required": ["sku"]}
    checker = arguments(items={"type": "array", "items": item}, by={"type": "object", "additionalProperties": item})
    assert good(checker, {"items": [{"sku": "a"}], "by": {"any": {"sku": "b"}}})
    assert "items[0].colour: is unknown" in bad(checker, {"items": [{"sku": "a", "colour": 1}]})
    assert "by.k.sku: is required" in bad(checker, {"by": {"k": {}}})
    maybe = arguments(box=optional(item))
    assert "box.colour: is unknown" in bad(maybe, {"box": {"sku": "a", "colour": 1}})
    assert good(maybe, {"box": {"sku": "a", "qty": "2"}}) == {"box": {"sku": "a", "qty": 2}}


def test_names_are_folded() -> None:  # field case L39
    checker = arguments(("größe", "länge"), größe=INTEGER, länge=INTEGER, 幅=INTEGER)
    assert good(checker, {"größe": 2, "la\u0308nge": 3}) == {"größe": 2, "länge": 3}
    assert "given twice" in bad(checker, {"größe": 2, "la\u0308nge": 3, "länge": 4})
    free = arguments(labels={"type": "object", "additionalProperties": TEXT})
    assert good(free, {"labels": {"la\u0308nge": "x"}}) == {"labels": {"la\u0308nge": "x"}}


@pytest.mark.parametrize(
    ("form", "fine", "wrong"),
    [
        ("date", ["2026-02-28"], ["20260228", "1700000000", "2026-02-30", "2026-02-28T00:00:00", "-1", "1e5"]),
        ("date-time", ["2026-02-28T10:00:00Z", "2026-02-28 10:00", "2026-02-28T10:00:00+02:00"], ["1700000000", "x"]),
        ("time", ["10:00", "10:00:00.5"], ["36000", "25:00"]),
        ("duration", ["PT1H", "01:30:00", "1 day, 02:03:04"], ["30", "3.5", "soon"]),
        ("uuid", ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"], ["6ba7", "1234"]),
        ("uuid4", ["0e37df36-f698-41e6-9a2c-0c6f6c3f4a3b"], ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x"]),
        ("uri", ["https://example.com/", "mailto:a@example.com"], ["example.com", "/x"]),
        ("email", ["a@example.com"], ["a", "@", "a@"]),
        ("ipv4", ["127.0.0.1"], ["127.1", "256.0.0.1"]),
        ("ipvanyaddress", ["::1", "10.0.0.1"], ["10.0.0"]),
    ],
)
def test_formats_are_those_of_pydantic(form: str, fine: list[str], wrong: list[str]) -> None:
    checker = arguments(("v",), v={"type": "string", "format": form})
    for text in fine:
        assert good(checker, {"v": text}) == {"v": text}
    for text in wrong:
        assert "v: must be" in bad(checker, {"v": text})


def test_limits_are_enforced_and_told() -> None:  # field case L19
    checker = arguments(
        n={"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
        c={"const": "x"},
        s={"type": "string", "maxLength": 2},
    )
    assert good(checker, {"n": 10, "c": "x"})
    assert "n: must be more than 0" in bad(checker, {"n": 0})
    assert "n: must be a multiple of 5" in bad(checker, {"n": 7})
    assert 'c: must be "x"' in bad(checker, {"c": "y"})
    assert "s: must have at most 2 characters" in bad(checker, {"s": "abc"})


def test_the_message_shows_the_schema_and_no_values() -> None:
    checker = arguments(("city",), city=TEXT, days={"type": "integer", "default": 3}, key=INTEGER)
    told = bad(checker, {"days": "many", "key": "s3cret"})
    assert "city: is required" in told
    assert "days: must be integer, not string" in told
    assert "{city: string, days?: integer = 3, key?: integer}" in told
    assert "s3cret" not in told


def test_many_and_long_faults_stay_short() -> None:
    told = bad(arguments(a=TEXT), {f"{'k' * 3000}{i}": 1 for i in range(500)})
    assert len(told) < 6000


SCHEMA_PARTS = {
    "n": INTEGER,
    "f": NUMBER,
    "b": BOOLEAN,
    "t": TEXT,
    "d": optional({"type": "string", "format": "date"}),
    "l": {"type": "array", "items": {"anyOf": [INTEGER, {"type": "object", "properties": {"q": INTEGER}}]}},
    "o": {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
    "any": {},
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["5", "true", "[1]"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SCHEMA_PARTS, "q"]), inner, max_size=4)
    ),
    max_leaves=10,
)
CHECKER = arguments(**SCHEMA_PARTS)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | VALUES.map(json.dumps))
def test_checking_never_raises_and_a_second_check_changes_nothing(text: str) -> None:
    result = CHECKER.check(text)
    if isinstance(result, Checked):
        assert CHECKER.check(result.json.decode()) == Checked(json=result.json, value=result.value)
    else:
        assert result.message


def test_large_arguments_are_read() -> None:
    content = 'line "quoted" \\ \n' * 20_000
    assert good(arguments(content=TEXT), {"content": content}) == {"content": content}
