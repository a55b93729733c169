"""How what goes wrong in a cell is put into words: short, without host paths, without secrets."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType

from remit_sandbox.inside import refusals
from remit_sandbox.inside.annotations import CannotDescribe
from remit_sandbox.inside.results import NotJson
from remit_sandbox.inside.signature import NoHandler
from remit_sandbox.inside.text import well_formed

LINE = 500
"""Characters of an error message that are kept."""

TRACEBACK = 8_000
"""Characters of a traceback that are kept: the last ones."""

_SHORTEST_SECRET = 4
_ROOTS = ("", "/usr", "/usr/local", "/home", "/tmp", "/opt")
"""Folders that say nothing about this machine."""


class Wording:
    """Words for errors of one pack.

    Args:
        folder: the pack's own package folder; only its frames stay in a traceback. None keeps
            every frame outside Remit.
        places: pairs of (folder on this machine, what is written instead).
        secrets: logical name to the value that must never appear.

    Attributes:
        hides: `mask`, or None when there is no secret to hide.
    """

    def __init__(
        self,
        *,
        folder: str | None = None,
        places: Iterable[tuple[str, str]] = (),
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        known = {path.rstrip("/"): name for path, name in places if path and path.rstrip("/") not in _ROOTS}
        self._known = [(path, known[path]) for path in sorted(known, key=len, reverse=True)]
        values = [(v, k) for k, v in (secrets or {}).items() if len(v) >= _SHORTEST_SECRET]
        self._secrets = sorted(values, key=lambda pair: -len(pair[0]))
        self.hides: Callable[[str], str] | None = self.mask if values else None

    @cached_property
    def _places(self) -> list[tuple[re.Pattern[str], str]]:
        return [(re.compile(re.escape(path) + r"(?![\w.-])"), name) for path, name in self._known]

    def mask(self, text: str) -> str:
        """Return `text` with the value of every secret replaced by its name."""
        for value, name in self._secrets:
            if value in text:
                text = text.replace(value, f"[secret {name}]")
        return text

    def shorten(self, text: str) -> str:
        """Return `text` without secrets and without folders of this machine."""
        text = self.mask(text)
        for pattern, name in self._places:  # compiled at the first error, not while a cell starts
            text = pattern.sub(name, text)
        return text

    def line(self, error: BaseException) -> str:
        """Return one line that says what was raised."""
        if isinstance(error, SystemExit):
            return self._one_line(f"the handler ended its process: exit code {_text(error.code)}")
        message = _text(error)
        if isinstance(error, (NotJson, CannotDescribe, NoHandler)):
            return self._one_line(message)
        name = type(error).__name__
        line = f"{name}: {message}" if message else name
        hint = refusals.why(error)
        return self._one_line(f"{line}; {hint}" if hint else line)

    def trace(self, error: BaseException) -> str:
        """Return the pack's own lines of the traceback, the innermost last; never raises."""
        try:
            parts = [self._frames(link) for link in _chain(error)]
        except Exception:
            return ""
        return well_formed("\n".join(part for part in parts if part))[-TRACEBACK:]

    def _frames(self, error: BaseException) -> str:
        lines = [line for line in self._lines(error.__traceback__) if line]
        return "\n".join([*lines, self.line(error)]) if lines else ""

    def _lines(self, trace: TracebackType | None) -> Iterable[str]:
        for frame, number in traceback.walk_tb(trace):
            path = frame.f_code.co_filename
            if self._own(path):
                source = linecache.getline(path, number).strip()
                yield self.shorten(f"{self._shown(path)}:{number} in {frame.f_code.co_name}: {source}"[:LINE])

    def _own(self, path: str) -> bool:
        if self._folder is None:
            return not path.startswith((_HERE, "<frozen"))
        return path.startswith(self._folder + "/")

    def _shown(self, path: str) -> str:
        base = self._folder and str(Path(self._folder).parent)
        return path[len(base) + 1 :] if base and path.startswith(base + "/") else path

    def _one_line(self, text: str) -> str:
        line = " ".join(self.shorten(text[: 4 * LINE]).split())
        return line if len(line) <= LINE else line[: LINE - 3] + "..."


_HERE = str(Path(__file__).parent) + "/"


def _text(value: object) -> str:
    """Return `str(value)` in well-formed Unicode, or nothing when the pack's own `__str__` raises."""
    try:
        return well_formed(str(value))
    except Exception:
        return "(its text cannot be shown)"


def _chain(error: BaseException) -> list[BaseException]:
    """Return `error` and what caused it, the first cause first; at most eight."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and len(links) < 8 and all(link is not seen for seen in links):
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links[::-1]
