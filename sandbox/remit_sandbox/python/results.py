"""What a program left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Profile = Literal["guarded", "open"]
"""`guarded`: the policy on the source holds, inside the cell. `open`: plain Python with whatever is installed
(numpy, pandas, matplotlib), held by the cell alone."""


@dataclass(frozen=True, kw_only=True)
class PythonResult:
    """How one program ended.

    Attributes:
        value: the last expression's value, else the variable `result`; plain data (numbers, text, bytes, lists,
            tuples, sets, dicts), and text in place of anything else.
        stdout: what it printed, at most `printing.CHARACTERS`, control characters made visible.
        error: why it stopped, with the line; empty when it ran to its end.
        files: name to content of what it saved, plots among them.
    """

    value: Any = None
    stdout: str = ""
    error: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
