"""What one small program costs, and how many are right: `python -m benchmarks.python_engine [--json]`.

Contenders: plain `exec` as the floor, the policy alone (in this process), a warm cell, a cell of its own, and a fresh
interpreter; smolagents and Monty (`smolagents`, `pydantic-monty`) where they are installed, best in an environment of
their own, and a line with the reason where they are not. The aim is at most 1 ms for a trivial program in a warm
cell. The second table counts the shared cases: benign programs with the right output, hostile ones that got out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.measure import in_turns, machine, report, row
from remit_sandbox import Sandbox
from remit_sandbox.probe import probe
from remit_sandbox.python import PythonResult, execute, run_python
from remit_sandbox.values import Enforcement

CASES = Path(__file__).parents[1] / "tests" / "data" / "python.jsonl"

PROGRAMS: Mapping[str, str] = {
    "trivial": "1 + 1",
    "loop": "total = 0\nfor n in range(1000):\n    total += n * n\ntotal",
    "library": "import re, json\njson.dumps(re.findall(r'\\d+', 'a1b22c333'))",
    "class": "class P:\n    def __init__(self, x): self.x = x\n    def double(self): return self.x * 2\n"
    "sum(P(n).double() for n in range(100))",
}

Run = Callable[[str], object]


def plain(code: str) -> None:
    """Compile and run without any guard."""
    exec(compile(code, "<program>", "exec"), {})


def interpreter(code: str) -> None:
    """A fresh interpreter of its own."""
    subprocess.run([sys.executable, "-I", "-c", code], check=True, stdout=subprocess.DEVNULL)


def contenders(sandbox: Sandbox, enforcement: Enforcement, stack: ExitStack) -> dict[str, Run]:
    """Return the ways to run a program on this machine."""
    found: dict[str, Run] = {
        "exec": plain,
        "policy alone": execute,
        "warm cell": lambda code: run_python(code, session="bench", sandbox=sandbox, enforcement=enforcement),
        "fresh cell": lambda code: run_python(code, sandbox=sandbox, enforcement=enforcement),
        "fresh interpreter": interpreter,
    }
    for name, make in (("smolagents", _smolagents), ("monty", lambda: _monty(stack))):
        try:
            found[name] = make()
        except ImportError as error:
            print(f"{name} is not measured: {error}", file=sys.stderr)
    return found


def _smolagents() -> Run:
    local = importlib.import_module("smolagents.local_python_executor")
    tools = local.BASE_PYTHON_TOOLS
    return lambda code: local.evaluate_python_code(code, dict(tools), state={}, authorized_imports=["re", "json"])


def _monty(stack: ExitStack) -> Run:
    pool = stack.enter_context(importlib.import_module("pydantic_monty").Monty())

    def run(code: str) -> object:
        with pool.checkout() as session:
            return session.feed_run(code)

    return run


def runs(run: Run, code: str) -> bool:
    """Whether a contender can run the program at all."""
    try:
        run(code)
    except Exception:
        return False
    return True


def is_right(case: Mapping[str, Any], result: PythonResult) -> bool:
    """Whether a benign program ran and printed what it should."""
    return not result.error and result.stdout == case.get("expected_stdout", "")


def count(sandbox: Sandbox, enforcement: Enforcement, timeout: float) -> dict[str, int]:
    """Run the shared cases in cells of their own; an escape is what the host sees of it, or a printed REACHED."""
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    counts = {"benign": 0, "right": 0, "hostile": 0, "escaped": 0}
    with tempfile.TemporaryDirectory() as folder:
        kept, pwned = Path(folder, "kept.txt"), Path(folder, "pwned")
        kept.write_text("the-secret-of-the-host")
        for case in cases:
            code = case["code"].replace("PWNED_FILE", str(pwned)).replace("secret.txt", str(kept))
            result = run_python(code, timeout=timeout, sandbox=sandbox, enforcement=enforcement)
            counts[case["label"]] += 1
            if case["label"] == "benign":
                counts["right"] += is_right(case, result)
            else:
                reached = "REACHED" in result.stdout or "the-secret" in f"{result!r}" or pwned.exists()
                counts["escaped"] += reached
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/python_engine.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds for each of the shared cases")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    enforcement: Enforcement = "available" if probe().missing else "kernel"
    rows: list[dict[str, Any]] = []
    with Sandbox() as sandbox, ExitStack() as stack:
        found = contenders(sandbox, enforcement, stack)
        for label, code in PROGRAMS.items():
            able = {name: (lambda run=run, code=code: run(code)) for name, run in found.items() if runs(run, code)}
            with contextlib.redirect_stdout(io.StringIO()):
                seconds = in_turns(able, rounds=options.rounds, warmup=2)
            for name, times in seconds.items():
                aim = {"aim": "median at most 1 ms"} if (label, name) == ("trivial", "warm cell") else {}
                rows.append({**row(f"{label}: {name}", times, seconds["exec"]), **aim})
        counts = count(sandbox, enforcement, options.timeout)
    title = f"One program, seconds of wall time (Python {machine()['python']})"
    report(title, rows, unit="ms", scale=1000, file="python_engine.json", json_out=options.json)
    print(
        f"\nshared cases: {counts['right']} of {counts['benign']} benign programs right, "
        f"{counts['escaped']} of {counts['hostile']} hostile ones got out"
    )


if __name__ == "__main__":
    main()
