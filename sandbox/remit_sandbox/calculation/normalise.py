"""From what people type to one plain expression: tokens, digit groups, percent, factorial, implied products."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from remit_sandbox.calculation.functions import ALIASES, CONSTANTS, FUNCTIONS
from remit_sandbox.calculation.limits import MAX_DEPTH, MAX_LENGTH
from remit_sandbox.calculation.spelling import plain
from remit_sandbox.errors import CalculationError

Kind = Literal["number", "name", "operator", "open", "close", "comma", "percent", "factorial", "root"]

TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+
        |(?:\d[\d,]*\d|\d)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\d.])|(?:\d[\d,]*\d|\d)\.(?![\d.])|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<product>[xX](?=\s*[\d.(]))
    |(?P<name>[A-Za-z_]\w*)
    |(?P<logic>&&|\|\|)
    |(?P<operator>\*\*|//|<<|>>|<=|>=|==|!=|[-+*/^<>&|])
    |(?P<factorial>!)
    |(?P<percent>%)
    |(?P<open>[(\[])
    |(?P<close>[)\]])
    |(?P<comma>,)
    |(?P<root>[√∛])""",
    re.VERBOSE,
)

GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:[eE][+-]?\d+)?")
WORDS = {"and", "or", "not"}
CLOSERS = {"(": ")", "[": "]"}


@dataclass(frozen=True, kw_only=True)
class Token:
    """One token; `spaced` says whether white space stood before it."""

    kind: Kind
    text: str
    spaced: bool = False


def normalise(text: str) -> str:
    """Return the one plain expression that `text` means, in Python's notation.

    Raises:
        CalculationError: it is empty, too long, ambiguous, or holds what a calculation cannot.
    """
    if len(text) > MAX_LENGTH:
        raise CalculationError(f"the expression is longer than {MAX_LENGTH} characters")
    text = re.sub(r"^\s*(`{1,3})([^`]*)\1\s*$", r"\2", text)
    if re.search(r"""["'`]""", text):
        raise CalculationError("text in quotes is not a number")
    tokens = tokens_of(plain(text.split("#", 1)[0].rstrip().removesuffix(";")))
    if not tokens:
        raise CalculationError("the expression is empty")
    check_brackets(tokens)
    for rewrite in (
        ungroup,
        name_words,
        read_percent,
        wrap_roots,
        wrap_factorials,
        wrap_degrees,
        imply_products,
    ):
        tokens = rewrite(tokens)
    return written(tokens)


def tokens_of(text: str) -> list[Token]:
    """Split plain text into tokens; refuse the first character that has no meaning here."""
    tokens: list[Token] = []
    position, spaced = 0, False
    text = re.sub(r"\b(?:math|np|numpy)\.(?=[a-z])", "", text)
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise unreadable(text[position:])
        position = match.end()
        kind = match.lastgroup
        if kind == "space":
            spaced = True
            continue
        tokens.append(_token(kind or "", match[0], spaced))
        spaced = False
    return tokens


def _token(kind: str, text: str, spaced: bool) -> Token:
    if kind == "logic":
        return Token(kind="name", text="and" if text == "&&" else "or", spaced=spaced)
    return Token(kind="name" if kind == "product" else kind, text=text, spaced=spaced)  # type: ignore[arg-type]


def unreadable(rest: str) -> CalculationError:
    """Return the refusal for what cannot be read, saying what to write instead."""
    sign = rest[0]
    if sign == "=":
        return CalculationError("assignment is not a calculation; write == to compare")
    if sign == ".":
        return CalculationError("attributes and stray points are not part of a calculation")
    if sign in ";:{}":
        return CalculationError(f"only one expression of numbers can be calculated; '{sign}' is not part of it")
    return CalculationError(f"{sign!a} is not understood; use digits, + - * / ^ % ! and function names")


def check_brackets(tokens: list[Token]) -> None:
    """Refuse brackets that do not match or nest too deeply."""
    expected: list[str] = []
    for token in tokens:
        if token.kind == "open":
            expected.append(CLOSERS[token.text])
            if len(expected) > MAX_DEPTH:
                raise CalculationError(f"brackets nest deeper than {MAX_DEPTH} levels")
        elif token.kind == "close" and (not expected or expected.pop() != token.text):
            raise CalculationError(f"'{token.text}' closes nothing")
    if expected:
        raise CalculationError(f"'{expected[-1]}' is missing")


