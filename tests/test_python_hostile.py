"""Hostile programs under the policy, in real cells: nothing outside the program is reached, and every one ends.

The verdict is the host's: a canary file with a secret that only the host knows, and a file that must not appear.
What runs in plain Python does reach them, or the attack proves nothing (it is then named below).
"""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remit_sandbox.python import PythonResult, execute, run_python
from remit_sandbox.sandbox import Sandbox
from tests.python_parts import HOSTILE, LONG, ids, plain_python

REACHES = [case for case in HOSTILE if "PWNED_FILE" in case["code"] or "secret.txt" in case["code"]]
"""Cases whose success the host can see."""


@dataclass(frozen=True, kw_only=True)
class Canary:
    """A file that must not be read, and a path where none must appear."""

    secret: str
    file: Path
    pwned: Path

    def aimed(self, code: str) -> str:
        """Return the program aimed at this canary, wherever it runs."""
        return code.replace("PWNED_FILE", str(self.pwned)).replace("secret.txt", str(self.file))

    def is_harmed_by(self, output: str) -> bool:
        """Whether the secret came out, or the file is there."""
        return self.secret in output or self.pwned.exists()


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    secret = secrets.token_hex(8)
    (tmp_path / "kept.txt").write_text(secret)
    return Canary(secret=secret, file=tmp_path / "kept.txt", pwned=tmp_path / "pwned")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def everything(result: PythonResult) -> str:
    return f"{result.value!r} {result.stdout} {result.error} {result.files!r}"


@pytest.mark.parametrize("case", HOSTILE, ids=ids(HOSTILE))
def test_shared_case(case: dict[str, Any], canary: Canary, sandbox: Sandbox) -> None:
    timeout = 0.4 if case["kind"] == "cpu" else 1.0 if case["kind"] in LONG else 10.0
    result = run_python(canary.aimed(case["code"]), timeout=timeout, sandbox=sandbox, enforcement="available")
    assert not canary.is_harmed_by(everything(result))
    assert "REACHED" not in result.stdout
    assert len(everything(result)) < 500_000
    after = run_python("1 + 1", session="after", sandbox=sandbox, enforcement="available")
    assert after.value == 2


@pytest.mark.parametrize("case", REACHES, ids=ids(REACHES))
def test_control_plain_python_is_harmed(case: dict[str, Any], canary: Canary) -> None:
    done = plain_python(canary.aimed(case["code"]))
    assert canary.is_harmed_by(done.stdout) == (case["id"] not in VACUOUS), done.stderr


VACUOUS: set[str] = set()
"""Attacks that do not work in plain Python either."""


def test_what_uses_up_its_cell_is_told_so(sandbox: Sandbox) -> None:
    for code, says, timeout in [
        ("while True: pass", "TimeoutError", 0.5),
        ("x = [0] * 10 ** 10", "MemoryError", 3.0),
        (
            "import itertools\nx = iter([1])\nfor i in range(10 ** 6): x = itertools.chain(x)\nlist(x)",
            "interpreter",
            3.0,
        ),
        ("import time\ntime.sleep(100)", "TimeoutError", 0.5),
    ]:
        result = run_python(code, timeout=timeout, sandbox=sandbox, enforcement="available")
        assert says in result.error or "TimeoutError" in result.error, (code, result)


