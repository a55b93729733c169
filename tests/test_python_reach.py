"""Everything that a program can reach by reading attributes, walked to its end: no module, frame, code or real `type`.

The control walks the same objects with the plain `getattr` and finds all of these.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

from remit_sandbox.python.engine import Interpreter
from remit_sandbox.python.guards import Guards
from remit_sandbox.python.modules import PLAIN
from remit_sandbox.python.vocabulary import INSTEAD

SAMPLES = """
import collections, contextlib, csv, dataclasses, datetime, decimal, enum, fractions, functools, io, itertools, json
import queue, random, re, string, struct, textwrap, typing, uuid, zoneinfo, operator, array, difflib, statistics
class Plain:
    def method(self): yield 1
    @property
    def shown(self): return 1
class Text(str): pass
class Error(AttributeError): pass
@dataclasses.dataclass
class Record:
    x: int = 1
class Colour(enum.Enum):
    RED = 1
Point = collections.namedtuple('Point', 'x y')
def function(a=1): return a
@contextlib.contextmanager
def manager(): yield 1
errors = []
for wrong in (lambda: None.x, lambda: nothing, lambda: 1 / 0, lambda: {}['a'], lambda: int('x'), lambda: json.loads('{')):
    try: wrong()
    except Exception as error: errors.append(error)
made = [
    1, 1.5, 1j, True, None, 'text', b'bytes', bytearray(b'x'), [], (), {}, set(), frozenset(), range(3), slice(1),
    iter([]), iter({}), {}.keys(), memoryview(b'x'), zip(), map(str, []), enumerate([]), object(), Ellipsis,
    Plain, Plain(), Plain().method, Plain().method(), Plain.method, Plain.shown, Text('x'), Text, Error(), Record, Record(), Colour, Colour.RED,
    Point, Point(1, 2), function, lambda: 0, manager, manager(), (x for x in []), type(function), type(type), type(Plain()),
    functools.partial(function), functools.lru_cache(function), functools.cmp_to_key(function), property(function),
    classmethod(function), staticmethod(function), super, re.compile('a'), re.match('a', 'a'), re.I, json.JSONEncoder(), json.JSONDecoder(),
    decimal.getcontext(), decimal.Decimal(1), fractions.Fraction(1), datetime.datetime(2024, 1, 1), datetime.timezone.utc,
    zoneinfo.ZoneInfo('UTC'), random.Random(), string.Template('$a'), io.StringIO(), io.BytesIO(), csv.reader([]), csv.writer(io.StringIO()), csv.DictReader([]),
    textwrap.TextWrapper(), uuid.uuid4(), queue.Queue(), struct.Struct('i'), itertools.count(), collections.deque(), collections.Counter(),
    collections.defaultdict(list), collections.ChainMap(), collections.OrderedDict(), collections.UserDict(), contextlib.ExitStack(), contextlib.suppress(),
    typing.List[int], list[int], typing.Optional[int], typing.TypeVar('T'), typing.NewType('N', int), dataclasses.fields(Record)[0],
    operator.itemgetter(0), array.array('i'), difflib.SequenceMatcher(), statistics.NormalDist(), *errors,
]
"""  # noqa: E501

FORBIDDEN = (ModuleType, FrameType, CodeType, TracebackType)
DANGEROUS: list[Any] = [
    object, type, open, eval, exec, compile, __import__, getattr, setattr, vars, globals, locals, os.system,
    sys.modules, os.environ, io.open, io.FileIO, str.format, str.format_map,
]  # fmt: skip
"""Objects that no program may hold."""

Read = Callable[[Any, str], Any]


def is_bad(value: Any) -> bool:
    """Whether a value leads out of a program."""
    if isinstance(value, FORBIDDEN) or any(value is one for one in DANGEROUS):
        return True
    return type(value) is dict and ("__builtins__" in value or "__loader__" in value)


def reachable(start: list[Any], read: Read, limit: int) -> Iterator[tuple[str, Any]]:
    """Yield what is reached from `start` by reading every name that `dir` knows, and items of containers, five deep."""
    seen: dict[int, Any] = {}
    level = [(f"[{index}]", value) for index, value in enumerate(start)]
    for _ in range(5):
        following = []
        for path, value in level:
            if id(value) in seen or len(seen) > limit:
                continue
            seen[id(value)] = value
            yield path, value
            following += list(neighbours(path, value, read))
        level = following


def neighbours(path: str, value: Any, read: Read) -> Iterator[tuple[str, Any]]:
    """Yield what one step leads to."""
    if isinstance(value, list | tuple | set | frozenset):
        yield from ((f"{path}[*]", item) for item in list(value)[:200])
    if type(value) is dict:
        yield from ((f"{path}[*]", item) for item in list(value.values())[:200])
    for name in {*names_of(value), *EXTRA}:
        try:
            yield f"{path}.{name}", read(value, name)
        except BaseException:
            continue


def names_of(value: Any) -> list[str]:
    try:
        return dir(value)
    except BaseException:
        return []


EXTRA = (
    "mro",
    "gi_frame",
    "format",
    "obj",
    "__class__",
    "__globals__",
    "__self__",
    "__func__",
    "__wrapped__",
    "register",
)


def start() -> tuple[list[Any], Guards]:
    """Return what a program begins with and can make, and its guards."""
    interpreter = Interpreter()
    result = interpreter.run(SAMPLES)
    assert result.error == ""
    variables = interpreter._variables
    names = variables["__builtins__"]
    given = [value for name, value in names.items() if name not in ("__build_class__", "__import__")]
    modules = [names["__import__"](name, wanted=("",) if "." in name else ()) for name in PLAIN if "." not in name]
    exported = [value for module in modules for value in vars(module).values()]
    guards = variables["_getattr_"].__self__
    return [*given, *exported, *variables["made"]], guards


def test_nothing_outside_the_program_is_reached() -> None:
    values, guards = start()
    found = [(path, value) for path, value in reachable(values, guards.read, 30_000)]
    assert len(found) > 2_000
    assert [(path, repr(value)[:80]) for path, value in found if is_bad(value)] == []


def test_control_without_the_guard_everything_is_reached() -> None:
    values, _ = start()
    kinds = {type(value) for _, value in reachable(values, getattr, 30_000) if is_bad(value)}
    assert {ModuleType, CodeType, dict, type} <= kinds


def test_what_is_not_there_has_words() -> None:
    assert {"open", "eval", "exec", "compile", "input", "globals", "locals"} <= set(INSTEAD)
    assert all(hasattr(builtins, name) or name in ("exit", "quit", "np", "pd", "sys", "os") for name in INSTEAD)
