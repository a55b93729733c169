"""What one calculation costs, and whether it is right: `python -m benchmarks.calculation [--json] [--fuzz N]`.

Contenders are those that are installed: `eval` as the floor, simpleeval, and asteval, numexpr and sympy where they
are. With `--fuzz N` N random expressions are compared with Python's own Fraction first; the report counts them.
"""

from __future__ import annotations

import argparse
import importlib
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from benchmarks.measure import in_turns, machine, report, row
from remit_sandbox import CalculationError, calculate

EXPRESSIONS: Mapping[str, str] = {
    "short": "2 + 3 * 4",
    "decimals": "(19.99 * 3 + 4.5) / 1.19 - 7.25",
    "functions": "sqrt(2) * sin(0.5) + log(10) ** 2",
    "long": " + ".join(f"{n}.5 * {n + 1}" for n in range(20)),
}
"""Expressions that every contender understands."""

Evaluate = Callable[[str], Any]


def contenders() -> dict[str, Evaluate]:
    """Return the evaluators that this machine has."""
    names = {"sqrt": math.sqrt, "sin": math.sin, "log": math.log}
    found: dict[str, Evaluate] = {
        "eval": lambda text: eval(text, {"__builtins__": {}}, names),
        "remit calculate": calculate,
        "simpleeval": lambda text: importlib.import_module("simpleeval").simple_eval(text, functions=names),
    }
    for name, make in (("asteval", _asteval), ("numexpr", _numexpr), ("sympy", _sympy)):
        try:
            found[name] = make()
        except ImportError:
            continue
    return found


def _asteval() -> Evaluate:
    interpreter = importlib.import_module("asteval").Interpreter()
    return lambda text: interpreter(text)


def _numexpr() -> Evaluate:
    module = importlib.import_module("numexpr")
    return lambda text: module.evaluate(text)


def _sympy() -> Evaluate:
    module = importlib.import_module("sympy")
    return lambda text: module.sympify(text).evalf()


def expression(choose: random.Random, depth: int = 0) -> str:
    """Return a random expression of exact operators, well formed and sometimes a division by zero."""
    if depth > 3 or choose.random() < 0.3:
        digits = str(choose.randrange(10 ** choose.randrange(1, 7)))
        return digits if choose.random() < 0.6 else f"{digits}.{choose.randrange(1000):03}"
    kind = choose.random()
    left = expression(choose, depth + 1)
    if kind < 0.1:
        return f"(-({left}))"
    if kind < 0.2:
        return f"({left})**{choose.randrange(-3, 5)}"
    return f"({left} {choose.choice('+-*/')} {expression(choose, depth + 1)})"


def exact(text: str) -> Fraction | None:
    """Return the value by Python's own Fraction, None for a division by zero."""
    wrapped = re.sub(r"(?<![\w*-])(\d+(?:\.\d+)?)|(?<=[(\s])(\d+(?:\.\d+)?)", lambda m: f"Fraction('{m[0]}')", text)
    try:
        return Fraction(eval(wrapped, {"Fraction": Fraction}))
    except ZeroDivisionError:
        return None


def disagreements(count: int, seed: int = 0) -> list[str]:
    """Compare `count` random expressions with Fraction; return those with another value or another refusal."""
    choose = random.Random(seed)
    wrong = []
    for _ in range(count):
        text = expression(choose)
        expected = exact(text)
        try:
            value = calculate(text).value
            got = None if isinstance(value, float) else Fraction(value)
            same = got == expected if got is not None else False
        except CalculationError as error:
            same = expected is None or "digits" in str(error)
        if not same:
            wrong.append(text)
    return wrong


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/calculation.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--fuzz", type=int, default=0, help="random expressions to compare with Fraction")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for label, text in EXPRESSIONS.items():
        runs = {name: (lambda found=found, text=text: found(text)) for name, found in contenders().items()}
        seconds = in_turns(runs, rounds=options.rounds, warmup=3)
        rows += [row(f"{label}: {name}", times, seconds["eval"]) for name, times in seconds.items()]
    title = f"One calculation, seconds of wall time (Python {machine()['python']})"
    report(title, rows, unit="ms", scale=1000, file="calculation.json", json_out=options.json)
    if options.fuzz:
        wrong = disagreements(options.fuzz)
        print(f"\n{options.fuzz} random expressions against Fraction: {len(wrong)} disagree")
        print("\n".join(wrong[:20]))


if __name__ == "__main__":
    main()
