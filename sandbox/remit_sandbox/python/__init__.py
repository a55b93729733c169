"""Python that people can let a model run: a policy on the source inside, a cell as the wall around it.

`execute` runs a program where it is called, which is to be inside a cell. `run_python` is for a host: it opens a
cell for the program, and never raises for what the program does. Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_sandbox.python.engine import execute as execute
    from remit_sandbox.python.host import run_python as run_python
    from remit_sandbox.python.results import Profile as Profile
    from remit_sandbox.python.results import PythonResult as PythonResult

_HOMES = {"execute": "engine", "run_python": "host", "Profile": "results", "PythonResult": "results"}

__all__ = ["Profile", "PythonResult", "execute", "run_python"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'remit_sandbox.python' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"remit_sandbox.python.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