PIECES = {
    "getattr": ["getattr({0}, {1!r})", "(lambda o: getattr(o, {1!r}))({0})", "next(map(getattr, [{0}], [{1!r}]))"],
    "objects": [
        "()", "''", "print", "len", "f", "C", "C()", "type(C)", "type(f)", "type(1)", "type(type)", "super", "property",
        "(x for x in [1])", "str.format", "'{{}}'.format", "math", "math.sqrt", "json.JSONEncoder",
        "functools.partial(f)", "functools.wraps", "random.random", "decimal.getcontext()", "list[int]",
        "typing.List[int]", "enum.Enum",
        "dataclasses.dataclass", "abc.ABCMeta", "collections.namedtuple('T', 'a')", "re.compile('a')", "E", "cm()",
        "functools.lru_cache(f)", "itertools.count()", "contextlib.ExitStack()", "copy.copy(f)", "datetime.date.today",
        "type(iter([]))", "zip", "Exception()", "typing.NamedTuple", "string.Template('')", "io.StringIO()", "object()",
        "__name__", "classmethod(f)", "C.m", "C().m", "vars", "dir",
    ],
    "names": [
        "__class__", "__globals__", "__builtins__", "__subclasses__", "__base__", "__bases__", "__mro__", "mro",
        "__self__", "__func__", "__code__", "__closure__", "__wrapped__", "__dict__", "__module__", "__getattribute__",
        "__reduce__", "__reduce_ex__", "__init_subclass__", "__loader__", "__spec__", "__import__", "gi_frame",
        "gi_code", "f_globals", "tb_frame", "cr_frame", "ag_frame", "func_globals", "__traceback__", "__context__",
        "__origin__",
        "__defaults__", "__kwdefaults__", "__annotations__", "__weakref__", "__objclass__", "__call__", "__get__",
        "_getattr_", "_write_", "__set__", "__delattr__", "__setattr__", "__dir__", "__sizeof__", "__format__",
    ],
}  # fmt: skip
START = """
import math, json, functools, random, decimal, typing, enum, dataclasses, abc, collections, re, itertools, contextlib
import copy, datetime, string, io
def f(a=1): return a
class C:
    def m(self): return 1
@contextlib.contextmanager
def cm(): yield
try: None.x
except AttributeError as error: E = error
def show(value):
    found.append(repr(value))
found = []
"""
DANGEROUS = (
    "<class 'object'>",
    "<class 'type'>",
    "<frame",
    "<code ",
    "'__builtins__'",
    "<module '",
    "<cell ",
    "mappingproxy",
)
"""How what must not be reached looks."""


def test_pieces_of_escapes_put_together_reach_nothing() -> None:
    """Every way to read, on every object, with every name that leads somewhere: about 7,000 in 50 programs."""
    for object_ in PIECES["objects"]:
        lines = [START]
        for name, way in itertools.product(PIECES["names"], PIECES["getattr"]):
            lines.append(f"try: show({way.format(object_, name)})\nexcept Exception: pass")
        result = execute("\n".join(lines) + "\nfound")
        assert result.error == "", (object_, result.error)
        assert not [text for text in result.value for mark in DANGEROUS if mark in text], object_


def test_the_same_pieces_reach_something_without_the_policy() -> None:
    source = (
        START.replace("found = []", "") + "found = [repr(().__class__), repr(().__class__.__base__), repr(f.__code__)]"
    )
    space: dict[str, Any] = {}
    exec(source, space)
    assert all(any(mark in text for mark in DANGEROUS) for text in space["found"][1:])


