"""A stand-in for a language model: it reads the question and the results, and works out the next call or the answer.

It knows three kinds of question (weather against a threshold, two days of a data file, deleting a file) in any
wording that names what it needs. Nothing is looked up in a table of ready sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from remit.models.protocol import Message, ModelReply, ModelRequest, ToolCall

CHINESE = re.compile("[\u4e00-\u9fff]")
NUMBER = r"-?\d+(?:\.\d+)?"


@dataclass(frozen=True)
class Seen:
    """What came back from one call: its name, arguments, status and text."""

    name: str
    arguments: Mapping[str, Any]
    status: str
    text: str

    @property
    def value(self) -> Any:
        """The result as JSON, None when it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


Plan = Callable[[str, list[Seen]], ModelReply]


def reply(request: ModelRequest) -> ModelReply:
    """Answer a request as a model would: with one call, or with a final answer."""
    question, seen = conversation(request.messages)
    for marks, plan in PLANS:
        if re.search(marks, question, re.IGNORECASE):
            return plan(question, seen)
    return say(f"I can rehearse questions about weather, data files and deleting; this one is none: {question}")


def conversation(messages: tuple[Message, ...]) -> tuple[str, list[Seen]]:
    """Return the latest question and what came back since."""
    start = max(
        index for index, message in enumerate(messages) if message.role == "user" and message.origin == "person"
    )
    calls = {call.id: call for message in messages[start:] for call in message.calls}
    seen = [
        Seen(
            name=calls[message.call_id].name,
            arguments=json.loads(calls[message.call_id].arguments or "{}"),
            status=message.status,
            text=message.content,
        )
        for message in messages[start:]
        if message.role == "tool" and message.call_id in calls
    ]
    return messages[start].content, seen


def ask(name: str, **arguments: Any) -> ModelReply:
    """Ask for one call."""
    return ModelReply(calls=(ToolCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False)),))


def say(text: str) -> ModelReply:
    """Give the final answer."""
    return ModelReply(text=text)


def result_of(seen: list[Seen], name: str) -> Seen | None:
    """Return the newest result of a skill."""
    return next((one for one in reversed(seen) if one.name == name), None)


def weather(question: str, seen: list[Seen]) -> ModelReply:
    """Look the weather up, compare it with the threshold that the question names, calculate the percentage."""
    found = result_of(seen, "weather__get_weather")
    if found is None:
        return ask("weather__get_weather", city=city_in(question))
    if found.status != "ok":
        return say(told(found))
    temperature = temperature_in(found.value)
    threshold = re.search(rf"({NUMBER})\s*(?:度|degrees|°)", question)
    if threshold is None or temperature <= float(threshold[1]):
        return say(sentence(question, found, temperature, threshold))
    share = result_of(seen, "calc__evaluate")
    if share is None:
        return ask("calc__evaluate", expression=f"percent_change({threshold[1]}, {temperature:g})")
    return say(sentence(question, found, temperature, threshold, share))


def city_in(question: str) -> str:
    """Return the place that the question is about."""
    chinese = re.match(r"\s*([\u4e00-\u9fff]{2,4}?)(?:今天|现在|明天|的|气温|天气)", question)
    english = re.search(r"\bin ([A-Z][\w-]+(?: [A-Z][\w-]+)*)", question)
    return chinese[1] if chinese else english[1] if english else question.strip()


def temperature_in(value: Any) -> float:
    """Return the first temperature in a weather result."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if "temperature" in key and isinstance(inner, int | float):
                return float(inner)
            try:
                return temperature_in(inner)
            except LookupError:
                continue
    raise LookupError("no temperature in the result")


def sentence(
    question: str, found: Seen, temperature: float, threshold: re.Match[str] | None, share: Seen | None = None
) -> str:
    """Put the figures into words, in the language of the question."""
    city = found.arguments["city"]
    percent = share.value["result"] if share and share.status == "ok" else None
    if CHINESE.search(question):
        text = f"{city}今天气温 {temperature:g} 度"
        if threshold:
            text += f"，比 {threshold[1]} 度高 {percent}%" if percent else f"，不比 {threshold[1]} 度高"
        return text + "。"
    text = f"It is {temperature:g} °C in {city}"
    if threshold:
        text += f", {percent}% above {threshold[1]}" if percent else f", not above {threshold[1]}"
    return text + "."


def two_days(question: str, seen: list[Seen]) -> ModelReply:
    """Find the data file, read its columns, search both days, calculate the difference."""
    days = re.findall(r"\d{4}-\d{2}-\d{2}", question)[:2]
    listed = result_of(seen, "files__list_files")
    if listed is None:
        return ask("files__list_files", folder=".", pattern="*.csv", recursive=True)
    paths = [entry["path"] for entry in listed.value["entries"]] if listed.status == "ok" else []
    path = best_path(paths, question)
    if path is None:
        return say("There is no data file.")
    header = result_of(seen, "files__read_file")
    if header is None:
        return ask("files__read_file", path=path, lines=1)
    lines = {one.arguments["text"]: one for one in seen if one.name == "files__search"}
    for day in days:
        if day not in lines:
            return ask("files__search", text=day, folder=path)
    figures = [figure(header, lines[day], question) for day in days]
    if None in figures:
        return say(f"The file {path} does not hold both days.")
    difference = result_of(seen, "calc__evaluate")
    if difference is None:
        return ask("calc__evaluate", expression=f"{figures[0]} - ({figures[1]})")
    return say(
        f"{difference.value['result']} degrees ({figures[0]} on {days[0]}, {figures[1]} on {days[1]}, from {path})."
    )


def best_path(paths: list[str], question: str) -> str | None:
    """Return the file whose name shares most words with the question."""
    words = set(re.findall(r"[a-z0-9]+", question.lower()))
    return max(paths, key=lambda path: len(words & set(re.findall(r"[a-z0-9]+", path.lower()))), default=None)


def figure(header: Seen, line: Seen, question: str) -> str | None:
    """Return the field of the found line whose column the question speaks of."""
    if line.status != "ok" or not line.value["matches"] or header.status != "ok":
        return None
    columns = header.value["text"].split(",")
    fields = line.value["matches"][0]["text"].split(",")
    wanted = next((name for name in columns if name.split("_")[0] in question.lower().split()), columns[1])
    return fields[columns.index(wanted)]


def delete(question: str, seen: list[Seen]) -> ModelReply:
    """Ask for the file to be deleted, and report what came of it."""
    done = result_of(seen, "files__delete_file")
    if done is None:
        path = re.search(r"[\w./-]+\.\w+", question)
        return ask("files__delete_file", path=path[0]) if path else say("Which file?")
    return say(f"Deleted {done.arguments['path']}." if done.status == "ok" else told(done))


def told(result: Seen) -> str:
    """Report a call that did not go through."""
    return f"That was not done ({result.status}): {result.text}"


PLANS: tuple[tuple[str, Plan], ...] = (
    (r"delete|remove|删除", delete),
    (r"\d{4}-\d{2}-\d{2}.*\d{4}-\d{2}-\d{2}", two_days),
    (r"weather|temperature|how (?:hot|cold|warm)|气温|天气|多少度", weather),
)
"""What a question must contain, and how it is worked on."""
