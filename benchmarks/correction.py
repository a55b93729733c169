"""How often a real model mends a call once it is told what was wrong with it.

    python -m benchmarks.correction --base-url http://127.0.0.1:8080/v1 [--dialect tagged] [--tag call]

Each case goes through the real loop. The first reply is put into the model's mouth: a call that is damaged in a known
way. The loop reads it, refuses it, and tells the model what was read, what was expected and how to write it right;
the next reply is the model's own. It counts as mended when it is one call that runs, and as right when that call is
also the one that the question needs. `--bare` tells only that it was wrong, to see what the words are worth.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from remit.dialects import render_call
from remit.models.protocol import Model, ModelReply, ModelRequest, OnDelta

BARE = "The call was wrong. Try again."


def weather(city: str, days: int = 1) -> str:
    """Return the weather forecast for a city.

    Args:
        city: name of the city.
        days: how many days ahead, 1 to 7.
    """
    return f"{city}: sunny for {days} days"


def calculate(expression: str) -> str:
    """Calculate an arithmetic expression.

    Args:
        expression: the expression, such as 2 + 2.
    """
    return "done"


@dataclass(frozen=True, kw_only=True)
class Task:
    """A question with the call that answers it."""

    ask: str
    skill: str
    arguments: Mapping[str, Any]


TASKS = (
    Task(ask="How is the weather in Oslo?", skill="local__weather", arguments={"city": "Oslo"}),
    Task(
        ask="I need the forecast for Lima for 3 days.",
        skill="local__weather",
        arguments={"city": "Lima", "days": 3},
    ),
    Task(ask="How much is 17 * 23?", skill="local__calculate", arguments={"expression": "17 * 23"}),
    Task(ask="How much is 480 / 15?", skill="local__calculate", arguments={"expression": "480 / 15"}),
)


def damages(task: Task, dialect: str, tag: str) -> Iterator[tuple[str, str]]:
    """Yield ways to write the call of a task wrong, each with its name."""

    def written(skill: str, arguments: Mapping[str, Any]) -> str:
        return render_call(skill, arguments, dialect, tag=tag)

    first, *_ = task.arguments
    others = {key: value for key, value in task.arguments.items() if key != first}
    whole = written(task.skill, task.arguments)
    value = json.dumps(task.arguments[first])
    yield "cut off", whole[: whole.index(value) + len(value) - 1]
    yield "unknown skill", written(task.skill.replace("local__", "get_"), task.arguments)
    yield "argument missing", written(task.skill, others)
    yield "argument misnamed", written(task.skill, {**others, "input_text": task.arguments[first]})
    yield "wrong type", written(task.skill, {**task.arguments, first: {"value": task.arguments[first]}})


class Provoking:
    """A model whose first reply is given, whose second is its own, and which is silent then."""

    def __init__(self, real: Model, first: str, *, bare: bool) -> None:
        """Put `first` into the mouth of `real`; with `bare`, show it no word of what was wrong."""
        self._real = real
        self._first = first
        self._bare = bare
        self.name = real.name
        self.replies: list[str] = []
        self.told = ""

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Give the next reply."""
        self.replies.append("")
        if len(self.replies) == 1:
            return ModelReply(text=self._first)
        if len(self.replies) > 2:
            return ModelReply(text="That is all.")
        self.told = request.messages[-1].content
        shown = request.messages
        if self._bare:
            shown = (*shown[:-1], replace(shown[-1], content=BARE))
        reply = await self._real.complete(replace(request, messages=shown))
        self.replies[-1] = reply.text
        return reply

    async def aclose(self) -> None:
        """Close the real model."""
        await self._real.aclose()


