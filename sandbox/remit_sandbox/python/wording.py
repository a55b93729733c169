"""What went wrong in a program, in words that help to mend it: the line, the reason, what to use instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from remit_sandbox.inside.text import well_formed
from remit_sandbox.python.vocabulary import missing_name

PROGRAM = "<program>"
"""File name of the program in tracebacks."""

LENGTH = 1_000
"""Characters of an error."""

_GUARD = re.compile(
    r"\b_(?:getattr|write|class|metaclass|type|hold|pattern_class|sentinel|bare_set|bare_new|value|tmp\d*)_\b"
)


def refused(errors: Sequence[str], lines: Sequence[str]) -> str:
    """Return the words for a program that the policy refuses; at most three reasons."""
    first = [_placed(error, lines) for error in dict.fromkeys(errors)][:3]
    return "not allowed: " + "; ".join(first)


def _placed(error: str, lines: Sequence[str]) -> str:
    found = re.match(r"Line (\d+): (.*)", error, re.DOTALL)
    if found is None:
        return error
    number = int(found[1])
    return f"line {number}: {found[2]}{_quoted(number, lines)}"


def unreadable(error: BaseException) -> str:
    """Return the words for a program that is not Python."""
    if isinstance(error, SyntaxError):
        where = f"line {error.lineno}: " if error.lineno else ""
        text = (error.text or "").strip()[:120]
        return f"SyntaxError: {where}{error.msg}" + (f" in: {text}" if text else "")
    if isinstance(error, RecursionError | MemoryError):
        return "SyntaxError: the program nests too deeply"
    return f"SyntaxError: {well_formed(str(error))[:200]}"


def raised(error: BaseException, lines: Sequence[str], variables: dict[str, Any]) -> str:
    """Return the words for what a program raised; never raises."""
    try:
        return _raised(error, lines, variables)
    except BaseException:
        return f"{type(error).__name__} (its text cannot be shown)"


def _raised(error: BaseException, lines: Sequence[str], variables: dict[str, Any]) -> str:
    number = _line(error)
    message = _message(error, variables)
    name = type(error).__name__
    text = f"{name}: {message}" if message else name
    where = f" (line {number}{_quoted(number, lines)})" if number else ""
    return _GUARD.sub("a guard", well_formed(text[: LENGTH - 200])) + where


def _message(error: BaseException, variables: dict[str, Any]) -> str:
    if isinstance(error, NameError) and type(error.name) is str and not isinstance(error, UnboundLocalError):
        return missing_name(error.name, {**variables["__builtins__"], **variables})
    if isinstance(error, MemoryError):
        return str(error) or "the program needs more memory than it has; work on less at a time"
    if isinstance(error, RecursionError):
        return f"{error}; write a loop, or stop the recursion earlier"
    return str(error)


def _line(error: BaseException) -> int | None:
    """Return the line of the program that was running, the innermost."""
    number = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM:
            number = trace.tb_lineno
        trace = trace.tb_next
    return number


def _quoted(number: int, lines: Sequence[str]) -> str:
    line = lines[number - 1].strip()[:120] if 0 < number <= len(lines) else ""
    return f": {line}" if line else ""
