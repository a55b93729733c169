"""Structured answers: asked for, read, repaired at most twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from remit import Agent, ScriptedModel, skill
from remit.dialects import known_dialects
from remit.errors import UsageError
from remit.loop.answer_schema import AnswerSchema, answer_of
from remit.loop.answer_type import AnswerType, Fits, Misfit
from remit.loop.event_json import result_json
from remit.models.openai import OpenAIModel
from remit.models.protocol import ModelReply
from remit.models.scripted import ask
from tests import model_server


class Weather(BaseModel):
    city: str
    degrees: float


GOOD = '{"city": "Oslo", "degrees": 3.5}'


@skill(effect="read")
def thermometer(city: str) -> float:
    """Read the thermometer of a city."""
    return 3.5


@pytest.mark.parametrize(
    "text", [GOOD, f"```json\n{GOOD}\n```", f"Here it is: {GOOD} Bye.", f'First {{"a": 1}}, then {GOOD}.']
)
def test_an_answer_is_found_in_what_a_model_writes(text: str) -> None:
    assert AnswerType(Weather).read(text) == Fits(value=Weather(city="Oslo", degrees=3.5))


@pytest.mark.parametrize("text", ["", "Oslo, 3.5", "{", '{"city": "Oslo"}', "[" * 9000])
def test_anything_else_is_a_misfit_that_says_why(text: str) -> None:
    read = AnswerType(Weather).read(text)
    assert isinstance(read, Misfit) and read.errors


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '"nan"'])
def test_what_is_no_number_of_json_is_no_answer(number: str) -> None:
    for type_, text in (
        (Weather, f'{{"city": "Oslo", "degrees": {number}}}'),
        (list[float], f"[1, {number}]"),
        (float, number.strip('"')),
    ):
        assert isinstance(AnswerType(type_).read(text), Misfit), type_
    schema = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    assert isinstance(AnswerSchema(schema).read(f'{{"n": {number}}}'), Misfit)
    assert AnswerSchema(schema).read('{"n": 1e9}') == Fits(value={"n": 1e9})


def test_of_answers_that_differ_none_is_taken() -> None:
    other = GOOD.replace("Oslo", "Bergen")
    for text in (f"{GOOD} {other}", f"```json\n{GOOD}\n```\n```json\n{other}\n```"):
        read = AnswerType(Weather).read(text)
        assert isinstance(read, Misfit) and "differ" in read.errors
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert isinstance(AnswerSchema(schema).read('{"a": 1} {"a": 2}'), Misfit)
    for text in (f"{GOOD} that is {GOOD}", f"Not {other} but\n```json\n{GOOD}\n```"):
        assert AnswerType(Weather).read(text) == Fits(value=Weather(city="Oslo", degrees=3.5))


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [(int, "42", 42), (Literal["yes", "no"], " yes\n", "yes"), (str, "hi", "hi"), (list[int], "[1, 2]", [1, 2]),
     (bool, "true", True)],
)  # fmt: skip
def test_plain_types(type_: Any, text: str, value: Any) -> None:
    assert AnswerType(type_).read(text) == Fits(value=value)


def test_a_type_without_a_schema_is_named() -> None:
    with pytest.raises(UsageError, match="answer_type Strange cannot be asked for"):
        AnswerType(type("Strange", (), {}))


@pytest.mark.parametrize("dialect", ["native", "tagged", "react"])
def test_a_run_with_calls_ends_in_a_value(dialect: str) -> None:
    said = {
        "native": (ask("local.thermometer", city="Oslo"), GOOD),
        "tagged": ('<tool_call>{"name": "local__thermometer", "arguments": {"city": "Oslo"}}</tool_call>', GOOD),
        "react": ('Action: local__thermometer\nAction Input: {"city": "Oslo"}', f"Final Answer: {GOOD}"),
    }[dialect]
    model = ScriptedModel(said)
    with Agent(skills=[thermometer], model=model, dialect=dialect) as agent:
        result = agent.run("How cold is it in Oslo?", answer_type=Weather)
    assert result.value == Weather(city="Oslo", degrees=3.5)
    assert [call.status for call in result.calls] == ["ok"]
    assert '"degrees"' in model.requests[0].messages[0].content
    assert result_json(result)["value"] == json.loads(GOOD)


def test_a_misfit_is_repaired_and_two_repairs_are_all() -> None:
    with Agent(skills=[thermometer], model=ScriptedModel(["It is cold.", '{"city": "Oslo"}', GOOD])) as agent:
        result = agent.run("go", answer_type=Weather)
        assert (result.status, result.steps, result.value.degrees) == ("answered", 3, 3.5)
    model = ScriptedModel(lambda _: '{"city": "Oslo"}')
    with Agent(skills=[thermometer], model=model) as agent:
        result = agent.run("go", answer_type=Weather)
    assert (result.status, result.steps, result.value) == ("stopped", 3, None)
    assert result.answer == '{"city": "Oslo"}' and "degrees" in result.stop_reason
    assert "degrees: Field required" in model.requests[1].messages[-1].content
    assert [request.answer_schema is not None for request in model.requests] == [False, True, True]


def test_an_answer_that_looks_like_a_broken_call_is_an_answer() -> None:
    """In bare JSON calls, any object is read as one; told apart by the type that is due."""
    said = '{"city": "Oslo", "degrees": 3.5}'
    for dialect in known_dialects():
        with Agent(skills=[thermometer], model=ScriptedModel([said]), dialect=dialect) as agent:
            result = agent.run("go", answer_type=Weather)
        assert (result.status, result.value) == ("answered", Weather(city="Oslo", degrees=3.5)), dialect


def test_without_an_answer_type_nothing_is_asked_for() -> None:
    model = ScriptedModel(["It is cold."])
    with Agent(skills=[thermometer], model=model) as agent:
        result = agent.run("go")
    assert (result.answer, result.value, model.requests[0].answer_schema) == ("It is cold.", None, None)
    assert "JSON Schema" not in model.requests[0].messages[0].content


def test_an_endpoint_gets_the_schema_and_one_that_refuses_it_is_asked_without() -> None:
    def play(body: Any) -> model_server.Play:
        if "response_format" in body:
            return model_server.error(400, "Cannot use custom grammar constraints with tools.")
        return model_server.text(GOOD)

    with model_server.serve([model_server.text(GOOD)]) as server:
        with Agent(model=OpenAIModel("m", base_url=server.base_url)) as agent:
            assert agent.run("go", answer_type=Weather).value.city == "Oslo"
        sent = server.bodies[0]["response_format"]["json_schema"]["schema"]
        assert sent["required"] == ["city", "degrees"]
    with model_server.serve(play) as server:
        with Agent(model=OpenAIModel("m", base_url=server.base_url)) as agent:
            assert agent.run("go", answer_type=Weather).value.city == "Oslo"
        assert ["response_format" in body for body in server.bodies] == [True, False]


def test_the_last_step_ends_a_repair(tmp_path: Path) -> None:
    with Agent(model=ScriptedModel(lambda _: ModelReply(text="no")), max_steps=2) as agent:
        result = agent.run("go", answer_type=Weather)
    assert (result.status, result.steps) == ("stopped", 2)


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "warm": {"type": "boolean"}},
    "required": ["city"],
}


def test_an_answer_may_be_asked_for_by_a_json_schema() -> None:
    asked = answer_of(SCHEMA)
    assert isinstance(asked, AnswerSchema)
    assert asked.read('It is ```json\n{"city": "Oslo", "warm": false}\n```') == Fits(
        value={"city": "Oslo", "warm": False}
    )
    misfit = asked.read('{"town": "Oslo"}')
    assert isinstance(misfit, Misfit) and "city" in misfit.errors and "argument" not in misfit.errors
    assert isinstance(asked.read("Oslo"), Misfit)
    assert "city" in asked.instructions and "city" in asked.repair(misfit)


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "object", "properties": {"a": {"$ref": "http://x/"}}}, {1: object()}]
)
def test_a_schema_that_cannot_be_asked_for_is_refused(schema: Any) -> None:
    with pytest.raises(UsageError, match="cannot have this schema"):
        answer_of(schema)
