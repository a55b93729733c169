"""Faults of other calculators, as their users reported them: what ours does in each case.

The rows are in tests/data/field_engines.jsonl.
"""

from __future__ import annotations

import re
import tracemalloc

import pytest

from remit_sandbox import CalculationError, calculate
from remit_sandbox.calculation.functions import FUNCTIONS
from tests.python_parts import rows

CASES = {row["id"]: row for row in rows("field_engines.jsonl") if row["area"] == "calculator"}

HOLDS = {
    "E116": "one equals sign is refused, and == is named",
    "E119": "an empty expression is refused in those words",
    "E120": "the functions are a closed list of functions on numbers",
    "E122": "^ is power, as the description says",
    "E125": "a minus before a number with an exponent is a minus; powers are exact",
    "E126": "** and // and mod work, 2(3+4) is a product, a comma that may be a point is refused with both",
    "E127": "nothing is repeated; refused before anything is allocated",
    "E128": "towers of powers and shifts are refused by the size of their result",
    "E129": "text in quotes is refused as that, whatever it holds",
    "E132": "attributes are not part of a calculation",
}
"""Case to what holds here."""


def refusal(expression: str) -> str:
    with pytest.raises(CalculationError) as refused:
        calculate(expression)
    return str(refused.value)


def test_the_table_is_whole() -> None:
    tested = {name.removeprefix("test_").split("_")[0].upper() for name in globals() if re.match(r"test_e\d", name)}
    assert set(HOLDS) == set(CASES) == tested


def test_e116_assignment() -> None:
    assert "==" in refusal("budget = 300") and "==" in refusal("2 = 2")
    assert calculate("2 == 2").value is True


def test_e119_empty() -> None:
    for empty in ("", "   \n", "# only a comment"):
        assert "empty" in refusal(empty)
    assert "text" in refusal(None)  # type: ignore[arg-type]


def test_e120_a_closed_list() -> None:
    for expression in (
        "pick('x')",
        "call(1)",
        "attrgetter(1)",
        "methodcaller(1)",
        "eval(1)",
        "open(1)",
        "getattr(1, 2)",
    ):
        refusal(expression)
    assert not {"eval", "getattr", "open", "attrgetter", "methodcaller", "print"} & set(FUNCTIONS)


def test_e122_power() -> None:
    assert [calculate(text).text for text in ("3^4", "2^-1", "1.5^2")] == ["81", "0.5", "2.25"]


def test_e125_exponents_and_exact_powers() -> None:
    assert calculate("7-2e1").value == -13
    assert calculate("(19**31) % 97").value == pow(19, 31, 97)
    assert calculate("3e2-1e1").value == 290


def test_e126_operators() -> None:
    assert calculate("12 ** 0.5").text == "3.46410161513775"
    assert [calculate(text).value for text in ("7 // 2", "7 mod 2", "2(3+4)")] == [3, 1, 14]
    message = refusal("3,5+1")
    assert "3.5" in message and "3, 5" in message


def test_e127_nothing_is_repeated() -> None:
    tracemalloc.start()
    for expression in ("'ab' * 10**9", "[0] * 10**9", "'x'.zfill(10**9)", "b'0' * 10**9"):
        refusal(expression)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_e128_towers() -> None:
    for expression in ("7**7**7**7", "1 << 10**8", "factorial(10**6)", "2**0.5**-1000"):
        assert "digits" in refusal(expression)


def test_e129_quotes() -> None:
    for expression in ("if(status == 'a:b', 1, 0)", "'x;y' == 'x;y'"):
        assert "text in quotes" in refusal(expression)


def test_e132_attributes() -> None:
    for expression in ("abs.__reduce_ex__(2)", "min.__self__", "'a'.__init_subclass__", "(5).real.__class__"):
        message = refusal(expression)
        assert "__" not in message
