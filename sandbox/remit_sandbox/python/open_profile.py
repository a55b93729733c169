"""The second profile: plain Python with whatever is installed, held by the cell alone.

Numpy, pandas and matplotlib reach everywhere, so that no policy on the source can hold them. What a program writes
into its working folder are its files, and so are the figures that it leaves open, unless it saved pictures itself.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from remit_sandbox.python.engine import CODE, NotAllowed, parsed
from remit_sandbox.python.files import Files
from remit_sandbox.python.plain import decode, encode
from remit_sandbox.python.policy import VALUE
from remit_sandbox.python.printing import Sink
from remit_sandbox.python.results import PythonResult
from remit_sandbox.python.wording import PROGRAM, raised

_PICTURES = (".png", ".svg", ".pdf", ".jpg")


class OpenInterpreter:
    """Runs programs without the policy. Only to be used in a cell."""

    def __init__(self) -> None:
        os.environ["MPLCONFIGDIR"] = str(Path(tempfile.gettempdir(), ".matplotlib"))
        self._sink = Sink()
        self._files = Files()
        self._variables: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        self._variables["save_file"] = self._files.save

    def run(self, code: str, inputs: Mapping[str, Any] | None = None) -> PythonResult:
        """Run one program and return what it left."""
        try:
            tree = parsed(code)
        except NotAllowed as error:
            return PythonResult(error=str(error))
        if tree.body and isinstance(last := tree.body[-1], ast.Expr):
            tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(VALUE, ast.Store())], last.value), last)
        self._variables.update(inputs or {}, inputs=dict(inputs or {}))
        before = _found()
        failure = self._executed(ast.fix_missing_locations(tree), code.splitlines())
        value = self._variables.pop(VALUE, None)
        value = self._variables.get("result") if value is None else value
        self._keep_written(before)
        self._keep_figures()
        return PythonResult(
            value=decode(encode(_plain(value))), stdout=self._sink.taken(), error=failure, files=self._files.taken()
        )

    def _executed(self, tree: ast.Module, lines: list[str]) -> str:
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(_Stream(self._sink)):
                warnings.simplefilter("ignore")
                exec(compile(tree, PROGRAM, "exec", dont_inherit=True), self._variables)
        except SystemExit as error:
            return "" if error.code in (None, 0) else raised(error, lines, self._variables)
        except BaseException as error:
            return raised(error, lines, self._variables)
        return ""

    def _keep_figures(self) -> None:
        plots = sys.modules.get("matplotlib.pyplot")
        if plots is None:
            return
        saved = any(name.endswith(_PICTURES) for name in self._files.names)
        with contextlib.suppress(Exception):
            for number in () if saved else plots.get_fignums():
                picture = io.BytesIO()
                plots.figure(number).savefig(picture, format="png")
                self._files.save(f"figure-{number}.png", picture.getvalue())
            plots.close("all")

    def _keep_written(self, before: Mapping[str, tuple[int, int]]) -> None:
        for name, identity in _found().items():
            if before.get(name) != identity:
                with contextlib.suppress(OSError, ValueError):
                    self._files.save(name, Path(name).read_bytes())


def _found() -> dict[str, tuple[int, int]]:
    """Return the files of the working folder with what changes when they are written."""
    return dict(_regular_files()) if os.access(".", os.W_OK) else {}


def _regular_files() -> Iterator[tuple[str, tuple[int, int]]]:
    with os.scandir(".") as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                about = entry.stat(follow_symlinks=False)
                yield entry.name, (about.st_mtime_ns, about.st_size)


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's own, where they are not too many."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return value.tolist() if getattr(value, "size", 1) <= CODE else repr(value)
    return value


class _Stream(io.TextIOBase):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, text: str) -> int:
        self._sink.write(text)
        return len(text)

    def writable(self) -> bool:
        return True
