"""The Python engine on benign programs: the shared cases, the same as plain Python, values, sessions, errors."""

from __future__ import annotations

import importlib
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox.python import execute
from remit_sandbox.python.engine import Interpreter
from remit_sandbox.python.modules import ADDED, PLAIN
from remit_sandbox.python.plain import decode, encode
from tests.python_parts import BENIGN, PROGRAMS, ids, plain_python


@pytest.mark.parametrize("case", BENIGN, ids=ids(BENIGN))
def test_shared_case(case: dict[str, Any]) -> None:
    result = execute(case["code"])
    assert result.error == ""
    assert result.stdout == case.get("expected_stdout", "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_plain_python_prints(name: str) -> None:
    control = plain_python(PROGRAMS[name])
    assert control.returncode == 0, control.stderr
    result = execute(PROGRAMS[name])
    assert (result.error, result.stdout) == ("", control.stdout)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", 2),
        ("result = 5", 5),
        ("result = 5\nprint(result)", 5),
        ("result = 5\n7", 7),
        ("(1, {2: {3}}, b'x')", (1, {2: {3}}, b"x")),
        ("x = 3", None),
        ("'text'", "text"),
        ("float('inf')", math.inf),
        ("10 ** 100", 10**100),
        ("import collections\ncollections.Counter('aab')", {"a": 2, "b": 1}),
        ("import datetime\ndatetime.date(2024, 1, 2)", "2024-01-02"),
        ("from fractions import Fraction\nFraction(1, 3)", "1/3"),
        ("class P:\n    def __repr__(self): return 'P!'\nP()", "P!"),
        ("(x for x in [1])", "<generator>"),
        ("for i in range(3):\n    i", None),
        ("{'$tuple': 1}", {"$tuple": 1}),
        ("", None),
    ],
)
def test_the_value_is_that_of_the_last_expression_or_result(code: str, value: object) -> None:
    result = execute(code)
    assert (result.value, result.error) == (value, "")


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nfor i in range(200000): x = [x]\nx",
        "10 ** 6000",
        "'\\ud800'",
        "x = {}\nx['x'] = x\nx",
        "class P:\n    def __repr__(self): raise ValueError\nP()",
        "class P:\n    def __repr__(self): return 5\nP()",
        "class S(str): pass\nS('x')",
        "list(range(10 ** 6))",
        "lambda: 0",
        "{frozenset([1]): {(1, 2)}}",
    ],
)
def test_every_value_crosses_as_strict_json(code: str) -> None:
    result = execute(code)
    assert result.error == ""
    json.dumps(encode(result.value), allow_nan=False).encode()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner)
        | st.sets(st.integers() | st.text())
    ),
    max_leaves=12,
)


@given(values)
def test_plain_values_come_out_as_they_went_in(value: object) -> None:
    assert decode(json.loads(json.dumps(encode(value)))) == value


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_rubbish_from_a_cell_is_read_or_refused(plain: object) -> None:
    try:
        decode(plain)
    except (ValueError, TypeError, KeyError):
        pass


def test_inputs_are_variables_and_a_dict() -> None:
    assert execute("rows[0]['a'] + inputs['n']", {"rows": [{"a": 1}], "n": 2}).value == 3
    assert "_getattr_" in execute("1", {"_getattr_": 1}).error
    assert "no name" in execute("1", {"not a name": 1}).error


def test_an_interpreter_keeps_what_programs_leave() -> None:
    interpreter = Interpreter()
    first = "import math\ntotal = 2\nclass Box:\n    side = 3\ndef area(x): return math.sqrt(x) * total"
    assert interpreter.run(first).error == ""
    assert interpreter.run("total += 1; box = Box(); box.side *= 2; box.side").value == 6
    assert interpreter.run("area(16)").value == 12.0
    assert interpreter.run("print('once')").stdout == "once\n"
    assert interpreter.run("1").stdout == ""
    assert execute("total").error.startswith("NameError")


def test_a_run_leaves_nothing_to_the_next_interpreter() -> None:
    execute("import random, decimal\nrandom.seed(1)\ndecimal.getcontext().prec = 3")
    assert execute("from decimal import *\ngetcontext().prec").value == 28
    assert execute("import random\nrandom.random()").value != execute("import random\nrandom.random()").value


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1\ny = x / 0", ["ZeroDivisionError", "line 2", "y = x / 0"]),
        ("for i in range(3)\n    pass", ["SyntaxError", "line 1", "expected ':'"]),
        ("import numpy as np", ["import of numpy is not allowed", "allowed: ", "statistics"]),
        ("from os import path", ["no files", "inputs"]),
        ("open('x')", ["save_file", "inputs"]),
        ("x = input()", ["put the value into the code"]),
        ("prnt(1)", ["did you mean print?"]),
        ("total = 1\ntotl", ["did you mean total?"]),
        ("from math import sine", ["math has no sine", "sin,"]),
        ("().__class__", ["line 1", "__class__"]),
        ("async def f(): pass", ["line 1", "async"]),
        ("def f(n): return f(n + 1)\nf(0)", ["RecursionError", "loop"]),
        ("class A:\n    def __getattr__(self, n): return 1", ["line 2", "__getattr__"]),
        ("x = (1, 2)\nx[0] = 3", ["TypeError", "line 2", "tuple"]),
        ("raise SystemExit('why')", ["SystemExit: why"]),
        ("'{0.real}'.format(1)", ["f-string"]),
        ("class E(Exception):\n    def __str__(self): return 1\nraise E()", ["E", "cannot be shown"]),
        ("x" * 100_001, ["at most 100000 characters"]),
        ("x = 1\x00", ["SyntaxError"]),
        ("x = " + "-" * 90_000 + "1", ["nests too deeply"]),
        ("raise KeyboardInterrupt", ["KeyboardInterrupt"]),
        ("exit()", ["SystemExit"]),
    ],
)
def test_errors_say_where_why_and_what_instead(code: str, says: list[str]) -> None:
    error = execute(code).error
    assert all(part in error for part in says), error
    assert not re.search(r"\b_(getattr|write|class|inplacevar|getiter|unpack)\w*_\b", error.replace("__class__", ""))


