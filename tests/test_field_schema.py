"""Cases from the field, area `schema`: what a model and its endpoint are shown of a skill. `HOLDS` is the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.errors import SchemaError
from remit.models.protocol import ToolSpec, tool_wire
from remit.models.wire import WIRE_KEYWORDS, wire_schema
from remit.packs.arguments import Arguments, Checked, Rejected
from remit.packs.describe import judge_description
from remit.packs.schema import accept_schema
from remit_sandbox.values import Described
from tests.command import remit
from tests.field_parts import Field, functions, given, is_whole, opened, write_pack

HOLDS = {
    "L02": "a type is resolved in the module's namespace, never among the names of a TypedDict's fields",
    "L03": "fields of the inner model are called p0, p1 ...; the parameters' names are only aliases",
    "L05": "only a `ctx` without annotation or annotated Context is Remit's; `ctx: str` is an argument",
    "L12": "references are written out in place; the wire form has neither $ref nor default",
    "L14": "a recursive pointer is refused and quoted; others are resolved as RFC 6901 says (DESIGN: not recursive)",
    "L15": "the skill is refused when it is described; the others of its pack stay",
    "L16": "the wire form always has properties, required and additionalProperties; DESIGN: never left out",
    "L17": "strict only when the schema really is; null then means not given",
    "L18": "open-keyed objects make the wire form non-strict and stay open",
    "L19": "a small set of keywords; the rest goes to the description and stays enforced",
    "L26": "refused when it is described, naming both; the others of its pack stay",
    "L27": "the schema is an object with x and y; x is passed by position",
    "L28": "defaults are compared by identity; one that has no JSON form is not shown",
    "L30": "the cell converts to instances at every depth; nested objects are closed",
    "L31": "an enum without a type; no mixing of bool, int and text; remarks become descriptions",
    "L33": "all paragraphs are the description; an unknown argument in a docstring is a note for the author",
    "L34": "sections other than the arguments never leave the docstring",
    "L35": "types in a docstring are skipped; a default of None makes the type nullable; UTF-8 on the wire",
    "L39": "names are compared after NFC; equal ones are refused; no aliases are needed, so there are none",
}

DATA_CLASS = """\
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Reading:
    {fields}
def tool(reading: Reading) -> str:
    return repr(reading)
"""
NAMED_TUPLE = """\
from __future__ import annotations
from typing import NamedTuple
class Reading(NamedTuple):
    {fields}
def tool(reading: Reading) -> str:
    return repr(reading)
"""
VARIANTS = {
    "data": DATA_CLASS.format(fields="int: int\n    str: str = 'x'\n    list: list[str] | None = None"),
    "tuples": NAMED_TUPLE.format(fields="int: int\n    list: list[str]"),
    "nowhere": DATA_CLASS.format(fields="a: Nowhere"),
    "names": "def tool(model_fields: str, model_dump: int = 1, model_post_init: str = 'x', validate: int = 0) -> str:\n"
    "    return f'{model_fields}{model_dump}{model_post_init}{validate}'\n",
    "response": "class Response: pass\ndef tool(n: int, back: Response) -> str:\n    return 'x'\n",
    "given": "def tool(ctx, name: str) -> str:\n    return f'{name}:{bool(ctx.tmp)}'\n",
    "literals": "from typing import Literal\ndef tool(n: Literal[0, 1]) -> str:\n    return repr(n)\n",
    "numpy": 'def tool(x: int = 1) -> int:\n    """Halve.\n\n    Parameters\n    ----------\n    x : int\n'
    '        An even number.\n\n    Returns\n    -------\n    int\n        Half.\n    """\n    return x\n',
    "sphinx": 'def tool(x: int = 1) -> int:\n    """Halve.\n\n    :param x: An even number.\n    :returns: Half.\n'
    '    """\n    return x\n',
    "bare": "def tool(x: int = 1) -> int:\n    return x\n",
    "equal": "from typing import TypedDict\nT = TypedDict('T', {'l\\u00e4': int, 'la\\u0308': int})\n"
    'def tool(t: T) -> int:\n    """Two names that are one."""\n    return 1\n',
}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    with opened(tmp_path_factory.mktemp("schema"), {**functions("schema"), **VARIANTS}) as field:
        yield field