@contextmanager
def deployment(options: argparse.Namespace, name: str) -> Iterator[Path]:
    """Make a deployment that speaks to the endpoint in the chosen dialect; remove it at the end."""
    from remit.deployment.config import ModelConfig
    from remit.deployment.init import init
    from remit.deployment.trust import trust

    model = ModelConfig(
        name=name,
        base_url=options.base_url,
        dialect=options.dialect,
        tag=options.tag,
        context_length=4096,
        max_tokens=120,
        timeout=options.timeout,
    )
    with tempfile.TemporaryDirectory(prefix="remit-correction-") as place:
        os.environ["REMIT_STATE"] = str(Path(place, "state"))
        folder = Path(place, "deployment")
        folder.mkdir()
        init(folder, model=model, unattended="deny", enforcement="available").apply()
        with (folder / "remit.toml").open("a", encoding="utf-8") as file:
            file.write('\n[host_skills]\nallow = ["local.weather", "local.calculate"]\n')
        trust(folder)
        yield folder


def one(folder: Path, task: Task, kind: str, first: str, *, bare: bool) -> dict[str, Any]:
    """Play one case; return what came of it."""
    from remit import Agent, skill

    functions = [skill(effect="read")(weather), skill(effect="read")(calculate)]
    started = time.monotonic()
    with Agent(folder, skills=functions) as plain:
        provoking = Provoking(plain.model, first, bare=bare)
        with Agent(plain.deployment, skills=functions, model=provoking, max_steps=4) as agent:
            result = agent.run(task.ask)
            asked = [record.body for record in agent.state.records(session=result.session, event="call.proposed")]
    ran = [call for call in result.calls if call.status == "ok"]
    arguments = asked[-1].get("arguments") if ran else None
    right = bool(ran) and ran[0].skill == task.skill.replace("__", ".") and _same(arguments, task.arguments)
    return {
        "kind": kind,
        "ask": task.ask,
        "first": first,
        "told": BARE if bare else provoking.told,
        "reply": provoking.replies[1] if len(provoking.replies) > 1 else "",
        "mended": len(ran) == 1,
        "right": right,
        "seconds": round(time.monotonic() - started, 1),
    }


def _same(given: object, wanted: Mapping[str, Any]) -> bool:
    """Compare arguments; spaces and a default that is written out make no difference."""
    if not isinstance(given, Mapping):
        return False
    found = {key: str(value).replace(" ", "") for key, value in given.items() if (key, value) != ("days", 1)}
    return found == {key: str(value).replace(" ", "") for key, value in wanted.items()}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return mended and right, by kind of damage."""
    lines = [f"{'what was wrong':20} {'cases':>6} {'mended':>7} {'right':>6}"]
    for kind in (*dict.fromkeys(str(row["kind"]) for row in rows), "together"):
        of_kind = [row for row in rows if kind in ("together", row["kind"])]
        counts = (len(of_kind), sum(row["mended"] for row in of_kind), sum(row["right"] for row in of_kind))
        lines.append(f"{kind:20} {counts[0]:6} {counts[1]:7} {counts[2]:6}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all cases, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True, help="an OpenAI-compatible endpoint")
    parser.add_argument("--model", help="its name at the endpoint; default: the first that it lists")
    parser.add_argument("--dialect", default="tagged", help="tagged, react, ...")
    parser.add_argument("--tag", default="call", help="tag of the tagged dialect")
    parser.add_argument("--bare", action="store_true", help="tell only that the call was wrong")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds without a byte from the endpoint")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file for everything that was said")
    options = parser.parse_args(arguments)
    name = options.model or _first_model(options.base_url)
    rows = []
    with deployment(options, name) as folder:
        for task in TASKS:
            for kind, first in damages(task, options.dialect, options.tag):
                rows.append(one(folder, task, kind, first, bare=options.bare))
                row = rows[-1]
                mark = "right" if row["right"] else "mended" if row["mended"] else "WRONG"
                print(f"{mark:6} {row['seconds']:6.1f} s  {kind}: {task.ask}", file=sys.stderr, flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(rows))
    return 0


def _first_model(base_url: str) -> str:
    with urllib.request.urlopen(base_url.rstrip("/") + "/models", timeout=60) as answer:
        return str(json.load(answer)["data"][0]["id"])


if __name__ == "__main__":
    sys.exit(main())