def test_a_clean_stop_is_no_error() -> None:
    assert execute("print(1)\nraise SystemExit\nprint(2)") == execute("print(1)")


def test_output_is_capped_and_controls_are_visible() -> None:
    result = execute("for i in range(1000): print('x' * 1000)")
    assert len(result.stdout) < 210_000 and result.stdout.endswith("left out)")
    assert execute("print('\\x1b]0;t\\x07')").stdout == "\\x1b]0;t\\x07\n"
    assert execute("print('\\ud800')").stdout == "\\ud800\n"


def test_files() -> None:
    result = execute("save_file('a.csv', 'x,y')\nsave_file('b.bin', b'\\x00')\nsave_file('a.csv', 'z')")
    assert (result.files, result.error) == ({"a.csv": b"z", "b.bin": b"\x00"}, "")
    for name in ("'../a'", "'a/b'", "''", "'.profile'", "5", "'a\\x00'"):
        assert "file" in execute(f"save_file({name}, 'x')").error
    assert "at most 20 files" in execute("for i in range(21): save_file(str(i), 'x')").error
    assert "bytes together" in execute("save_file('x', b'x' * 20_000_000)").error


def test_the_modules_are_there() -> None:
    for module, names in PLAIN.items():
        listed = "" if names == "*" else names
        for name in [*listed.split(), *ADDED.get(module, "").split()]:
            there = hasattr(importlib.import_module(module), name) or name in ADDED.get(module, "")
            assert (execute(f"from {module} import {name}").error == "") == there, name


numbers = st.integers(-50, 50).map(str)
variables = st.sampled_from(["a", "b", "c"])
expressions = st.recursive(
    numbers | variables,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "and", "or"]), inner).map(
            lambda part: f"({' '.join(part)})"
        )
        | inner.map(lambda text: f"[{text} for a in range(3)]")
        | inner.map(lambda text: f"(lambda b=c: {text})()")
        | inner.map(lambda text: f"box.add({text})")
        | inner.map(lambda text: f"f'{{{text}}}'")
        | inner.map(lambda text: f"({text},)[0]")
    ),
    max_leaves=6,
)
simple = st.builds("{} {} {}".format, variables, st.sampled_from(["=", "+=", "-=", "*="]), expressions) | st.builds(
    "{} {} {}".format,
    st.sampled_from(["box.x", "rows[0]", "rows[1][0]", "table['k']"]),
    st.sampled_from(["=", "+="]),
    expressions,
)


def indented(lines: list[str]) -> str:
    return "\n".join("    " + line for text in lines for line in text.splitlines())


blocks = st.recursive(
    simple,
    lambda inner: (
        st.builds(lambda test, body: f"if {test}:\n{indented(body)}", expressions, st.lists(inner, min_size=1))
        | st.builds(lambda body: f"for a in range(2):\n{indented(body)}", st.lists(inner, min_size=1))
        | st.builds(
            lambda body, other: (
                f"try:\n{indented(body)}\nexcept Exception as e:\n{indented(other)}\n    print(type(e).__name__)"
            ),
            st.lists(inner, min_size=1),
            st.lists(inner, min_size=1),
        )
        | st.builds(
            lambda body: f"def f():\n    global a, b, c\n{indented(body)}\n    return a\nprint(f())",
            st.lists(inner, min_size=1),
        )
    ),
    max_leaves=6,
)
START = """
class Box:
    def __init__(self): self.x = 1
    def add(self, n):
        self.x += 1
        return n
a, b, c = 1, 2, 3
box, rows, table = Box(), [1, [2]], {'k': 5}
def shown(f):
"""


@given(st.lists(blocks, min_size=1, max_size=4))
def test_random_programs_do_what_plain_python_does(parts: list[str]) -> None:
    source = START.replace("def shown(f):\n", "") + "\n".join(parts) + "\nprint(a, b, c, box.x, rows, table)"
    ours = execute(source)
    theirs = in_plain_python(source)
    assert (ours.stdout, ours.error.partition(":")[0]) == theirs, source


def in_plain_python(source: str) -> tuple[str, str]:
    """Run a harmless generated program in this process, without policy; return its output and the error's name."""
    printed: list[str] = []
    space = {"print": lambda *values: printed.append(" ".join(map(str, values)) + "\n"), "__name__": "__main__"}
    try:
        exec(compile(source, "<control>", "exec"), space)
    except Exception as error:
        return "".join(printed), type(error).__name__
    return "".join(printed), ""
