"""A regression test for each known advisory of the engines' libraries, on our own engines.

The floors in pyproject.toml keep the mended versions; what the policy refuses would hold without them. Which number is
what was looked up in the maintainers' advisories and the public vulnerability databases in November 2026:

| number | library | mended in | what |
|---|---|---|---|
| CVE-2023-37271 | RestrictedPython | 6.1, 5.3 | stack frames through generators |
| CVE-2023-41039 | RestrictedPython | 6.2, 5.4 | attributes through `format` |
| CVE-2024-47532 | RestrictedPython | 7.3 | `AttributeError.obj` |
| CVE-2025-22153 | RestrictedPython | 8.0 | `except*` |
| CVE-2026-55830 | RestrictedPython | 8.3 | guards rebound by positional-only parameters |
| CVE-2026-76825 | RestrictedPython | 8.4 | `string.Formatter` looks attributes up by itself |
| CVE-2026-32640 | simpleeval | 1.0.5 | modules reached through objects and callbacks that were passed in |
"""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from remit_sandbox import CalculationError, calculate
from remit_sandbox.python import execute

FLOORS = {"RestrictedPython": "9.0", "simpleeval": "1.0.8"}
MENDED = {"RestrictedPython": "8.4", "simpleeval": "1.0.5"}
"""The first versions without any of the advisories."""
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", FLOORS)
def test_the_floor_is_declared_and_met(name: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    wanted = next(item for item in map(Requirement, declared) if item.name == name)
    floor = Version(FLOORS[name])
    assert floor in wanted.specifier
    assert not wanted.specifier.contains("0.1") and floor >= Version(MENDED[name])
    assert Version(version(name)) >= floor


ADVISORIES = {
    "CVE-2023-37271: frames through generators": [
        "g = (g.gi_frame.f_back for x in [1])\nnext(g)",
        "g = (x for x in [1])\ngetattr(g, 'gi_frame')",
        "def f(): yield\nf().gi_code",
    ],
    "CVE-2023-41039: attributes in format": [
        "'{0.__class__}'.format(1)",
        "'{x.__class__}'.format_map({'x': 1})",
        "str.format('{0.__class__}', 1)",
        "str.format_map('{x.__class__}', {'x': 1})",
        "getattr('{0.__class__}', 'format')(1)",
    ],
    "CVE-2024-47532: AttributeError.obj": [
        "import random\ntry: random.nothing\nexcept AttributeError as e: e.obj",
        "try: None.nothing\nexcept AttributeError as e: getattr(e, 'obj')",
        "try: nothing\nexcept NameError as e: getattr(e, 'obj')",
    ],
    "CVE-2025-22153: except*": [
        "try: raise ValueError\nexcept* ValueError: pass",
        "try: 1\nexcept* Exception as e: e",
    ],
    "CVE-2026-55830: guards rebound by positional-only arguments": [
        "def f(_getattr_, /): return [].x",
        "def f(_getattr_=lambda o, n: o, /): return o.x\nf()",
        "def f(_getitem_=min, /): return [1][0]\nf()",
        "def f(_print_=int, /): print(1)\nf()",
        "def f(a, _write_, /, b): pass",
        "lambda _getattr_, /: 1",
        "def f(*, _write_): pass",
        "lambda *_getattr_: 1",
        "def f(**_class_): pass",
    ],
    "CVE-2026-76825: string.Formatter reads attributes": [
        "import string\nstring.Formatter().get_field('0.__class__', [1], {})",
        "import string\nstring.Formatter().vformat('{0.__class__}', [1], {})",
        "import string\nstring.Formatter().format('{0.__class__}', 1)",
        "import string\nstring.Formatter.get_value(None, '0', [1], {})",
        "from string import Formatter",
        "import string\nstring.Formatter",
        "import string\nclass F(string.Formatter): pass",
        "import string\ngetattr(string, 'Formatter')",
    ],
    "no number: other ways around the guard of attributes": [
        "class S(str): pass\nS('{0.__class__}').format(1)",
        "class S(str):\n    def f(self): return super().format(1)\nS('{0.__class__}').f()",
        "class N(str):\n    def startswith(self, *a): return False\ngetattr([], N('__class__'))",
        "list(map(getattr, [1], ['__class__']))",
        "match (x for x in []):\n    case object(gi_frame=f): pass",
        "str.mro()",
        "list[int].mro()",
    ],
}
"""Advisory to programs of its kind, by what the change log of RestrictedPython says of it."""


@pytest.mark.parametrize("advisory", ADVISORIES)
def test_restricted_python(advisory: str) -> None:
    for code in ADVISORIES[advisory]:
        result = execute(code)
        assert result.error and not result.stdout, code


def test_the_refused_programs_have_harmless_twins() -> None:
    for code in [
        "g = (x for x in [1])\nnext(g)",
        "'{0}{x[0]:{w}}'.format(1, x=[2], w=3)",
        "str.format('{}', 1)",
        "import string\nstring.Template('$a').substitute(a=1)",
        "try: raise ValueError\nexcept ValueError as e: e.args",
        "match 1:\n    case int(): pass",
        "class P:\n    def __init__(self): self.x = 1\nmatch P():\n    case P(x=v): pass\nv",
        "def f(_a, /, *_b, _c=1, **_d): return _a\nf(1)",
    ]:
        assert execute(code).error == "", code


@pytest.mark.parametrize(
    "expression",
    [
        "abs.__class__",
        "abs.__reduce_ex__(2)",
        "min.__self__",
        "math.os",
        "(5).real",
        "'a'.__init_subclass__",
        "[].__class__.__base__.__subclasses__()",
        "sum.__globals__['__builtins__']",
        "pick('__class__')(1)",
        "attrgetter('__class__')(1)",
        "(lambda: 1)()",
        "[x for x in (1).__class__.__mro__]",
        "e.__class__",
        "pi.real",
    ],
)
def test_simpleeval_cve_2026_32640_nothing_but_numbers_is_reached(expression: str) -> None:
    with pytest.raises(CalculationError):
        calculate(expression)
    assert calculate("abs(-5) + min(1, 2)").value == 6
