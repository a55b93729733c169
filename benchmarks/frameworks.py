"""What a step costs around the model, beside other frameworks: `python -m benchmarks.frameworks`.

Every contender runs in a process of its own and talks to the same endpoint, which answers at once
(`benchmarks.instant`). Orders go to one after the other, round by round, so that all see the same machine. In
Remit each call is decided by policy, recorded on the disk and, as `remit`, run in a
cell of the session, or as `remit, shared` in one that sessions share; the others call a function.

    python -m venv fw
    fw/bin/pip install "pydantic-ai-slim[openai]" openai-agents langgraph langchain-openai "smolagents[openai]" \
        -e . ./plugins/remit-calc
    fw/bin/python -m benchmarks.frameworks

Aims: a step at most a third of the best framework's, memory at most half, both flat as the conversation grows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.instant import ANSWER, serving
from benchmarks.many_cells import proportional
from benchmarks.measure import RESULTS, machine

ROOT = Path(__file__).parent.parent
CONTENDERS = {
    "raw httpx2": "raw",
    "openai SDK": "openai_sdk",
    "pydantic-ai": "with_pydantic_ai",
    "openai-agents": "with_openai_agents",
    "langgraph": "with_langgraph",
    "smolagents": "with_smolagents",
    "remit": "with_remit",
    "remit, shared": "with_remit_shared",
    "remit, function": "with_remit_function",
}
FRAMEWORKS = ("pydantic-ai", "openai-agents", "langgraph", "smolagents")
LENGTHS = (5, 20, 80)
SESSIONS = 100


@dataclass
class Driver:
    """A running contender."""

    name: str
    process: subprocess.Popen[str]

    def order(self, kind: str, model: str, times: int) -> Any:
        """Have it do something and return what it measured."""
        assert self.process.stdin is not None
        order = {"kind": kind, "model": model, "times": times, "answer": ANSWER}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        """Return its next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended")
        return json.loads(line)

    def memory(self) -> tuple[int, int]:
        """Return bytes of the process itself, and of all that it started; what is shared counts in parts."""
        own = proportional(self.process.pid)
        return own, own + sum(map(proportional, descendants(self.process.pid)))


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below `pid`, and those below them."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text(encoding="ascii").split()]
    except OSError:  # it ended meanwhile
        return
    for child in map(int, children):
        yield child
        yield from descendants(child)


@contextmanager
def running(name: str, python: str, base_url: str) -> Iterator[Driver]:
    """Start a contender; end it afterwards."""
    command = [python, "-m", f"benchmarks.drivers.{CONTENDERS[name]}", base_url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        driver = Driver(name, process)
        try:
            driver.answer()
            yield driver
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


def peak(driver: Driver, model: str) -> dict[str, Any]:
    """Hold `SESSIONS` conversations at once, and look at the memory while they go on."""
    before = driver.memory()
    most = [0, 0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for number, bytes_ in enumerate(driver.memory()):
                most[number] = max(most[number], bytes_)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        told = driver.order("together", model, SESSIONS)
    finally:
        over.set()
        watching.join()
    grown = [max(0, after - earlier) / SESSIONS for after, earlier in zip(most, before, strict=True)]
    return {"seconds": told["seconds"][0], "cpu": told["cpu"], "own": grown[0], "all": grown[1], "base": before[0]}


def measured(drivers: Sequence[Driver], rounds: int) -> list[dict[str, Any]]:
    """Return a row for each contender; times are seconds."""
    steps: dict[tuple[str, int], list[float]] = {}
    first: dict[str, list[float]] = {}
    for turn in range(rounds + 1):
        for length in LENGTHS:
            for driver in drivers:
                seconds = driver.order("steps", f"tool-{length}", 1)["seconds"]
                if turn:
                    steps.setdefault((driver.name, length), []).extend(one / length for one in seconds)
        for driver in drivers:
            seconds = driver.order("first", "tool-1", 3)["seconds"]
            if turn:
                first.setdefault(driver.name, []).extend(seconds)
    rows = []
    for driver in drivers:
        at_once = peak(driver, "tool-20")
        per_step = {length: statistics.median(steps[driver.name, length]) for length in LENGTHS}
        times = first.get(driver.name)
        rows.append(
            {
                "name": driver.name,
                "step": {str(length): seconds for length, seconds in per_step.items()},
                "first": statistics.median(times) if times else None,
                "together": at_once["seconds"] / (SESSIONS * 20),
                "cpu": at_once["cpu"] / (SESSIONS * 20),
                "memory": at_once["own"],
                "memory with cells": at_once["all"],
                "base memory": at_once["base"],
            }
        )
    return rows


def judged(rows: Sequence[dict[str, Any]]) -> None:
    """Add to each row how it stands against the best of the other frameworks."""
    others = [row for row in rows if row["name"] in FRAMEWORKS]
    if not others:
        return
    best = {
        "step": min(row["step"]["20"] for row in others),
        "together": min(row["together"] for row in others),
        "memory": min(row["memory"] for row in others),
        "first": min(row["first"] for row in others if row["first"] is not None),
    }
    for row in rows:
        row["of the best"] = {
            "step": row["step"]["20"] / best["step"],
            "together": row["together"] / best["together"],
            "memory": row["memory"] / best["memory"] if best["memory"] else None,
            "first": row["first"] / best["first"] if row["first"] is not None else None,
        }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as text: milliseconds and kilobytes."""
    lines = [
        f"{'':16} {'ms a step, in a conversation of':>34} {'first':>8} {SESSIONS:>4} at once"
        f" {'memory of a session':>22} {'against the best framework':>32}",
        f"{'':16} {'5':>10} {'20':>11} {'80':>11} {'event ms':>8} {'ms a step':>12} {'KB':>10} {'+ cells':>11}"
        f" {'step':>8} {'at once':>7} {'memory':>7} {'first':>7}",
    ]
    for row in rows:
        step = " ".join(f"{row['step'][str(length)] * 1e3:11.2f}" for length in LENGTHS)
        first = "-" if row["first"] is None else f"{row['first'] * 1e3:.2f}"
        against = row.get("of the best", {})
        times = " ".join(
            f"{'-' if against.get(key) is None else format(against[key], '.2f') + 'x':>7}"
            for key in ("step", "together", "memory", "first")
        )
        lines.append(
            f"{row['name']:15} {step} {first:>8} {row['together'] * 1e3:12.2f} {row['memory'] / 1e3:10.0f}"
            f" {row['memory with cells'] / 1e3:11.0f}  {times}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write benchmarks/results/frameworks.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="of an environment that has the frameworks and Remit")
    parser.add_argument("--only", nargs="*", choices=sorted(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    with ExitStack() as stack:
        base_url = stack.enter_context(serving())
        drivers = [stack.enter_context(running(name, options.python, base_url)) for name in options.only]
        rows = measured(drivers, options.rounds)
    judged(rows)
    body = {"title": "A step around the model", "machine": machine(), "seconds": time.monotonic() - started}
    body["rows"] = rows
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "frameworks.json").write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(body, indent=2) if options.json else table(rows))


if __name__ == "__main__":
    main()
