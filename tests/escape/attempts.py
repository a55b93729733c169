"""The pack's list of attempts, imported by the name that cells import it by."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "hostile" / "src"))

from remit_hostile import ATTEMPTS, MODULES
from remit_hostile.attempt import Attempt
from remit_hostile.raw import tiny_program

for _name in MODULES:
    importlib.import_module(f"remit_hostile.{_name}")

__all__ = ["ATTEMPTS", "Attempt", "tiny_program"]
