"""One sink for everything that a program prints."""

from __future__ import annotations

import io
import re
from typing import Any

from remit_sandbox.inside.text import well_formed

CHARACTERS = 200_000
"""Characters of output that are kept."""

CUT = "\n... (the rest of the output was left out)"

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Sink:
    """Collects what is printed, up to a limit; the rest costs nothing and is marked as left out."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._room = CHARACTERS
        self._cut = False

    def print(self, *values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
        """The built-in `print`; `file` may be a `StringIO`."""
        if file is not None and type(file) is not io.StringIO:
            raise TypeError("print() writes to the output or to an io.StringIO; save_file(name, text) makes a file")
        separator, ending = _text(" " if sep is None else sep, "sep"), _text("\n" if end is None else end, "end")
        text = separator.join([str(value) for value in values]) + ending
        if file is not None:
            file.write(text)
        else:
            self.write(text)

    def write(self, text: str) -> None:
        """Add text."""
        if len(text) > self._room:
            self._cut = True
            text = text[: self._room]
        self._room -= len(text)
        if text:
            self._parts.append(text)

    def taken(self) -> str:
        """Return what was printed since this was last asked, control characters made visible."""
        text = well_formed("".join(self._parts))
        shown = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text) + (CUT if self._cut else "")
        self._parts, self._room, self._cut = [], CHARACTERS, False
        return shown


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be None or a string, not {type(value).__name__}")
    return str.__str__(value)
