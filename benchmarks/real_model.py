"""Questions to a real model through the real path: deployment, cells, pipeline, loop, records.

python -m benchmarks.real_model --base-url http://127.0.0.1:8080/v1 --dialect react
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.judging import Question, judge
from benchmarks.measure import RESULTS, machine

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "tests" / "data" / "questions.jsonl"
PACKS = ("calc", "clock", "files", "weather")


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask every question, print a table, write JSON; return 0 when the loop has no defect."""
    options = parsed(arguments)
    name = options.model or first_model(options.base_url)
    with deployment(options, name) as folder:
        rows = list(asked(folder, questions(options), options))
    totals = summary(rows)
    body = {"title": "A real model", "model": name, "dialect": options.dialect, "machine": machine(), **totals}
    body["rows"] = rows
    if options.json is None:
        RESULTS.mkdir(exist_ok=True)
    path = options.json or RESULTS / "real_model.json"
    path.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n" + table(rows) + "\n" + "\n".join(f"{key}: {value}" for key, value in totals.items()))
    return 1 if totals["defects"] else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True, help="an OpenAI-compatible endpoint")
    parser.add_argument("--model", help="its name at the endpoint; default: the first that it lists")
    parser.add_argument("--api-key", metavar="REF", help="where the key is kept: env:NAME or file:PATH")
    parser.add_argument("--dialect", default="react", help="native, react, tagged, json or auto")
    parser.add_argument("--tag", default="tool_call", help="tag of the tagged dialect")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="JSON Lines: ask, skill, argument, answer")
    parser.add_argument("--demo", action="store_true", help="ask the three questions of the demo instead")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the questions to ask, from 1")
    parser.add_argument("--context-length", type=int, help="tokens that fit into the model")
    parser.add_argument("--max-tokens", type=int, help="most tokens of one reply")
    parser.add_argument("--max-steps", type=int, default=8, help="most model turns of one question")
    parser.add_argument("--no-examples", action="store_true", help="show no few-shot examples")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds without a byte from the endpoint")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file for the results as JSON")
    return parser.parse_args(arguments)


def questions(options: argparse.Namespace) -> list[Question]:
    """Return the questions to ask."""
    if options.demo:
        from examples.demo.__main__ import QUESTIONS as asks

        found = [
            Question(ask=asks[0], skill="weather.get_weather", argument="北京", answer="25"),
            Question(ask=asks[1], skill="files.search", answer="28.3"),
            Question(ask=asks[2], skill="files.delete_file", argument="old-draft.txt", status="denied"),
        ]
    else:
        lines = options.questions.read_text(encoding="utf-8").splitlines()
        found = [Question(**json.loads(line)) for line in lines if line.strip()]
    return [one for number, one in enumerate(found, 1) if not options.only or number in options.only]


@contextmanager
def deployment(options: argparse.Namespace, name: str) -> Iterator[Path]:
    """Make a deployment with the four packs and a weather server of its own; remove all at the end."""
    from examples.demo.weather_server import WeatherServer

    from remit.deployment.config import ModelConfig
    from remit.deployment.enable import enable
    from remit.deployment.init import init

    given = {key: getattr(options, key) for key in ("api_key", "context_length", "max_tokens", "tag", "timeout")}
    model = ModelConfig(
        name=name,
        base_url=options.base_url,
        dialect=options.dialect,
        examples=not options.no_examples,
        **{key: value for key, value in given.items() if value is not None},
    )
    with tempfile.TemporaryDirectory(prefix="remit-real-") as place, WeatherServer() as weather:
        os.environ["REMIT_STATE"] = str(Path(place, "state"))
        folder = Path(place, "deployment")
        folder.mkdir()
        init(folder, model=model, unattended="deny", enforcement="available").apply()
        shutil.copytree(ROOT / "examples" / "demo" / "workspace", folder / "workspace", dirs_exist_ok=True)
        settings = {"endpoint": weather.host, "geocoder": weather.host, "tls": False}
        for pack in PACKS:
            enable(folder, pack, settings=settings if pack == "weather" else None).apply()
        yield folder


