"""A task of five steps with a real model, through the real path: cells, policy, sign-off, records.

python -m benchmarks.five_steps --base-url http://127.0.0.1:8080/v1 --dialect react --context-length 4096

Each step rests on the one before: two sums, a conversion, the weather, and a file that is written after a sign-off. It
is set twice: as five turns of one session, and as one message. The approver approves exactly the file that the task
names, and denies everything else.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.judging import Question, lost, numbers, unended, untold
from benchmarks.measure import RESULTS, machine
from benchmarks.real_model import deployment, first_model, parsed
from remit.loop.events import Event
from remit.loop.outcome import RunResult
from remit.values import Result
from remit_sandbox.signoff import SignoffDecision, SignoffRequest

FILE = "result.txt"
STEPS = (
    Question(ask="What is 23 * 19?", skill="calc.evaluate", answer="437"),
    Question(ask="Add 163 to that. How much is it?", skill="calc.evaluate", answer="600"),
    Question(ask="How many miles are that many kilometres?", skill="calc.convert", answer="372.82"),
    Question(ask="How warm is it in Madrid?", skill="weather.get_weather", argument="Madrid"),
    Question(ask=f'Write the text "600" into the file {FILE}.', skill="files.write_file", argument=FILE),
)
TASK = (
    "Do these five things one after the other, each with a skill. "
    "1. Work out 23 * 19. 2. Add 163 to the result. 3. Convert the sum from kilometres to miles. "
    f"4. Find out how warm it is in Madrid. 5. Write the sum of step 2 into the file {FILE}. "
    "Then tell me all five results."
)


@dataclass
class Approver:
    """Approves the write that the task asks for; counts what it is asked."""

    asked: list[str] = field(default_factory=list)

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Answer for a person who reads."""
        action = request.action
        self.asked.append(f"{action.skill} {json.dumps(dict(action.arguments))}")
        wanted = action.skill == "files.write_file" and action.arguments.get("path") == FILE
        return SignoffDecision(answer="once" if wanted else "deny", digest=request.digest, by="the benchmark")


def main(arguments: Sequence[str] | None = None) -> int:
    """Set the task both ways, print what was done, write JSON; return 0 when the loop has no defect."""
    options = parsed(arguments)
    name = options.model or first_model(options.base_url)
    rows = []
    for way in (turns, one_message):
        with deployment(options, name) as folder:
            rows.append(way(folder, options.max_steps))
    body = {"title": "Five steps with a real model", "model": name, "dialect": options.dialect, "machine": machine()}
    if options.json is None:
        RESULTS.mkdir(exist_ok=True)
    path = options.json or RESULTS / "five_steps.json"
    path.write_text(json.dumps({**body, "rows": rows}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for row in rows:
        done = " ".join(f"{number}{'+' if step else '-'}" for number, step in enumerate(row["done"], 1))
        print(
            f"{row['way']:12} steps done {done}   told {row['told']} of {len(STEPS)}   {row['turns']} model turns,"
            f" {row['calls']} calls, {len(row['asked'])} sign-offs, {row['seconds']:.0f} s, defects {row['defects']}"
        )
    return 1 if any(row["defects"] for row in rows) else 0


def turns(folder: Path, max_steps: int) -> dict[str, Any]:
    """Set the steps as turns of one session."""
    return _run(folder, "five turns", [step.ask for step in STEPS], max_steps)


def one_message(folder: Path, max_steps: int) -> dict[str, Any]:
    """Set the task as one message."""
    return _run(folder, "one message", [TASK], max(max_steps, 2 * len(STEPS) + 2))


def _run(folder: Path, way: str, asks: Sequence[str], max_steps: int) -> dict[str, Any]:
    from remit import Agent

    approver, events, results = Approver(), list[list[Event]](), list[RunResult]()
    started = time.monotonic()
    with Agent(folder, keep_raw=True, max_steps=max_steps, approver=approver) as agent:
        for ask in asks:
            heard: list[Event] = []
            results.append(agent.run(ask, session="task", on_event=heard.append))
            events.append(heard)
            print(f"  {way}: {results[-1].status}: {' '.join(results[-1].answer.split())[:100]}", flush=True)
        saved = agent.state.load_session("task")
        records = tuple(agent.state.records(session="task"))
    calls = [call for result in results for call in result.calls]
    defects = [defect for result, heard in zip(results, events, strict=True) for defect in unended(result, heard)]
    defects += lost(saved.transcript if saved is not None else (), calls)
    defects += untold(records, [event for heard in events for event in heard], calls)
    answers = "\n".join(result.answer for result in results)
    return {
        "way": way,
        "done": [_done(step, calls, folder) for step in STEPS],
        "told": sum(_near(answers, step.answer) for step in STEPS if step.answer)
        + sum(_figure_told(step, calls, answers) for step in STEPS if not step.answer),
        "status": [result.status for result in results],
        "answers": [result.answer for result in results],
        "turns": sum(result.steps for result in results),
        "calls": len(calls),
        "results": [{"skill": call.skill, "status": call.status, "text": call.text[:300]} for call in calls],
        "asked": approver.asked,
        "seconds": time.monotonic() - started,
        "defects": defects,
    }


def _done(step: Question, calls: Sequence[Result], folder: Path) -> bool:
    """Say whether a step was done: by its skill, with the right result."""
    fitting = [call for call in calls if call.skill == step.skill and call.status == "ok"]
    if step.skill == "files.write_file":
        path = folder / "workspace" / FILE
        return bool(fitting) and path.is_file() and "600" in path.read_text(encoding="utf-8")
    if step.answer:
        return any(_near(call.text, step.answer) for call in fitting)
    return any(step.argument.casefold() in call.text.casefold() for call in fitting)


def _near(text: str, number: str) -> bool:
    """Say whether a number stands in `text`, to the second decimal place."""
    return any(abs(found - float(number)) < 0.01 for found in numbers(text))


def _figure_told(step: Question, calls: Sequence[Result], answers: str) -> bool:
    """Say whether what a step found, or that it was done, stands in an answer."""
    if step.skill == "files.write_file":
        return FILE in answers
    fitting = [call for call in calls if call.skill == step.skill and isinstance(call.value, Mapping)]
    figures = [str(value) for call in fitting for value in call.value.values() if isinstance(value, float)]
    return any(_near(answers, figure) for figure in figures)


if __name__ == "__main__":
    sys.exit(main())
