"""Cells: processes in which the kernel holds a skill's code to its permission.

Usable on its own; imports nothing of `remit`. Names are imported when they are first used.

PYTEST_DONT_REWRITE: importing this before pytest starts is no mistake, although a plugin comes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_sandbox.calculation import Calculation as Calculation
    from remit_sandbox.calculation import calculate as calculate
    from remit_sandbox.cell import Cell as Cell
    from remit_sandbox.errors import CalculationError as CalculationError
    from remit_sandbox.errors import CannotConfine as CannotConfine
    from remit_sandbox.errors import CellStartError as CellStartError
    from remit_sandbox.errors import ProtocolError as ProtocolError
    from remit_sandbox.errors import SandboxError as SandboxError
    from remit_sandbox.errors import SupervisorError as SupervisorError
    from remit_sandbox.probe import Probe as Probe
    from remit_sandbox.python import PythonResult as PythonResult
    from remit_sandbox.python import run_python as run_python
    from remit_sandbox.sandbox import Sandbox as Sandbox
    from remit_sandbox.values import CellSpec as CellSpec
    from remit_sandbox.values import Denied as Denied
    from remit_sandbox.values import Limits as Limits
    from remit_sandbox.values import Output as Output
    from remit_sandbox.values import Reply as Reply
    from remit_sandbox.values import Retirement as Retirement
    from remit_sandbox.values import Rights as Rights

_HOMES = {
    "Calculation": "calculation",
    "CalculationError": "errors",
    "CannotConfine": "errors",
    "Cell": "cell",
    "CellSpec": "values",
    "CellStartError": "errors",
    "Denied": "values",
    "Limits": "values",
    "Output": "values",
    "Probe": "probe",
    "ProtocolError": "errors",
    "PythonResult": "python",
    "Reply": "values",
    "Retirement": "values",
    "Rights": "values",
    "Sandbox": "sandbox",
    "SandboxError": "errors",
    "SupervisorError": "errors",
    "calculate": "calculation",
    "run_python": "python",
}

__all__ = [
    "Calculation",
    "CalculationError",
    "CannotConfine",
    "Cell",
    "CellSpec",
    "CellStartError",
    "Denied",
    "Limits",
    "Output",
    "Probe",
    "ProtocolError",
    "PythonResult",
    "Reply",
    "Retirement",
    "Rights",
    "Sandbox",
    "SandboxError",
    "SupervisorError",
    "calculate",
    "run_python",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'remit_sandbox' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"remit_sandbox.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