def ungroup(tokens: list[Token]) -> list[Token]:
    """Read `1,234.5` as one number outside lists; refuse it where the comma may also separate."""
    result: list[Token] = []
    separating: list[bool] = []
    for index, token in enumerate(tokens):
        if token.kind == "open":
            before = tokens[index - 1] if index else None
            separating.append(token.text == "[" or (before is not None and before.kind == "name"))
        elif token.kind == "close":
            separating.pop()
        if token.kind != "number" or "," not in token.text:
            result.append(token)
        else:
            result.extend(_grouped(token, bool(separating) and separating[-1]))
    return result


def _grouped(token: Token, separating: bool) -> list[Token]:
    joined, spread = token.text.replace(",", ""), token.text.replace(",", ", ")
    if GROUPED.fullmatch(token.text):
        if separating:
            raise CalculationError(f"'{token.text}' can be {joined} or {spread}; write {joined} or {spread}")
        return [Token(kind="number", text=joined, spaced=token.spaced)]
    if not separating:
        point = token.text.replace(",", ".", 1)
        raise CalculationError(f"'{token.text}' can be {point} or {spread}; write a decimal point, or one number only")
    parts: list[Token] = []
    for part in token.text.split(","):
        if not part:
            raise CalculationError(f"'{token.text}' has an empty place between commas")
        parts += [Token(kind="comma", text=","), Token(kind="number", text=part)]
    return parts[1:]


def name_words(tokens: list[Token]) -> list[Token]:
    """Read the words among the names: `mod`, `of`, `x` between numbers, aliases, any case."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        result.append(_named(tokens, index) if token.kind == "name" else token)
    return result


def _named(tokens: list[Token], index: int) -> Token:
    token = tokens[index]
    name = token.text.lower()
    name = ALIASES.get(name, name)
    ends = index > 0 and tokens[index - 1].kind in ("number", "close", "percent")
    starts = index + 1 < len(tokens) and tokens[index + 1].kind in ("number", "open", "name", "root")
    if name == "mod" and ends:
        return Token(kind="operator", text="%", spaced=True)
    if name in ("of", "x") and ends and starts:
        return Token(kind="operator", text="*", spaced=True)
    if name in WORDS or name in ("deg", "degree", "rad"):
        return Token(kind="operator" if name in WORDS else "name", text=name, spaced=True)
    if name in FUNCTIONS or name in CONSTANTS:
        return Token(kind="name", text=name, spaced=token.spaced)
    raise unknown(token.text)


def unknown(name: str) -> CalculationError:
    """Return the refusal of a name, with the nearest known one."""
    near = get_close_matches(name.lower(), [*FUNCTIONS, *CONSTANTS, *ALIASES], n=1)
    hint = f"did you mean {near[0]}? " if near and len(name) > 2 else ""
    return CalculationError(
        f"'{name[:40]}' is unknown; {hint}known are numbers, pi, e, tau and the listed functions, without units"
    )


def operand_before(result: list[Token]) -> int:
    """Return where the operand that ends `result` starts: a number, a constant, a bracket with its function."""
    last = result[-1] if result else None
    if last is not None and (last.kind == "number" or (last.kind == "name" and last.text not in FUNCTIONS)):
        return len(result) - 1
    if last is None or last.kind != "close":
        raise CalculationError("a sign such as ! or % needs a number before it")
    depth, start = 0, len(result)
    while True:
        start -= 1
        depth += {"close": 1, "open": -1}.get(result[start].kind, 0)
        if depth == 0:
            named = start > 0 and result[start - 1].kind == "name" and result[start - 1].text in FUNCTIONS
            return start - 1 if named else start


def operand_after(tokens: list[Token], start: int) -> int:
    """Return where the operand that begins at `start` ends: a number, a constant, a bracket, a function with its."""
    if start >= len(tokens) or tokens[start].kind not in ("number", "name", "open"):
        raise CalculationError("a root sign needs a number after it")
    if tokens[start].kind == "name" and start + 1 < len(tokens) and tokens[start + 1].kind == "open":
        start += 1
    if tokens[start].kind != "open":
        return start + 1
    depth = 0
    for index in range(start, len(tokens)):
        depth += {"open": 1, "close": -1}.get(tokens[index].kind, 0)
        if depth == 0:
            return index + 1
    raise CalculationError("')' is missing")


def called(name: str, inner: list[Token]) -> list[Token]:
    """Return `name(inner)`."""
    wrapped = inner[0].kind == "open" and inner[0].text == "(" and operand_after(inner, 0) == len(inner)
    body = inner if wrapped else [Token(kind="open", text="("), *inner, Token(kind="close", text=")")]
    return [Token(kind="name", text=name, spaced=inner[0].spaced), *body]


def read_percent(tokens: list[Token]) -> list[Token]:
    """Tell percent from remainder: `50%`, `15% of 240`, `200 + 10%` from `10 % 3`."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        if token.kind != "percent":
            result.append(token)
        elif is_percent(tokens, index):
            if index and tokens[index - 1].kind == "percent":
                raise CalculationError("'%%' is not understood; write one percent sign")
            start = operand_before(result)
            result[start:] = called("percent", result[start:])
        else:
            result.append(Token(kind="operator", text="%", spaced=True))
    return result


