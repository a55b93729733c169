"""What an attempt is, and the list of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Act = Callable[[Any], object]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to do what a cell must not do.

    Attributes:
        name: of its function; unique.
        module: where it is, without the package.
        kind: of escape.
        act: does it, returns what it got hold of, raises when it is refused.
        sees: the beginning of what an outsider sees when it worked.
        quick: whether it is tried with every version of Landlock.
        granted: isolation in which it is granted.
        documented: a leak of information that is a documented limit.
        net: the cell may connect to one address.
    """

    name: str
    module: str
    kind: str
    act: Act
    sees: str
    quick: bool = False
    granted: str = ""
    documented: bool = False
    net: bool = False


ATTEMPTS: dict[str, Attempt] = {}
_HELD: list[object] = []


def attempt(kind: str, *, sees: str, **more: Any) -> Callable[[Act], Act]:
    """Put a function on the list."""

    def add(act: Act) -> Act:
        name = act.__name__
        if name in ATTEMPTS:
            raise ValueError(f"two attempts are called {name}")
        module = act.__module__.rpartition(".")[2]
        ATTEMPTS[name] = Attempt(name=name, module=module, kind=kind, act=act, sees=sees, **more)
        return act

    return add


def hold(*things: object) -> None:
    """Keep what was won, so that it can be seen from outside."""
    _HELD.extend(things)
