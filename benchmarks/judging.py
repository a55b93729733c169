"""What a run with a real model is judged by: what the model got right, and what the loop must always do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit import RunResult
from remit.loop.events import Event, RunEnded, Told
from remit.state.records import Record
from remit.values import Result

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question and what is expected of the run.

    Attributes:
        ask: what a person says.
        skill: full name of the skill to call; None when none is needed.
        argument: a text that one of its arguments must hold; empty for any.
        answer: a number that the result and the final answer must hold; empty for any.
        status: how the call must end.
    """

    ask: str
    skill: str | None
    argument: str = ""
    answer: str = ""
    status: str = "ok"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is right about a run, and what is wrong with the loop.

    Attributes:
        skill: the expected skill was called, or none when none is needed.
        argument: a call of it that ended as expected had the expected argument, or gave the expected result.
        told: the final answer holds the expected number, or a figure from the call's result; after a call that
            was to be refused, there is one.
        defects: a run that does not end, a call that is lost, an error that the model is not told.
    """

    skill: bool
    argument: bool
    told: bool
    defects: tuple[str, ...]

    @property
    def right(self) -> bool:
        """The right skill with the right argument: what MODELS and people count first."""
        return self.skill and self.argument


def judge(
    question: Question,
    result: RunResult,
    *,
    arguments: Mapping[str, str],
    transcript: Sequence[Mapping[str, Any]],
    records: Sequence[Record],
    events: Sequence[Event],
) -> Judgement:
    """Judge one run by its result, saved transcript, records (raw requests kept) and events.

    Args:
        arguments: id of a call to its arguments as JSON text.
    """
    right = [call for call in result.calls if call.skill == question.skill]
    defects = (*unended(result, events), *lost(transcript, result.calls), *untold(records, events, result.calls))
    if question.skill is None:
        good = not result.calls
        return Judgement(skill=good, argument=good, told=bool(result.answer.strip()), defects=defects)
    fitting = [
        call for call in right if call.status == question.status and _fits(question, call, arguments.get(call.call, ""))
    ]
    return Judgement(
        skill=bool(right), argument=bool(fitting), told=_is_told(question, result, fitting), defects=defects
    )


def unended(result: RunResult, events: Sequence[Event]) -> Iterable[str]:
    """Yield what is wrong with a run's end."""
    if not events or not isinstance(events[-1], RunEnded):
        yield "the run did not end with RunEnded"
    if result.status == "failed":
        yield f"the run failed: {result.stop_reason}"
    if result.status != "answered" and not result.stop_reason:
        yield f"{result.status} without a reason"


def lost(transcript: Sequence[Mapping[str, Any]], results: Sequence[Result]) -> Iterable[str]:
    """Yield calls of the saved transcript without their own result, and results that are not in it."""
    asked = [call["id"] for message in transcript for call in message.get("calls", ())]
    answered = [message["call_id"] for message in transcript if message["role"] == "tool"]
    if asked != answered:
        yield f"calls {asked} have the results {answered}"
    if [result.call for result in results] != answered:
        yield "the results of the run are not those of the transcript"
    yield from (f"call {m['call_id']} was lost" for m in transcript if m.get("status") == "lost")


def untold(records: Sequence[Record], events: Sequence[Event], results: Sequence[Result]) -> Iterable[str]:
    """Yield errors and notes that no later request to the model holds."""
    sent = [shown(record.body["raw"]) for record in records if record.event == "turn.request"]
    errors = [result.text for result in results if result.status != "ok"]
    notes = [event.text for event in events if isinstance(event, Told)]
    for text in (*errors[:-1], *notes[:-1]):
        if not any(text in request or _quoted(text) in request for request in sent):
            yield f"the model was not told: {text[:200]}"
    yield from _last_untold(records, sent, results)


def _last_untold(records: Sequence[Record], sent: Sequence[str], results: Sequence[Result]) -> Iterable[str]:
    """Yield the last result if the model was asked again after it and not shown it."""
    finished = [record.seq for record in records if record.event == "call.finished"]
    asked = [record.seq for record in records if record.event == "turn.request"]
    if results and finished and asked and asked[-1] > finished[-1]:
        text = results[-1].text
        if not (text in sent[-1] or _quoted(text) in sent[-1]):
            yield f"the model was not shown the result: {text[:200]}"


def shown(raw: str) -> str:
    """Return everything that the messages of a request's body say."""
    return "\n".join(str(message.get("content") or "") for message in json.loads(raw)["messages"])


def _quoted(text: str) -> str:
    """Return `text` as it stands inside JSON text, which the tagged dialect wraps results in."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _fits(question: Question, call: Result, arguments: str) -> bool:
    if question.argument:
        given = json.loads(arguments or "{}").values()
        return any(question.argument.casefold() in str(value).casefold() for value in given)
    return not question.answer or any(_is_number(leaf, question.answer) for leaf in leaves(call.value))


def _is_told(question: Question, result: RunResult, fitting: Sequence[Result]) -> bool:
    if result.status != "answered":
        return False
    if question.answer:
        return holds(result.answer, question.answer)
    if question.status != "ok":
        return bool(fitting) and bool(result.answer.strip())
    figures = {number for call in fitting for leaf in leaves(call.value) for number in numbers(str(leaf))}
    return bool(figures & set(numbers(result.answer)))


def leaves(value: Any) -> Iterable[Any]:
    """Yield every value inside JSON that is no list and no object."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


def _is_number(leaf: Any, number: str) -> bool:
    return numbers(str(leaf)) == [float(number)]


def holds(text: str, number: str) -> bool:
    """Say whether a number stands in `text`, however it is written (`83,521`, `12.0`)."""
    return float(number) in numbers(text)


def numbers(text: str) -> list[float]:
    """Return the numbers in `text`."""
    return [float(found) for found in _NUMBER.findall(_THOUSANDS.sub("", text))]
