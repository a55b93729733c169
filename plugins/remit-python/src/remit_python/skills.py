"""Handlers of the pack `python`."""

from typing import Annotated, Any

from pydantic import Field

from remit_sandbox.python.door import interpreter
from remit_sandbox.python.results import PythonResult

Code = Annotated[str, Field(min_length=1, max_length=100_000)]


def run(code: Code, ctx) -> dict[str, Any]:  # type: ignore[no-untyped-def]
    """Run a short Python program and return what it prints and the value of its last line.

    Use it to compute, sort, count, parse or transform data step by step. The program has no files, no network and
    no user: put the data into the code. It may import math, statistics, json, re, datetime, collections, itertools,
    functools, decimal, fractions, random, string, csv, textwrap, dataclasses, typing, base64, hashlib and zoneinfo.
    Nothing is kept between calls. save_file(name, text_or_bytes) gives the user a file.

    Args:
        code: the program; end it with the expression whose value is wanted, or print it.

    Returns:
        value, stdout and files where there are any; error with the line when it failed.
    """
    return answer(interpreter(ctx.settings["profile"]).run(code))


def run_in_session(code: Code, ctx) -> dict[str, Any]:  # type: ignore[no-untyped-def]
    """Run a short Python program like python.run, keeping variables, functions and imports for the next call.

    Use it when later steps need what earlier ones computed; python.run is for a program on its own.

    Args:
        code: the program; it finds the variables of earlier calls of this skill.

    Returns:
        value, stdout and files where there are any; error with the line when it failed.
    """
    return answer(interpreter(ctx.settings["profile"]).run(code))


def answer(result: PythonResult) -> dict[str, Any]:
    """Return the parts of a result that say something."""
    given: dict[str, Any] = {}
    if result.value is not None or not (result.stdout or result.error or result.files):
        given["value"] = result.value if is_json(result.value) else repr(result.value)[:100_000]
    if result.stdout:
        given["stdout"] = result.stdout
    if result.error:
        given["error"] = result.error
    if result.files:
        given["files"] = dict(result.files)
    return given


def is_json(value: Any) -> bool:
    """Say whether JSON holds `value` as it is; what it would bend (tuples, sets, keys) is shown as Python writes it."""
    if isinstance(value, dict):
        return all(type(key) is str and is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(is_json(item) for item in value)
    return value is None or type(value) in (bool, int, str) or (type(value) is float and abs(value) < float("inf"))