def asked(folder: Path, questions: Sequence[Question], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Ask one question after the other, each in a session of its own; yield what came of it."""
    from remit import Agent

    with Agent(folder, keep_raw=True, max_steps=options.max_steps) as agent:
        for question in questions:
            started = time.monotonic()
            row = one(agent, question)
            row["seconds"] = round(time.monotonic() - started, 1)
            print(progress(row), flush=True)
            yield row


def one(agent: Any, question: Question) -> dict[str, Any]:
    """Ask one question; return what came of it as plain JSON."""
    from remit.loop.events import CallProposed, Event, Told

    events: list[Event] = []
    result = agent.run(question.ask, on_event=events.append)
    arguments = {event.call.id: event.call.arguments for event in events if isinstance(event, CallProposed)}
    saved = agent.state.load_session(result.session)
    records = tuple(agent.state.records(session=result.session))
    judgement = judge(
        question,
        result,
        arguments=arguments,
        transcript=saved.transcript if saved is not None else (),
        records=records,
        events=events,
    )
    calls = [
        {"skill": call.skill, "arguments": arguments.get(call.call, ""), "status": call.status, "text": call.text[:500]}
        for call in result.calls
    ]
    turns = [record.body for record in records if record.event == "turn.reply"]
    return {
        "ask": question.ask,
        "expected": asdict(question),
        **asdict(judgement),
        "right": judgement.right,
        "status": result.status,
        "stop_reason": result.stop_reason,
        "final": result.answer,
        "steps": result.steps,
        "calls": calls,
        "notes": [event.text for event in events if isinstance(event, Told)],
        "replies": [turn.get("text", "") for turn in turns],
        "input_tokens": [turn.get("input_tokens") for turn in turns],
        "output_tokens": [turn.get("output_tokens") for turn in turns],
    }


def first_model(base_url: str) -> str:
    """Return the name of the first model that an endpoint lists."""
    with urllib.request.urlopen(base_url.rstrip("/") + "/models", timeout=60) as answer:
        return str(json.load(answer)["data"][0]["id"])


def progress(row: Mapping[str, Any]) -> str:
    """Return one line about a question that was asked."""
    calls = ", ".join(f"{call['skill']}({call['arguments']}) {call['status']}" for call in row["calls"])
    final = " ".join(str(row["final"] or row["stop_reason"]).split())
    mark = "right" if row["right"] else "WRONG"
    line = f"{mark} {row['seconds']:6.1f} s  {row['ask']}  [{calls}]  {row['status']}: {final[:100]}"
    return "\n".join([line, *(f"      DEFECT: {defect}" for defect in row["defects"])])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the outcome by expected skill as a table."""
    kinds = sorted({str(row["expected"]["skill"]) for row in rows})
    lines = [f"{'expected skill':24} {'asked':>6} {'skill':>6} {'argument':>9} {'told':>6} {'answered':>9}"]
    for kind in kinds:
        of_kind = [row for row in rows if str(row["expected"]["skill"]) == kind]
        lines.append(f"{kind:24} {len(of_kind):6} " + " ".join(_counts(of_kind)))
    return "\n".join(lines)


def _counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for key, width in (("skill", 6), ("argument", 9), ("told", 6)):
        yield f"{sum(row[key] for row in rows):{width}}"
    yield f"{sum(row['status'] == 'answered' for row in rows):9}"


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the totals."""
    tokens = [count for row in rows for count in row["input_tokens"] if count is not None]
    return {
        "questions": len(rows),
        "right": sum(row["right"] for row in rows),
        "told": sum(row["right"] and row["told"] for row in rows),
        "ended": sum(row["status"] in ("answered", "stopped", "parked") for row in rows),
        "calls": sum(len(row["calls"]) for row in rows),
        "errors_told": sum(call["status"] != "ok" for row in rows for call in row["calls"]),
        "defects": sum(len(row["defects"]) for row in rows),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
        "longest_prompt_tokens": max(tokens, default=None),
    }


if __name__ == "__main__":
    sys.exit(main())
