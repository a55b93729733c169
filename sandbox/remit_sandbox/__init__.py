"""Cells: processes in which the kernel holds a skill's code to its permission.

Usable on its own; imports nothing of `remit`. Names are imported when they are first used.
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
    from remit_sandbox.sandbox import Sandbox as Sandbox
    from remit_sandbox.values import CellSpec as CellSpec
    from remit_sandbox.values import Limits as Limits
    from remit_sandbox.values import Output as Output
    from remit_sandbox.values import Reply as Reply
    from remit_sandbox.values import Rights as Rights

_HOMES = {
    "Calculation": "calculation",
    "CalculationError": "errors",
    "CannotConfine": "errors",
    "Cell": "cell",
    "CellSpec": "values",
    "CellStartError": "errors",
    "Limits": "values",
    "Output": "values",
    "Probe": "probe",
    "ProtocolError": "errors",
    "Reply": "values",
    "Rights": "values",
    "Sandbox": "sandbox",
    "SandboxError": "errors",
    "SupervisorError": "errors",
    "calculate": "calculation",
}

__all__ = [
    "Calculation",
    "CalculationError",
    "CannotConfine",
    "Cell",
    "CellSpec",
    "CellStartError",
    "Limits",
    "Output",
    "Probe",
    "ProtocolError",
    "Reply",
    "Rights",
    "Sandbox",
    "SandboxError",
    "SupervisorError",
    "calculate",
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
