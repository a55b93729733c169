"""What `run_python` calls in its cell: programs one after the other, in a cell that belongs to one session."""

from __future__ import annotations

from functools import cache
from typing import Any

from remit_sandbox.python.engine import Interpreter
from remit_sandbox.python.plain import decode, encode
from remit_sandbox.python.results import Profile, PythonResult


@cache
def interpreter(profile: Profile) -> Any:
    """Return the interpreter of this cell, which keeps its variables as long as the cell lives."""
    if profile == "open":
        from remit_sandbox.python.open_profile import OpenInterpreter

        return OpenInterpreter()
    return Interpreter()


def run(code: str, inputs: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """Run one program.

    Args:
        code: the program.
        inputs: name to value, as `plain.encode` writes it.
        profile: see `Profile`.
    """
    result: PythonResult = interpreter(profile).run(code, {name: decode(value) for name, value in inputs.items()})
    files = {name: encode(content) for name, content in result.files.items()}
    return {"value": encode(result.value), "stdout": result.stdout, "error": result.error, "files": files}
