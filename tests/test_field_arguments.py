"""Cases from the field, area `arguments`: from a model's text to what a handler gets. `HOLDS` is the table."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from remit.agent import Agent
from remit.loop.outcome import RunResult
from remit.loop.transcript import Transcript
from remit.models.protocol import Message, ToolCall
from remit.packs.arguments import Arguments, Checked
from remit.packs.schema import accept_schema
from remit.values import Result
from tests.field_parts import Field, functions, given, is_whole, opened
from tests.model_server import ModelServer, Play, calls, serve, text

HOLDS = {
    "L41": "a text parameter is never re-read: the handler gets the text as it came",
    "L43": "text for a list is invalid and nothing runs; only JSON text of a list is read as one (DESIGN 4)",
    "L46": "an integer fits a number in a union; text stays text",
    "L47": "an unknown name is invalid, the nearest known one is named, the schema in short is shown",
    "L49": "a default is never inserted (DESIGN 4); `**given` is refused, so the schema is tested on the acceptor",
    "L50": "null and empty text count as not given where an optional parameter can take neither",
    "L51": "no arguments in whatever form mean {}; a skill that needs some names them; sent back as {}",
    "L52": "what goes out was checked: the arguments of every earlier call are the text of an object",
    "L53": "raw control characters are no damage, for a skill that writes either; other damage says where",
    "L55": "strict JSON first; native arguments are never mended, by replacing or otherwise",
}

VARIANTS = {
    "version": 'def tool() -> str:\n    """Version."""\n    return "4.2"\n',
    "needs": 'def tool(q: str) -> str:\n    """Needs one."""\n    return q\n',
    "optional": "UNSET = 'unset'\ndef tool(q: str, after: str = UNSET, limit: int = 5) -> list:\n"
    '    """What arrived."""\n    return [q, after, limit]\n',
    "day": 'import datetime\ndef tool(day: datetime.date, n: int) -> str:\n    """Day."""\n    return f"{day}{n}"\n',
    "writes": given("L53")["source"],
}
WRITES = {"writes": 'effect = "write"'}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("arguments")
    with opened(folder, {**functions("arguments"), **VARIANTS}, WRITES) as field:
        yield field


def _did_not_run(result: Result) -> bool:
    return result.status == "invalid" and not result.enforcement and result.value is None


def _run(field: Field, server: ModelServer, **options: Any) -> RunResult:
    with Agent(field.deployment, model="m", base_url=server.base_url) as agent:
        return agent.run("go", **options)


def _sent_back(body: Any) -> list[Any]:
    """Return the arguments of every call in a request, each of which must be the text of an object."""
    asked = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    texts = [call["function"]["arguments"] for call in asked]
    assert all(isinstance(text, str) and isinstance(json.loads(text), dict) for text in texts)
    return [json.loads(text) for text in texts]


def test_the_table_is_whole() -> None:
    assert is_whole(HOLDS, globals(), "arguments")


def test_l41_json_in_text_stays_text(field: Field) -> None:
    assert field.ask("L41").value == 13
    assert _did_not_run(field.ask("L41", {"body": {"a": [1, 2]}}))


def test_l43_text_is_no_list(field: Field) -> None:
    result = field.ask("L43")
    assert _did_not_run(result) and "names: must be array, not string" in result.text
    assert field.ask("L43", {"names": ["oak", "elm"]}).value == 2
    read = field.ask("L43", {"names": '["oak", "elm"]'})
    assert read.value == 2 and read.notes == ("names: JSON text read as the array it spells",)


def test_l46_integers_are_numbers(field: Field) -> None:
    assert field.ask("L46").text == "float:1.0 float"
    assert field.ask("L46", {"v": "1", "w": 2}).text == "str:1 float"
    assert _did_not_run(field.ask("L46", {"v": True}))


def test_l47_unknown_names(field: Field) -> None:
    result = field.ask("L47")
    assert _did_not_run(result)
    assert "path: is unknown" in result.text and "Limit: is unknown; did you mean 'limit'?" in result.text
    assert "topic?: string" in result.text and "limit?: integer" in result.text
    assert field.wire("L47")["additionalProperties"] is False
    assert field.ask("L47", {"topic": "ledger", "limit": 3}).text == "ledger"


def test_l49_nothing_is_added(field: Field) -> None:
    schema = copy.deepcopy(given("L49")["schema"])
    schema["properties"]["limit"]["default"] = 10
    checked = Arguments(accept_schema(json.dumps(schema).encode())).check(given("L49")["arguments"])
    assert isinstance(checked, Checked) and checked.json == b'{"q":"x"}' and not checked.notes
    assert "**given" in field.refused("L49")
    assert field.ask("optional", '{"q": "x"}').value == ["x", "unset", 5]
    nulls = field.ask("optional", '{"q": "x", "after": null, "limit": null}')
    assert nulls.value == ["x", "unset", 5] and len(nulls.notes) == 2


def test_l50_empty_text_for_not_given(field: Field) -> None:
    assert field.ask("L50").text == "core None '' None"
    assert field.ask("L50", {"ns": "core", "since": "2024-01-02", "n": 3}).text == "core 2024-01-02 None 3"
    result = field.ask("day", {"day": "", "n": ""})
    assert _did_not_run(result) and "day: must be a date" in result.text and "n: must be integer" in result.text
    assert _did_not_run(field.ask("L50", {"ns": "core", "since": "soon"}))


def _chunks(skill: str, **function: Any) -> list[Any]:
    """Return the chunks of L51 for a skill of ours, with other arguments or none."""
    chunks: list[Any] = copy.deepcopy(given("L51")["chunks"])
    chunks[0]["choices"][0]["delta"]["tool_calls"][0]["function"] = {"name": f"field__{skill}", **function}
    return chunks


@pytest.mark.parametrize("function", [{"arguments": ""}, {"arguments": " \n"}, {"arguments": None}, {},
                                      {"arguments": "{}"}, {"arguments": "null"}])  # fmt: skip
def test_l51_no_arguments(field: Field, function: dict[str, Any]) -> None:
    plays = [Play(chunks=_chunks("version", **function)), text("It is 4.2.")]
    with serve(plays) as server:
        result = _run(field, server, on_event=lambda _: None)
    assert (result.status, result.answer, result.calls[0].text) == ("answered", "It is 4.2.", "4.2")
    assert _sent_back(server.bodies[1]) == [{}]
    with serve([Play(chunks=_chunks("needs", **function)), text("Sorry.")]) as server:
        result = _run(field, server, on_event=lambda _: None)
    assert _did_not_run(result.calls[0]) and "q: is required, but missing" in result.calls[0].text
    assert "JSON" not in result.calls[0].text


def _history(arguments: str) -> list[Message]:
    messages = copy.deepcopy(given("L52")["messages"])
    asked = messages[1].pop("tool_calls")
    call = ToolCall(id=asked[0]["id"], name="field__version", arguments=arguments)
    return [
        Message(role="user", content=messages[0]["content"], origin="person"),
        Message(role="assistant", content=messages[1]["content"] or "", origin="model", calls=(call,)),
        Message(role="tool", content=messages[2]["content"], origin="skill", call_id=messages[2]["tool_call_id"]),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", {}), ("[1]", {}), ('"x"', {}), ("{broken", {}), ('{"a": NaN}', {}), ("null", {}), ('{"a":1}', {"a": 1})],
)
def test_l52_history_is_sent_back_whole(field: Field, arguments: str, expected: Any) -> None:
    session = f"h{abs(hash(arguments))}"
    saved = [message.to_json() for message in _history(arguments)]
    with serve([text("pong it is")]) as server, Agent(field.deployment, model="m", base_url=server.base_url) as agent:
        agent.state.save_session(session, saved, status="answered")
        assert agent.run("again", session=session).answer == "pong it is"
    assert _sent_back(server.bodies[0]) == [expected]
    roles = [message["role"] for message in server.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert Transcript(_history(arguments)).messages[2].content == "pong"


def test_l53_raw_control_characters(field: Field) -> None:
    raw = given("L53")["arguments"]
    assert "\t" in raw and field.ask("L53").value == field.ask("writes", raw).value == 32
    with serve([calls(("field__l53", raw)), text("done")]) as server:
        assert _run(field, server).calls[0].value == 32
    assert _sent_back(server.bodies[1]) == [json.loads(raw, strict=False)]


@pytest.mark.parametrize("name", ["L53", "writes"])
@pytest.mark.parametrize(
    ("damaged", "position"),
    [
        ('{"path": "a", "text": "b"} and so on', 27),
        ('{"path": "a"} {"text": "b"}', 14),
        ('{"path": "a", text: "b"}', 14),
    ],
)
def test_l53_other_damage_says_where(field: Field, name: str, damaged: str, position: int) -> None:
    result = field.ask(name, damaged)
    assert _did_not_run(result) and f"at character {position}" in result.text


def test_l55_apostrophes(field: Field) -> None:
    assert field.ask("L55").text == "what's the captain's watch"
    for literal in ("{'q': 'x'}", "{'q': True}", "dict(q='x')"):
        result = field.ask("L55", literal)
        assert _did_not_run(result) and "not valid JSON at character" in result.text
