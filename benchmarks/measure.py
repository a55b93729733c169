"""Timing in turns, so that both sides see the same machine, and one way to report it."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def in_turns(contenders: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 1) -> dict[str, list[float]]:
    """Run the contenders one after the other, `rounds` times; return seconds of each run by name."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(warmup + rounds):
        for name, contender in contenders.items():
            started = time.perf_counter()
            contender()
            if turn >= warmup:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def machine() -> dict[str, Any]:
    """Say what ran the benchmark."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
    }


def row(name: str, seconds: Sequence[float], against: Sequence[float]) -> dict[str, Any]:
    """Return minimum, median and maximum in seconds, and the median of the ratios pair by pair."""
    ratios = [mine / other for mine, other in zip(seconds, against, strict=True)]
    return {
        "name": name,
        "minimum": min(seconds),
        "median": statistics.median(seconds),
        "maximum": max(seconds),
        "ratio": statistics.median(ratios),
    }


def report(
    title: str, rows: Sequence[Mapping[str, Any]], *, unit: str, scale: float, file: str, json_out: bool
) -> None:
    """Print `rows` as a table (or as JSON) and write them to benchmarks/results."""
    body = {"title": title, "machine": machine(), "rows": list(rows)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / file).write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    if json_out:
        print(json.dumps(body, indent=2))
        return
    widest = max(len(str(line["name"])) for line in rows)
    print(title)
    print(f"{'':{widest}}  {'min ' + unit:>10}  {'median':>10}  {'max':>10}  {'ratio':>7}  {'fastest':>7}  aim")
    for line in rows:
        figures = "  ".join(f"{line[key] * scale:10.3f}" for key in ("minimum", "median", "maximum"))
        fastest = f"{line['ratio of fastest tenths']:6.2f}x" if "ratio of fastest tenths" in line else ""
        print(
            f"{line['name']:{widest}}  {figures}  {_times(line['ratio'])}  {fastest:>7}  {line.get('aim', '')}".rstrip()
        )


def _times(ratio: float | None) -> str:
    return f"{ratio:6.2f}x" if ratio is not None else " " * 7
