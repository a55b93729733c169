"""Limits as manifests write them: bytes as a number or `"512MiB"`, seconds, counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from remit.errors import PolicyError
from remit_sandbox.values import Limits

_SIZES = ("memory", "file_size", "disk", "output", "result")
_UNITS = {"": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_SIZE = re.compile(r"([0-9]{1,12})\s*(KiB|MiB|GiB|)")
_DEFAULTS = Limits()

LIMITS: Mapping[str, float] = {
    **{name: float(getattr(_DEFAULTS, name)) for name in (*_SIZES, "open_files", "processes")},
    "cpu": math.inf,
}
"""Name to default; see `remit_sandbox.Limits` (memory, disk ... in bytes, cpu in seconds)."""


def parse_limits(table: Any) -> dict[str, float]:
    """Read a `limits` table.

    Raises:
        PolicyError: an unknown name or a value that is no number.
    """
    if isinstance(table, list | tuple):
        table = dict(str(entry).partition("=")[::2] for entry in table)
    if not isinstance(table, Mapping):
        raise PolicyError("limits must be a table")
    return {name: _number(name, table[name]) for name in sorted(table)}


def _number(name: str, value: Any) -> float:
    if name not in LIMITS:
        raise PolicyError(f"{name!r} is no limit; there are {', '.join(sorted(LIMITS))}")
    if isinstance(value, str):
        value = _sized(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**50:
        raise PolicyError(f"limits.{name} must be a number, 0 or more")
    if name != "cpu" and value % 1:
        raise PolicyError(f"limits.{name} must be a whole number")
    return float(value)


def _sized(name: str, text: str) -> float:
    match = _SIZE.fullmatch(text.strip())
    if match and (name in _SIZES or not match[2]):
        return float(int(match[1]) * _UNITS[match[2]])
    try:
        return float(text)
    except ValueError:
        raise PolicyError(f'limits.{name} must be a number, or a size such as "64MiB"') from None


def to_limits(limits: Mapping[str, float]) -> Limits:
    """Return the sandbox's value of a permission's `limits`."""
    whole: dict[str, Any] = {name: int(value) for name, value in limits.items() if name != "cpu"}
    cpu = limits.get("cpu", math.inf)
    return Limits(**whole, cpu=None if math.isinf(cpu) else cpu)


def amount(value: float) -> str:
    """Write one limit's value: whole where it is whole, never rounded."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)
