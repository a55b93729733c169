"""Evaluate one expression: simpleeval walks the tree, our operators and functions do the work."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from simpleeval import InvalidExpression, SimpleEval

from remit_sandbox.calculation.functions import CONSTANTS, FUNCTIONS
from remit_sandbox.calculation.limits import MAX_DEPTH, MAX_ITEMS, settled
from remit_sandbox.calculation.normalise import normalise
from remit_sandbox.calculation.operators import OPERATORS, truth
from remit_sandbox.calculation.rendering import rendered
from remit_sandbox.errors import CalculationError

ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.And, ast.Or,
    ast.Compare, ast.Call, ast.List, *OPERATORS,
)  # fmt: skip


EXACT_DIGITS = 60
"""Digits up to which a decimal result is given exactly."""


@dataclass(frozen=True, kw_only=True)
class Calculation:
    """What was computed.

    Attributes:
        value: the result: int or Decimal where it is exact and ends, Fraction where it is exact and does not,
            float where it is approximate (15 significant digits), bool for a comparison.
        text: the result as people write it, at most 15 significant digits where it is approximate.
        expression: the plain expression that was evaluated, after other spellings were read.
    """

    value: int | Decimal | Fraction | float | bool
    text: str
    expression: str


def calculate(expression: str) -> Calculation:
    """Evaluate `expression` exactly where that is possible, within limits set before any work is done.

    Trigonometric functions take radians (`60 deg` for degrees), `^` is power, `200 + 10%` is 220,
    `log` without a base is the natural logarithm, halves round away from zero.

    Raises:
        CalculationError: everything that is refused, with what to write instead. Nothing else is raised.
    """
    if not isinstance(expression, str):
        raise CalculationError("an expression is text")
    try:
        plain = normalise(expression)
        value = settled_result(Evaluator(plain).result())
        return Calculation(value=value, text=rendered(value), expression=plain)
    except CalculationError:
        raise
    except (RecursionError, MemoryError):
        raise CalculationError("the expression is too deep or too large") from None
    except (InvalidExpression, SyntaxError, ValueError, ArithmeticError, TypeError, AttributeError):
        raise CalculationError("this is not one complete expression of numbers, operators and functions") from None


def settled_result(value: Any) -> Any:
    """Return the final value in its public type; refuse what is no single number or truth value."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        raise CalculationError("a list is not a number; use sum(), mean(), min() or max() on it")
    number = settled(value)
    return exact_decimal(number) if isinstance(number, Fraction) else number


def exact_decimal(value: Fraction) -> Decimal | Fraction:
    """Return `value` as a Decimal when its expansion ends within EXACT_DIGITS digits, else as it is."""
    with localcontext() as context:
        context.prec = EXACT_DIGITS
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
    return quotient if Fraction(quotient) == value else value


class Evaluator(SimpleEval):  # type: ignore[misc]
    """simpleeval with a closed set of nodes, and numbers read exactly from the source."""

    def __init__(self, source: str) -> None:
        super().__init__(operators=dict(OPERATORS), functions=dict(FUNCTIONS), names=dict(CONSTANTS))
        self.source = source
        self.nodes = {
            ast.Constant: self._number,
            ast.Name: self._constant,
            ast.UnaryOp: self._eval_unaryop,
            ast.BinOp: self._operation,
            ast.BoolOp: self._logic,
            ast.Compare: self._eval_compare,
            ast.Call: self._call,
            ast.List: self._list,
        }

    def result(self) -> Any:
        """Parse, check and evaluate the source."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(self.source, mode="eval")
        check_tree(tree)
        self.expr = self.source
        return self._eval(tree.body)

    def _number(self, node: ast.Constant) -> Any:
        text = self.source[node.col_offset : node.end_col_offset]  # the source is one line of ASCII
        if isinstance(node.value, bool | str | bytes | complex) or node.value is None or node.value is ...:
            raise CalculationError("only numbers can be calculated with")
        if isinstance(node.value, int):
            return settled(node.value)
        mantissa, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > 3000:
            raise CalculationError("the number is too large or too small")
        return settled(Fraction(mantissa.rstrip(".") or "0") * Fraction(10) ** int(exponent or 0))

    def _constant(self, node: ast.Name) -> float:
        if node.id in CONSTANTS:
            return CONSTANTS[node.id]
        if node.id in FUNCTIONS:
            raise CalculationError(f"{node.id} is a function; write {node.id}(...)")
        raise CalculationError(f"'{node.id[:40]}' is unknown; known are numbers, pi, e, tau and the listed functions")

    def _operation(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, ast.Add | ast.Sub) and is_percent_call(node.right):
            left, share = self._eval(node.left), self._eval(node.right)
            more = OPERATORS[ast.Mult](left, share)
            return OPERATORS[type(node.op)](left, more)
        return self._eval_binop(node)

    def _logic(self, node: ast.BoolOp) -> bool:
        combine = all if isinstance(node.op, ast.And) else any
        return combine(truth(self._eval(value)) for value in node.values)

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise CalculationError("only the listed functions can be called, with plain arguments")
        function = FUNCTIONS.get(node.func.id)
        if function is None:
            raise CalculationError(f"the function '{node.func.id[:40]}' is unknown")
        arguments = [self._eval(argument) for argument in node.args]
        try:
            return function(*arguments)
        except TypeError:
            raise CalculationError(f"{node.func.id} does not take {len(arguments)} arguments") from None

    def _list(self, node: ast.List) -> list[Any]:
        if len(node.elts) > MAX_ITEMS:
            raise CalculationError(f"a list has at most {MAX_ITEMS} numbers")
        items = [self._eval(item) for item in node.elts]
        if any(isinstance(item, list) for item in items):
            raise CalculationError("a list holds numbers only")
        return items


def is_percent_call(node: ast.AST) -> bool:
    """Say whether `node` is a written percentage, as in `200 + 10%`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "percent"


def check_tree(tree: ast.Expression) -> None:
    """Refuse nodes outside the closed set and trees that are too deep, without recursion."""
    level: list[ast.AST] = [tree]
    for _ in range(3 * MAX_DEPTH):
        for node in level:
            if not isinstance(node, ALLOWED):
                raise CalculationError("only numbers, operators, comparisons and the listed functions are allowed")
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise CalculationError("the expression is nested too deeply")
