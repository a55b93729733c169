"""Run one program, or several that share their variables, where this is called: inside a cell.

The policy is no wall by itself. In a cell nothing more is lost when it fails than the cell itself may do.
"""

from __future__ import annotations

import ast
import contextvars
import warnings
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from remit_sandbox.python.files import Files
from remit_sandbox.python.guards import Guards
from remit_sandbox.python.modules import Modules
from remit_sandbox.python.names import why_no_name
from remit_sandbox.python.plain import decode, encode
from remit_sandbox.python.policy import VALUE, Policy
from remit_sandbox.python.printing import Sink
from remit_sandbox.python.results import PythonResult
from remit_sandbox.python.safe_parts import Parts
from remit_sandbox.python.vocabulary import built_ins
from remit_sandbox.python.wording import PROGRAM, raised, refused, unreadable

CODE = 100_000
"""Characters of a program."""


class NotAllowed(Exception):
    """The policy refuses a program; the message says where and why."""


def execute(code: str, inputs: Mapping[str, Any] | None = None) -> PythonResult:
    """Run a program under the policy and return what it left. Any exception is part of the result.

    It runs in this process, with the rights of this process: call it inside a cell.

    Args:
        code: the program, at most `CODE` characters.
        inputs: values that it finds as variables, and together as the dict `inputs`.
    """
    return Interpreter().run(code, inputs)


class Interpreter:
    """Runs programs one after the other; each finds the variables of those before it."""

    def __init__(self) -> None:
        self._sink = Sink()
        self._files = Files()
        self._variables: dict[str, Any] = {}
        self._context = contextvars.Context()
        guards = Guards(self._variables)
        modules = Modules(Parts(guards, self._sink.print).names)
        names = built_ins(guards, self._sink.print, modules.importer, self._files.save)
        self._guards = {**guards.names(), "__builtins__": names, "__name__": "__main__"}

    def run(self, code: str, inputs: Mapping[str, Any] | None = None) -> PythonResult:
        """Run one program and return what it left."""
        lines = code.splitlines() if isinstance(code, str) else []
        try:
            program = compiled(code)
            self._prepare(inputs or {})
        except NotAllowed as error:
            return PythonResult(error=str(error))
        failure = self._executed(program, lines)
        value = self._variables.pop(VALUE, None)
        if value is None and "result" in program.co_names:
            value = self._variables.get("result")
        return PythonResult(
            value=decode(encode(value)), stdout=self._sink.taken(), error=failure, files=self._files.taken()
        )

    def _prepare(self, inputs: Mapping[str, Any]) -> None:
        for name in inputs:
            if not str(name).isidentifier() or why_no_name(name):
                raise NotAllowed(f"the input {str(name)[:60]!r} has no name that a variable can have")
        self._variables.pop(VALUE, None)
        self._variables.update(inputs)
        self._variables.update({"inputs": dict(inputs)} if inputs else {})
        self._variables.update(self._guards)

    def _executed(self, program: CodeType, lines: list[str]) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._context.run(exec, program, self._variables)
        except SystemExit as error:
            return "" if error.code in (None, 0) else raised(error, lines, self._variables)
        except BaseException as error:
            return raised(error, lines, self._variables)
        return ""


def compiled(code: str) -> CodeType:
    """Return the code of a program that the policy lets through, with its guards.

    Raises:
        NotAllowed: it is no Python, too long, or does what the policy refuses.
    """
    tree = parsed(code)
    policy = Policy()
    _or_refuse(lambda: policy.visit(tree))
    if policy.errors:
        raise NotAllowed(refused(policy.errors, code.splitlines()))
    # Not RestrictedPython's own compile: it hands its `annotations` future on to the program.
    program: CodeType = _or_refuse(lambda: compile(tree, PROGRAM, "exec", dont_inherit=True))
    return program


def parsed(code: str) -> ast.Module:
    """Return the tree of a program.

    Raises:
        NotAllowed: it is no Python, or too long.
    """
    if not isinstance(code, str) or len(code) > CODE:
        raise NotAllowed(f"a program is text of at most {CODE} characters")
    tree: ast.Module = _or_refuse(lambda: ast.parse(code, PROGRAM))
    return tree


def _or_refuse(step: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return step()
    except Exception as error:
        raise NotAllowed(unreadable(error)) from None
