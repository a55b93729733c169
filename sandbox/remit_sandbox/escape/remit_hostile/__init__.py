"""A pack that attacks: each module holds attempts of a kind, each attempt is one function.

An attempt gets facts about what there is to attack and returns what it got hold of. Whether it worked is
judged by others, from what they see. Cells load this folder as the package `remit_hostile`, so it imports
itself by relative names only.
"""

from __future__ import annotations

import importlib
import json
import os
from types import SimpleNamespace

from .attempt import ATTEMPTS as ATTEMPTS

MODULES = (
    "files",
    "links",
    "metadata",
    "races",
    "devices",
    "peers",
    "ipc",
    "sockets",
    "names",
    "programs",
    "processes",
    "kernel",
    "limits",
    "oracles",
)
KEPT: list[str] = []


def attack(module: str, name: str, facts: str) -> str:
    """Make one attempt.

    Args:
        module: where it is.
        name: of the attempt.
        facts: what there is to attack, a JSON object.
    """
    importlib.import_module(f"{__name__}.{module}")
    found = ATTEMPTS[name].act(SimpleNamespace(**json.loads(facts)))
    return found.decode("latin-1") if isinstance(found, bytes) else str(found or "")


def keep(text: str) -> str:
    """Keep a secret in memory and in a file, as a decent skill may; return the process id."""
    KEPT.append(text)
    with open("mine", "w", encoding="utf-8") as file:
        file.write(text)
    return str(os.getpid())
