"""Handlers of the pack `calc`."""

from typing import Annotated

from pydantic import Field

from remit_sandbox import calculate


def evaluate(expression: Annotated[str, Field(min_length=1, max_length=1000)]) -> dict[str, str]:
    """Calculate one arithmetic expression exactly. Use it for every calculation, however small.

    Understands + - * / // mod ^ ** ! parentheses, percentages ("15% of 240", "200 + 10%" is 220),
    comparisons, the constants pi, e and tau, and the functions abs, sign, round, floor, ceil, trunc, sqrt,
    cbrt, root, pow, exp, ln, log(x, base), log2, log10, sin, cos, tan (radians; write "60 deg" for degrees),
    asin, acos, atan, sinh, cosh, tanh, degrees, radians, hypot, gcd, lcm, factorial, comb, perm, sum, prod,
    min, max, mean, median, stdev, pstdev and percent_change(old, new).

    Args:
        expression: numbers, operators and functions only, for example "(23 + 19) * 4".

    Returns:
        The expression as it was read, and its result (15 significant digits where it is not exact).
    """
    calculation = calculate(expression)
    return {"expression": calculation.expression, "result": calculation.text}
