"""The benchmark with a real model, played against a scripted one over HTTP, and what it judges by."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import real_model
from benchmarks.judging import Question, judge, lost, numbers, unended, untold

from remit import RunResult
from remit.loop.events import RunEnded, Told
from remit.state.records import Record
from remit.values import Result
from tests import model_server

ASKED = (
    {"ask": "What is 23 * 19?", "skill": "calc.evaluate", "answer": "437"},
    {"ask": "How hot is it in Madrid?", "skill": "weather.get_weather", "argument": "Madrid"},
    {"ask": "What is 2 * 3?", "skill": "calc.evaluate", "answer": "6"},
    {"ask": "Say hello.", "skill": None},
)


def wording(dialect: str, name: str, **arguments: Any) -> model_server.Play:
    given = json.dumps(arguments)
    match dialect:
        case "react":
            return model_server.text(f"Thought: A skill.\nAction: {name}\nAction Input: {given}\n")
        case "tagged":
            return model_server.text(f'<call>{{"name": "{name}", "arguments": {given}}}</call>')
        case _:
            return model_server.calls((name, given))


def model(dialect: str) -> Any:
    """Return a model that calls once with a wrong name, mends it, repeats one call for ever, and answers."""

    def play(body: dict[str, Any]) -> model_server.Play:
        texts = [str(message.get("content") or "") for message in body["messages"]]
        said = "\n".join(texts[max(n for n, text in enumerate(texts) if asks(text)) :])
        if "23 * 19" in said:
            if "437" in said:
                return model_server.text("That is 437.")
            name = "calc__evaluate" if "There is no skill" in said else "calc__evaluat"
            return wording(dialect, name, expression="23 * 19")
        if "Madrid" in said:
            found = re.search(r"temperature\W+(\d+\.\d)", said)
            if found:
                return model_server.text(f"It is {found[1]} degrees.")
            return wording(dialect, "weather__get_weather", city="Madrid")
        if "2 * 3" in said:
            return (
                model_server.text("6")
                if "no more skills" in said
                else wording(dialect, "calc__evaluate", expression="2 * 3")
            )
        return model_server.text("Hello!")

    return play


def asks(text: str) -> bool:
    return any(text.startswith(question["ask"]) for question in ASKED)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", ["react", "tagged", "native"])
def test_questions_through_the_real_path(
    dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMIT_STATE", str(tmp_path))  # the benchmark sets its own; put back afterwards
    file, out = tmp_path / "questions.jsonl", tmp_path / "out.json"
    file.write_text("\n".join(map(json.dumps, ASKED)), encoding="utf-8")
    with model_server.serve(model(dialect)) as server:
        options = ["--base-url", server.base_url, "--model", "m", "--dialect", dialect, "--tag", "call"]
        code = real_model.main([*options, "--questions", str(file), "--json", str(out)])
    body = json.loads(out.read_text(encoding="utf-8"))
    rows = body["rows"]
    assert (code, body["defects"]) == (0, 0), rows
    assert [row["right"] for row in rows] == [True] * 4
    assert [row["told"] for row in rows] == [True] * 4
    assert [row["status"] for row in rows] == ["answered"] * 4
    assert [call["status"] for call in rows[2]["calls"]] == ["ok"] * 3
    assert "calc.evaluate" in capsys.readouterr().out


def result(**changes: Any) -> Result:
    return dataclasses.replace(Result(call="c1", skill="calc.evaluate", status="ok", text="6", value="6"), **changes)


def run(*calls: Result, answer: str = "It is 6.") -> RunResult:
    return RunResult(answer=answer, status="answered", calls=calls)


def transcript(*calls: Result) -> list[dict[str, Any]]:
    asked = {"role": "assistant", "calls": [{"id": call.call} for call in calls]}
    return [asked, *({"role": "tool", "call_id": call.call, "status": call.status} for call in calls)]


def request(*texts: str, seq: int = 9) -> Record:
    raw = json.dumps({"messages": [{"role": "user", "content": text} for text in texts]})
    return Record(seq=seq, time=0, session="s", event="turn.request", skill="", call="", body={"raw": raw})


def test_a_lost_call_is_a_defect() -> None:
    one, other = result(), result(call="c2")
    assert not list(lost(transcript(one, other), [one, other]))
    assert list(lost(transcript(one, other)[:-1], [one]))
    assert list(lost(transcript(one), [one, other]))
    assert list(lost(transcript(result(status="lost")), [result(status="lost")]))


def test_an_error_that_the_model_is_not_told_is_a_defect() -> None:
    wrong, right = result(status="invalid", text='no "x"\nthere'), result(call="c2")
    assert not list(untold([request('Observation: no "x"\nthere')], [], [wrong, wrong]))
    assert not list(untold([request('<r>"no \\"x\\"\\nthere"</r>')], [], [wrong, wrong]))
    assert list(untold([request("nothing")], [], [wrong, wrong]))
    told = Told(session="s", step=1, text="Mend it.")
    assert list(untold([request("nothing")], [told, told], [right]))
    finished = dataclasses.replace(request(), seq=1, event="call.finished")
    assert list(untold([finished, request("nothing")], [], [right]))
    assert not list(untold([finished, request("6")], [], [right]))
    assert not list(untold([finished, request("nothing", seq=0)], [], [right]))


def test_a_run_that_does_not_end_well_is_a_defect() -> None:
    ended = [RunEnded(session="s", result=run())]
    assert not list(unended(run(), ended))
    assert list(unended(run(), []))
    assert list(unended(dataclasses.replace(run(), status="stopped"), ended))
    assert list(unended(dataclasses.replace(run(), status="failed", stop_reason="down"), ended))


@pytest.mark.parametrize(
    ("question", "calls", "arguments", "answer", "expected"),
    [
        (Question(ask="", skill="calc.evaluate", answer="6"), [result()], "{}", "It is 6.0", (True, True, True)),
        (Question(ask="", skill="calc.evaluate", answer="6"), [result()], "{}", "It is 61", (True, True, False)),
        (Question(ask="", skill="calc.evaluate", answer="7"), [result()], "{}", "It is 7", (True, False, True)),
        (Question(ask="", skill="calc.evaluate", answer="6"), [], "", "6", (False, False, True)),
        (
            Question(ask="", skill="calc.evaluate", answer="25"),
            [result(value={"expression": "25 - 20", "result": "5"})],
            "{}",
            "5",
            (True, False, False),
        ),
        (
            Question(ask="", skill="calc.evaluate", argument="paris"),
            [result()],
            '{"city": "Paris, France"}',
            "6",
            (True, True, True),
        ),
        (
            Question(ask="", skill="calc.evaluate", argument="Rome"),
            [result()],
            '{"city": "Paris"}',
            "6",
            (True, False, False),
        ),
        (Question(ask="", skill=None), [], "", "Hello", (True, True, True)),
        (Question(ask="", skill=None), [result()], "{}", "Hello", (False, False, True)),
    ],
)
def test_what_is_right(
    question: Question, calls: list[Result], arguments: str, answer: str, expected: tuple[bool, bool, bool]
) -> None:
    found = judge(
        question,
        run(*calls, answer=answer),
        arguments={"c1": arguments},
        transcript=transcript(*calls),
        records=[],
        events=[RunEnded(session="s", result=run())],
    )
    assert (found.skill, found.argument, found.told) == expected
    assert found.defects == ()


def test_numbers_as_people_write_them() -> None:
    assert numbers("83,521 is 17^4, or -2.50 (1_000)") == [83521, 17, 4, -2.5, 1000]
