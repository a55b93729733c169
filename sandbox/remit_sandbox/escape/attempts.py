"""The pack's list of attempts. Cells import the same folder by its own name, as a pack of its own."""

from __future__ import annotations

import importlib

from remit_sandbox.escape.remit_hostile import ATTEMPTS, MODULES
from remit_sandbox.escape.remit_hostile.attempt import Attempt
from remit_sandbox.escape.remit_hostile.raw import tiny_program

for _name in MODULES:
    importlib.import_module(f"remit_sandbox.escape.remit_hostile.{_name}")

__all__ = ["ATTEMPTS", "Attempt", "tiny_program"]
