"""What every driver does with its contender: it needs nothing but the standard library.

A driver calls `main(make)`, where `make(base_url)` returns a `Contender`. Orders come as lines of JSON on standard
input, answers go as lines of JSON to standard output.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol


class Contender(Protocol):
    """A loop that answers with the help of one tool."""

    async def converse(self, model: str) -> str:
        """Have one conversation to its end and return the answer."""
        ...

    def events(self, model: str) -> AsyncIterator[object] | None:
        """Yield whatever a program hears first of a conversation; None where there is no such thing."""
        ...

    async def close(self) -> None:
        """Close what is open."""
        ...


def evaluate(expression: str) -> str:
    """Work out a sum of two whole numbers.

    Args:
        expression: such as `12 + 31`.
    """
    left, _, right = expression.partition("+")
    return str(int(left) + int(right))


SYSTEM = "You are a careful assistant. Use the skills that you are offered."
QUESTION = "Work out the sums, one after the other."


async def _steps(contender: Contender, order: dict[str, Any]) -> dict[str, Any]:
    """Conversations one after the other: seconds of each."""
    seconds = []
    for _ in range(order["times"]):
        started = time.perf_counter()
        answer = await contender.converse(order["model"])
        seconds.append(time.perf_counter() - started)
        _require(answer, order)
    return {"seconds": seconds}


async def _together(contender: Contender, order: dict[str, Any]) -> dict[str, Any]:
    """Conversations at once: seconds of all together, and of CPU."""
    gc.collect()
    started, cpu = time.perf_counter(), time.process_time()
    answers = await asyncio.gather(*(contender.converse(order["model"]) for _ in range(order["times"])))
    seconds = time.perf_counter() - started
    for answer in answers:
        _require(answer, order)
    return {"seconds": [seconds], "cpu": time.process_time() - cpu}


async def _first(contender: Contender, order: dict[str, Any]) -> dict[str, Any]:
    """Conversations that stream: seconds until the first event that holds something of the model's."""
    seconds = []
    for _ in range(order["times"]):
        started = time.perf_counter()
        events = contender.events(order["model"])
        if events is None:
            return {"seconds": []}
        first = 0.0
        async for _event in events:
            first = first or time.perf_counter() - started
        seconds.append(first)
    return {"seconds": seconds}


def _require(answer: str, order: dict[str, Any]) -> None:
    if answer.strip() != order["answer"]:
        raise RuntimeError(f"not the answer: {answer!r}")


async def _serve(make: Callable[[str], Contender], base_url: str) -> None:
    contender = make(base_url)
    kinds = {"steps": _steps, "together": _together, "first": _first}
    print(json.dumps({"ready": True}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        print(json.dumps(await kinds[order["kind"]](contender, order)), flush=True)
    await contender.close()


def main(make: Callable[[str], Contender]) -> None:
    """Obey orders until there are no more; the endpoint's base URL is the only argument."""
    asyncio.run(_serve(make, sys.argv[1]))