@pytest.fixture(scope="module")
def sent(field: Field) -> dict[str, dict[str, Any]]:
    return field.sent()


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _walk(part)


def _schemas(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a wire schema and every schema inside it."""
    yield node
    inner = [*node.get("properties", {}).values(), *node.get("anyOf", ()), node.get("items")]
    for part in [*inner, node.get("additionalProperties")]:
        if isinstance(part, dict):
            yield from _schemas(part)


def _accepted(schema: Any) -> Any:
    return accept_schema(json.dumps(schema).encode())


def test_the_table_is_whole() -> None:
    assert is_whole(HOLDS, globals(), "schema")


def test_l02_field_names_shadow_no_types(field: Field) -> None:
    reading = field.skill("L02").schema["properties"]["reading"]
    assert reading["properties"] == {"int": {"type": "integer"}, "float": {"type": "number"}}
    assert reading["type"] == "object" and "required" not in reading
    assert field.ask("L02", {"reading": {"int": 1, "float": 0.5}}).text == "{'int': 1, 'float': 0.5}"
    assert field.ask("L02", {"reading": {"int": "x"}}).status == "invalid"
    assert field.ask("data", reading={"int": 1, "list": ["y"]}).text == "Reading(int=1, str='x', list=['y'])"
    assert field.ask("tuples", reading=[1, ["y"]]).text == "Reading(int=1, list=['y'])"
    assert field.ask("tuples", reading=[1, 2]).status == "invalid"
    assert "'Nowhere' is not defined" in field.refused("nowhere")


def test_l03_no_name_is_reserved(field: Field) -> None:
    assert list(field.skill("L03").schema["properties"]) == ["model_config", "schema", "json", "copy", "self_"]
    assert field.ask("L03").text == "a|b|{}|False"
    assert field.ask("names", model_fields="f", model_dump=2, validate=3).text == "f2x3"
    refused = field.refused("response")
    assert "'back'" in refused and "Response" in refused and "pydantic-core" not in refused


def test_l05_nothing_is_given_by_name_alone(field: Field) -> None:
    assert list(field.skill("L05").schema["properties"]) == [
        "config", "ctx", "context", "callbacks", "run_id", "timeout",
    ]  # fmt: skip
    assert field.ask("L05").text == "c/x/y/z/r/7"
    assert list(field.skill("given").schema["properties"]) == ["name"]
    assert field.ask("given", name="n").text == "n:True"
    assert field.ask("given", name="n", ctx={}).status == "invalid"


def test_l12_no_reference_and_no_default_beside_one(field: Field, sent: dict[str, Any]) -> None:
    parameters = sent["field__l12"]["parameters"]
    assert not any({"$ref", "$defs", "default"} & node.keys() for node in _walk(parameters))
    assert (field.ask("L12").text, field.ask("L12", '{"box": null}').text) == ("none", "none")
    assert field.ask("L12", {"box": {"w": 2}}).text == "2x1"


def test_l14_pointers_into_arrays() -> None:
    with pytest.raises(SchemaError, match=r"#/properties/t\b.*recursive"):
        _accepted(given("L14")["schema"])
    parts = {"a/b": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]}, "m~n": {"type": "boolean"}}
    references = {
        "second": {"$ref": "#/properties/a~1b/anyOf/1"},
        "other": {"$ref": "#/properties/m~0n"},
        "encoded": {"$ref": "#/properties/a%7E1b/anyOf/1"},
    }
    schema = _accepted({"type": "object", "properties": {**parts, **references}})
    assert schema["properties"]["second"] == schema["properties"]["encoded"] == {"type": "integer", "minimum": 3}
    assert not any("$ref" in node for node in _walk(schema))
    check = Arguments(schema).check
    assert isinstance(check('{"second": 3, "other": true}'), Checked)
    assert isinstance(check('{"second": 2}'), Rejected) and isinstance(check('{"other": 1}'), Rejected)
    for pointer in ("#/properties/a~1b/anyOf/2", "#/properties/a~1b/anyOf/01", "#/properties/none"):
        with pytest.raises(SchemaError, match="leads nowhere"):
            _accepted({"type": "object", "properties": {**parts, "x": {"$ref": pointer}}})


def test_l15_alternatives_at_the_root(field: Field) -> None:
    case = json.dumps(given("L15")["schema"]).encode()
    described = judge_description("either", Described(schema=case, description="Either."))
    assert "'anyOf' at its root" in described.refused and not described.schema
    inside = {"type": "object", "properties": {"of": given("L15")["schema"]}, "required": ["of"]}
    accepted = judge_description("inside", Described(schema=json.dumps(inside).encode(), description="Inside."))
    assert not accepted.refused
    parameters, _ = wire_schema(accepted.schema)
    assert set(parameters) == {"type", "properties", "required", "additionalProperties"}
    check = Arguments(accepted.schema).check
    assert isinstance(check('{"of": {"file": "a"}}'), Checked) and isinstance(check('{"of": {}}'), Rejected)
    assert len(field.deployment.skills) > 10, "a skill that is refused takes no other with it"


def test_l16_without_parameters(field: Field, sent: dict[str, Any]) -> None:
    whole = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert sent["field__l16"]["parameters"] == whole
    for arguments in ("{}", "", "null", " \n"):
        assert field.ask("L16", arguments).text == "pong"
    assert field.ask("L16", {"x": 1}).status == "invalid"


def test_l17_strict_only_when_true(field: Field, sent: dict[str, Any]) -> None:
    parameters, strict = wire_schema(field.skill("L17").schema, strict=True)
    assert strict and parameters["required"] == ["city", "days", "unit"] == list(parameters["properties"])
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["days"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert field.ask("L17").text == "Oulu:3:None"
    assert field.ask("L17", '{"city": null}').status == "invalid", "null is no city"
    assert "strict" not in sent["field__l17"], "nobody asked for it"
    spec = ToolSpec(name="t", description="", parameters=parameters, strict=strict)
    assert json.loads(tool_wire([spec]))[0]["function"]["strict"] is True


def test_l18_open_objects_are_never_strict(field: Field) -> None:
    parameters, strict = wire_schema(field.skill("L18").schema, strict=True)
    opens = {name: part["additionalProperties"] for name, part in parameters["properties"].items()}
    assert not strict and opens == {"env": True, "raw": True, "labels": {"type": "string"}}
    assert field.ask("L18").value == 3
    assert field.ask("L18", {"env": {}, "raw": {}, "labels": {"c": 1}}).status == "invalid"


def test_l19_few_keywords_on_the_wire() -> None:
    schema = _accepted(given("L19")["schema"])
    parameters, _ = wire_schema(schema)
    assert all(node.keys() <= WIRE_KEYWORDS for node in _schemas(parameters))
    told = {name: part.get("description", "") for name, part in parameters["properties"].items()}
    assert "more than 0" in told["n"] and "a multiple of 5" in told["n"]
    assert "format uri" in told["u"] and "^\\d+$" in told["u"]
    both = {"type": "integer", "allOf": [{"minimum": 1}, {"exclusiveMaximum": 5}]}
    joined, _ = wire_schema(_accepted({"type": "object", "properties": {"n": both}}))
    assert "at least 1" in joined["properties"]["n"]["description"] and "less than 5" in str(joined)
    assert parameters["properties"]["t"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    check = Arguments(schema).check
    assert isinstance(check('{"n": 5, "c": "x", "t": null}'), Checked)
    for name, text in (("n", '{"n": 0}'), ("n", '{"n": 7}'), ("c", '{"c": "y"}'), ("u", '{"u": "abc"}')):
        rejected = check(text)
        assert isinstance(rejected, Rejected) and rejected.errors[0].path == name


def test_l26_variadic_parameters_are_refused(field: Field, sent: dict[str, Any]) -> None:
    assert "*rest" in field.refused("L26") and "**extra" in field.refused("L26")
    assert "field__l26" not in sent and "field__l27" in sent
    assert field.ask("L26", {"name": "n"}).status == "invalid"


def test_l27_positional_only(field: Field) -> None:
    assert field.ask("L27").value == 7
    assert field.ask("L27", {"x": 3}).value == 3
    assert field.skill("L27").schema["type"] == "object"


def test_l28_defaults_are_compared_by_identity(field: Field) -> None:
    schema = field.skill("L28").schema
    assert schema["required"] == ["a"] and "default" not in schema["properties"]["flag"]
    assert field.ask("L28").text == "Odd"
    assert field.ask("L28", {"a": 1, "flag": "f"}).text == "str"


def test_l30_instances_at_every_depth(field: Field) -> None:
    assert field.ask("L30").text == "a1,b42"
    result = field.ask("L30", {"items": [{"sku": "a", "colour": 1}], "by": {}})
    assert result.status == "invalid" and "items[0].colour" in result.text
    result = field.ask("L30", {"items": [], "by": {"k": [{"sku": "c"}, {"qty": 2}]}})
    assert result.status == "invalid" and "by.k[1].sku" in result.text


def test_l31_literals_and_unions(field: Field) -> None:
    properties = field.skill("L31").schema["properties"]
    assert properties["level"] == {"enum": ["lo", "hi", 3, None]} and properties["sku"] == {"type": "string"}
    assert properties["when"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert properties["when"]["description"] == "hours"
    assert field.ask("L31").text == "3/k/2"
    assert field.ask("L31", {"level": None, "sku": "k"}).text == "None/k/None"
    for level in ("3", True, "mid", 1):
        assert field.ask("L31", {"level": level, "sku": "k"}).status == "invalid", level
    assert field.ask("literals", n=1).text == "1"
    for n in (True, False, "1"):
        assert field.ask("literals", n=n).status == "invalid", n


def test_l33_docstrings_of_every_form(field: Field, tmp_path: Path) -> None:
    skill = field.skill("L33")
    assert skill.description.split("\n\n") == [
        "Search the log.",
        'Use it for facts. Example: "colour: red" is fine.',
        "Second paragraph with a colon: still text.",
    ]
    described = {name: part["description"] for name, part in skill.schema["properties"].items()}
    assert described == {"query": "What to find: may hold colons. Continued line.", "top": "How many."}
    assert any("l33" in note and "'ghost'" in note for note in field.deployment.notes)
    project = write_pack(tmp_path / "project", {"l33": given("L33")["source"]})
    assert "no parameter" in remit("packs", "try", str(project), folder=tmp_path).err
    for name in ("numpy", "sphinx"):
        skill = field.skill(name)
        assert (skill.description, skill.schema["properties"]["x"]["description"]) == ("Halve.", "An even number.")
    assert field.skill("bare").description == "" and field.ask("bare", "").value == 1


def test_l34_nothing_else_of_a_docstring_is_sent(sent: dict[str, Any]) -> None:
    function = sent["field__l34"]
    assert function["description"] == "Halve a number."
    assert function["parameters"]["properties"]["x"]["description"] == "even number"
    assert not any(secret in json.dumps(sent) for secret in ("srv/keys", "4711"))


def test_l35_types_in_docstrings(field: Field, sent: dict[str, Any]) -> None:
    properties = sent["field__l35"]["parameters"]["properties"]
    assert properties["ruta"]["description"] == 'ubicación, p. ej. "bahía: 2"'
    assert properties["filtro"]["description"] == "expresión «a:b»"
    assert sent["field__l35"]["description"] == "Abre una señal náutica."
    assert field.ask("L35").text == field.ask("L35", {"ruta": "é"}).text == "é"


def test_l39_names_after_folding(field: Field, sent: dict[str, Any]) -> None:
    assert list(sent["field__l39"]["parameters"]["properties"]) == ["größe", "länge", "幅"]
    assert field.ask("L39").value == 6
    twice = field.ask("L39", '{"größe": 2, "la\\u0308nge": 3, "l\\u00e4nge": 4}')
    assert twice.status == "invalid" and "länge" in twice.text and "twice" in twice.text
    assert "(NFC)" in field.refused("equal")
    both = {"type": "object", "properties": {"l\u00e4": {"type": "integer"}, "la\u0308": {"type": "integer"}}}
    with pytest.raises(SchemaError, match="one after Unicode NFC"):
        _accepted(both)