def is_percent(tokens: list[Token], index: int) -> bool:
    """Say whether the percent sign at `index` is one, and no remainder."""
    if index + 1 >= len(tokens):
        return True
    after = tokens[index + 1]
    if after.kind in ("number", "name", "open", "root"):
        return False
    signed = after.text in ("-", "+") and index + 2 < len(tokens) and not tokens[index + 2].spaced and after.spaced
    return not (signed and tokens[index].spaced)


def wrap_roots(tokens: list[Token]) -> list[Token]:
    """Turn root signs into functions, from the right so that they may stand in a row."""
    result = list(tokens)
    for index in range(len(result) - 1, -1, -1):
        if result[index].kind == "root":
            end = operand_after(result, index + 1)
            name = "sqrt" if result[index].text == "√" else "cbrt"
            result[index:end] = called(name, result[index + 1 : end])
    return result


def wrap_factorials(tokens: list[Token]) -> list[Token]:
    """Turn `5!` into `factorial(5)`; two in a row mean something else and are refused."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        if token.kind != "factorial":
            result.append(token)
            continue
        if index + 1 < len(tokens) and tokens[index + 1].kind == "factorial":
            raise CalculationError("'!!' is not understood; write factorial(factorial(n)) if that is meant")
        start = operand_before(result)
        result[start:] = called("factorial", result[start:])
    return result


def wrap_degrees(tokens: list[Token]) -> list[Token]:
    """Turn `60 deg` into `radians(60)`; `rad` is dropped."""
    result: list[Token] = []
    for token in tokens:
        if token.kind == "name" and token.text in ("deg", "degree", "rad"):
            start = operand_before(result)
            result[start:] = called("radians", result[start:]) if token.text != "rad" else result[start:]
        else:
            result.append(token)
    return result


def imply_products(tokens: list[Token]) -> list[Token]:
    """Write out implied products: `2(3+4)`, `2pi`, `(2)(3)`; `sqrt 16` becomes `sqrt(16)`."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if before is not None and before.kind == "number" and token.kind == "number":
            raise CalculationError(f"'{before.text} {token.text}' are two numbers without an operator between")
        if before is not None and ends_value(before) and token.kind in ("number", "name", "open"):
            result.append(Token(kind="operator", text="*"))
        applied = before is not None and before.kind == "name" and before.text in FUNCTIONS
        if applied and token.kind == "number":
            result += called(result.pop().text, [token])
        else:
            result.append(token)
    return result


def ends_value(token: Token) -> bool:
    """Say whether a value can end with `token`, so that a value right after it means a product."""
    return token.kind in ("number", "close") or (token.kind == "name" and token.text in CONSTANTS)


def written(tokens: list[Token]) -> str:
    """Return the tokens as one line of Python, spaced for reading."""
    out: list[str] = []
    before: Token | None = None
    for token in tokens:
        unary = token.text in ("-", "+") and (before is None or before.kind in ("operator", "open", "comma"))
        text = "**" if token.text == "^" else token.text
        if token.kind == "number" and re.fullmatch(r"0\d+", text):
            text = text.lstrip("0") or "0"
        if token.kind == "comma":
            text = ", "
        elif token.kind == "operator" and not unary and text != "**":
            text = f" {text} "
        out.append(text)
        before = token
    return re.sub(r" {2,}", " ", "".join(out)).strip()