@pytest.mark.parametrize(
    "code",
    [
        "class S(str): pass\nS('{0.__class__}').format(1)",
        "class S(str):\n    def f(self): return super().format(1)\nS('{0.__class__}').f()",
        "class S(str): pass\nclass R:\n    def __radd__(self, o): return o\n"
        "s = S('{0.__class__}')\ns.format += R()\ns.format(1)",
        "import dataclasses\n@dataclasses.dataclass\nclass S(str):\n    format: int = dataclasses.field(init=False)\n"
        "s = S('{0.__class__}')\ndataclasses.asdict(s)['format'](1)",
        "class S(str): pass\nmatch S('{0.__class__}'):\n    case S(format=g): found = g(1)\nfound",
        "import functools\nfunctools.partial(str.format, '{0.__class__}')(1)",
        "list(map('{0.__class__}'.format, [1]))",
        "'{:{0.__class__}}'.format(1)",
        "'{x[{0.__class__}]}'.format(1, x=1)",
        "class A:\n    __match_args__ = ('__class__',)",
        "class A: pass\nA.__match_args__ = ('__class__',)",
        "class A: pass\nsetattr(A, '__match_args__', ('__class__',))",
        "match 1:\n    case int(real=r): pass\nr",
        "match (x for x in []):\n    case object(gi_frame=g): pass",
        "class M(type): pass",
        "import abc\nabc.ABCMeta('X', (), {})",
        "type('X', (), {})",
        "type(type(1))('X', (), {})",
        "type(type)('X', (), {})",
        "class X(metaclass=int): pass",
        "class X(**{'metaclass': int}): pass",
        "import enum\nenum.Enum('X', {'__getattribute__': 1})",
        "import enum\nenum.Enum('X', [('__reduce__', 1)])",
        "list[int].mro()",
        "import typing\ntyping.List[int].mro()",
        "import functools, json\nfunctools.wraps(json.dumps)(json.loads)",
        "import functools, json\nfunctools.total_ordering(json.JSONEncoder)",
        "import dataclasses, json\ndataclasses.dataclass(json.JSONEncoder)",
        "import json\njson.JSONEncoder.x = 1",
        "import json\ndel json.JSONEncoder.default",
        "import math\nmath.x = 1",
        "import math\nprint(math)",
        "import math\nvars(math)",
        "import math, copy\ncopy.copy(math).__dict__",
        "import collections\ncollections.namedtuple('T', 'a;import os')",
        "from json import decoder",
        "from typing import get_type_hints",
        "import typing\ntyping.get_type_hints(int)",
        "from functools import singledispatch",
        "import json.decoder",
        "import collections as c\nc._sys",
        "def f(): pass\nf.__code__ = 1",
        "class X: pass\nX().__class__ = int",
        "class X:\n    __class__ = int",
        "class X:\n    def __reduce__(self): return (print, ())",
        "class X:\n    def __del__(self): pass",
        "class X:\n    def __instancecheck__(self, o): return True",
        "def __getattr__(n): return 1",
        "__builtins__",
        "__import__('os')",
        "__build_class__",
        "global _getattr_",
        "import math as _write_",
        "from math import sqrt as _class_",
        "class _class_: pass",
        "lambda _type_: 1",
        "for _hold_ in []: pass",
        "with 1 as _value_: pass",
        "[_tmp1_ := 1]",
        "{**{}}.__class__",
        "try: 1/0\nexcept* ValueError: pass",
        "async def f(): await g()",
        "try: None.x\nexcept AttributeError as e: e.obj",
        "try: None.x\nexcept AttributeError as e: getattr(e, 'obj')",
        "try: nothing\nexcept NameError as e: e.obj",
        "try: 1/0\nexcept Exception as e: e.__traceback__",
        "try: 1/0\nexcept Exception as e: e.with_traceback(None).__context__",
        "class X:\n    def __exit__(self, a, b, tb): tb.tb_frame\n    def __enter__(self): pass\nwith X(): 1/0",
        "class X:\n    def __exit__(self, a, b, tb): getattr(tb, 'tb_frame')\n"
        "    def __enter__(self): pass\nwith X(): 1/0",
        "print('x', file=save_file)",
        "import random\nrandom.random.__self__",
        "import contextlib\n@contextlib.contextmanager\ndef f(): yield\nf().gen.gi_frame",
        "import io\nio.open('x')",
        "import io\nio.FileIO('x')",
        "x: ().__class__ = 1",
        "def f(x: ().__class__): pass",
        "def f() -> ().__class__: pass",
        "class X:\n    y: ().__class__",
        "@().__class__\ndef f(): pass",
        "def f(x=().__class__): pass",
        "f'{().__class__}'",
        "f'{1:{().__class__}}'",
        "x = [1]\nx[().__class__]",
        "del ().__class__",
        "().__class__.x += 1",
        "().__𝓬𝓵𝓪𝓼𝓼__",
        "import operator\nprint(operator)",
        "import operator\noperator.attrgetter('x')",
        "from operator import methodcaller",
        "from operator import setitem",
        "object.__setattr__([], 'x', 1)",
        "class X: pass\nobject.__setattr__(X(), '__class__', int)",
        "object.__new__(dict)",
        "object.__subclasses__()",
        "object.__getattribute__(1, '__class__')",
        "import urllib\nurllib.request",
        "import urllib.request",
        "import collections.abc as c\nc.Mapping.register(int)",
        "import numbers\ngetattr(numbers.Number, 'register')(str)",
        "import abc, json\nabc.abstractmethod(json.dumps)",
        "import hashlib\nhashlib.algorithms_available.add('x')",
    ],
)  # fmt: skip
def test_a_gadget_is_refused(code: str) -> None:
    assert execute(code).error, code


def test_a_program_cannot_change_what_the_next_one_finds() -> None:
    """Shared parts of the standard library are the same afterwards, as the host sees them."""
    import json
    import random as host_random

    host_random.seed(5)
    before = (host_random.getstate(), json.JSONEncoder.item_separator, sorted(vars(json.JSONEncoder)), dict(os.environ))
    for case in HOSTILE:
        if case["kind"] == "write":
            execute(case["code"])
    after = (host_random.getstate(), json.JSONEncoder.item_separator, sorted(vars(json.JSONEncoder)), dict(os.environ))
    assert after == before
