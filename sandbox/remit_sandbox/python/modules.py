"""The modules that a program may import, by the names that it gets from them.

Left out, beside what opens files, processes or networks: what reads attributes by a name given as text
(`operator.attrgetter`, `string.Formatter`, `collections.UserString`), what evaluates text (`typing.get_type_hints`,
`functools.singledispatch`), what writes attributes of anything (`functools.update_wrapper`), and what changes the
module for everybody (`re.purge`, `csv.register_dialect`). Some of these have a safe form in `safe_parts`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remit_sandbox.python.proxies import Imported

PLAIN = {
    "math": "*",
    "cmath": "*",
    "statistics": "*",
    "itertools": "*",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "re": """A ASCII DOTALL I IGNORECASE M MULTILINE Match Pattern S U UNICODE VERBOSE X compile error escape findall
        finditer fullmatch match search split sub subn""",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple",
    "collections.abc": """Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping
        MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView""",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce",
    "decimal": """Clamped Context ConversionSyntax Decimal DecimalException DivisionByZero DivisionImpossible
        DivisionUndefined FloatOperation Inexact InvalidContext InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN Overflow
        ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded
        Subnormal Underflow getcontext localcontext setcontext""",
    "fractions": "Fraction",
    "numbers": "Complex Integral Number Rational Real",
    "random": "Random",
    "secrets": "choice randbelow randbits token_bytes token_hex token_urlsafe",
    "string": """Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
        punctuation whitespace""",
    "csv": """DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC excel excel_tab reader
        unix_dialect writer""",
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "dataclasses": "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass replace",
    "typing": """Annotated Any AnyStr Callable ClassVar Collection Container Counter DefaultDict Deque Dict Final
        FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence
        MutableSet NamedTuple Never NewType NoReturn Optional OrderedDict Protocol Self Sequence Set Sized
        SupportsFloat SupportsIndex SupportsInt Text Tuple Type TypeAlias TypeGuard TypeVar TypedDict Union cast""",
    "base64": """a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode
        standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode""",
    "binascii": "Error Incomplete a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify",
    "hashlib": """blake2b blake2s md5 new pbkdf2_hmac sha1 sha224 sha256
        sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256""",
    "zoneinfo": "ZoneInfo ZoneInfoNotFoundError available_timezones",
    "calendar": """Calendar FRIDAY HTMLCalendar MONDAY SATURDAY SUNDAY THURSDAY TUESDAY TextCalendar WEDNESDAY day_abbr
        day_name isleap leapdays month month_abbr month_name monthcalendar monthrange timegm weekday""",
    "contextlib": "ExitStack closing contextmanager nullcontext suppress",
    "copy": "Error copy deepcopy",
    "enum": "auto unique",
    "abc": "ABC",
    "io": "BytesIO StringIO",
    "time": """asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time
        sleep strftime strptime struct_time time time_ns""",
    "struct": "Struct calcsize error iter_unpack pack unpack unpack_from",
    "unicodedata": "bidirectional category combining decimal digit east_asian_width lookup name normalize numeric",
    "uuid": "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL UUID uuid3 uuid4 uuid5",
    "difflib": "Differ SequenceMatcher context_diff get_close_matches ndiff unified_diff",
    "html": "escape unescape",
    "pprint": "pformat",
    "array": "array typecodes",
    "graphlib": "CycleError TopologicalSorter",
    "queue": "Empty Full LifoQueue PriorityQueue Queue SimpleQueue",
    "operator": """abs add and_ concat contains countOf eq floordiv ge getitem gt indexOf inv invert is_ is_not
        itemgetter le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor""",
    "urllib": "",
    "urllib.parse": """parse_qs parse_qsl quote quote_plus unquote unquote_plus urldefrag urlencode urljoin urlparse
        urlsplit urlunparse urlunsplit""",
}
"""Module to the names taken from it as they are; `*` for all that are public and no modules."""

ADDED = {
    "abc": "ABCMeta abstractmethod",
    "dataclasses": "dataclass",
    "enum": "Enum Flag IntEnum IntFlag StrEnum",
    "functools": "total_ordering wraps",
    "pprint": "pp pprint",
    "random": """betavariate choice choices expovariate gammavariate gauss getrandbits getstate lognormvariate
        normalvariate paretovariate randbytes randint random randrange sample seed setstate shuffle triangular uniform
        vonmisesvariate weibullvariate""",
    "typing": "final overload override",
}
"""Module to the names that `safe_parts` or the run itself gives."""

MAIN = (
    "math statistics json re datetime collections itertools functools decimal fractions random string csv textwrap "
    "dataclasses typing base64 hashlib zoneinfo"
)
"""What a description names; the rest is small change."""

INSTEAD = {
    "os": "there are no files, programs or environment here; input comes through `inputs`, output through save_file()",
    "pathlib": "there are no files here; input comes through `inputs`, output through save_file()",
    "sys": "use math.inf for a largest number, `inputs` for arguments, raise SystemExit to stop",
    "requests": "there is no network here",
    "urllib": "there is no network here; urllib.parse can be imported",
    "numpy": "use lists, math and statistics",
    "pandas": "use lists of dicts, csv and statistics",
    "asyncio": "write plain functions",
    "threading": "write plain functions",
    "subprocess": "no program can be started here",
    "pickle": "use json",
}
"""What to do instead of importing a module that people and models often want."""

Extra = Callable[[str], Mapping[str, Any]]
"""Gives the names of `ADDED` for one module."""


class Modules:
    """The modules of one program or session.

    Args:
        extra: gives the safe forms of what a module holds.
    """

    def __init__(self, extra: Extra) -> None:
        self._extra = extra
        self._made: dict[str, Imported] = {}

    def importer(
        self, name: str, variables: Any = None, local: Any = None, wanted: Sequence[str] | None = (), level: int = 0
    ) -> Imported:
        """The built-in `__import__`: a proxy of an allowed module.

        Raises:
            ImportError: it is not allowed, or has no such name here.
        """
        if type(wanted) is list:
            return self._for_itself(name)
        if type(name) is not str or level or name not in PLAIN:
            raise ImportError(refusal(str(name)))
        top = name.partition(".")[0]
        module = self._module(name if wanted else top)
        for item in wanted or ():
            if item not in module.__dict__:
                raise ImportError(f"{name} has no {item} here; available: {', '.join(sorted(module.__dict__))}"[:600])
        return module

    def _for_itself(self, name: str) -> Imported:
        """A function written in C asks for a module of its own (`strptime` for `_strptime`), and looks it up itself.

        A program cannot ask with a list: its statements give a tuple, and `__import__` is no name that it can write.
        """
        importlib.import_module(name)
        return self._module("math")

    def _module(self, name: str) -> Imported:
        if name not in self._made:
            names = {**plain_names(name), **self._extra(name)}
            for child in PLAIN:
                if child.startswith(f"{name}."):
                    names[child.rpartition(".")[2]] = self._module(child)
            self._made[name] = Imported(name, names)
        return self._made[name]


def plain_names(name: str) -> dict[str, Any]:
    """Return what is taken from a module as it is; names that this Python lacks are left out."""
    module = importlib.import_module(name)
    listed = PLAIN[name]
    if listed == "*":
        listed = " ".join(item for item in _public(module) if not hasattr(getattr(module, item), "__spec__"))
    return {item: getattr(module, item) for item in listed.split() if hasattr(module, item)}


def _public(module: Any) -> list[str]:
    return list(getattr(module, "__all__", None) or (item for item in dir(module) if not item.startswith("_")))


def star_names(name: str) -> list[str]:
    """Return what `from name import *` brings; nothing for a module that is not allowed."""
    return sorted({*plain_names(name), *ADDED.get(name, "").split()}) if name in PLAIN else []


def refusal(name: str) -> str:
    """Return why a module is not there, and what to do instead."""
    hint = INSTEAD.get(name.partition(".")[0])
    allowed = f"allowed: {', '.join(sorted(PLAIN))}"
    return f"import of {name[:60]} is not allowed; " + (f"{hint}; {allowed}" if hint else allowed)
