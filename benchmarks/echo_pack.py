"""A pack with one function, and specs for it: what the benchmarks of cells share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remit_sandbox import Cell, CellSpec
from remit_sandbox.probe import probe
from remit_sandbox.supervisor.client import site_folders

SOURCE = "import pydantic\n\n\ndef echo(text: str) -> str:\n    return text\n"


@contextmanager
def written(*names: str) -> Iterator[tuple[CellSpec, ...]]:
    """Write a pack under each name; give a spec for each, confined where this machine can."""
    sites = (*site_folders(), *(path for path in sys.path if path.endswith("site-packages")))
    enforcement: Any = "available" if probe().missing else "kernel"
    with TemporaryDirectory() as folder:
        for name in names:
            Path(folder, name).mkdir()
            Path(folder, name, "__init__.py").write_text(SOURCE, encoding="utf-8")
        paths = (folder, *dict.fromkeys(sites))
        yield tuple(CellSpec(pack=name, package=name, paths=paths, enforcement=enforcement) for name in names)


def handler_of(spec: CellSpec) -> str:
    """The one handler of such a pack."""
    return f"{spec.package}:echo"


def body_of(spec: CellSpec, text: str) -> dict[str, Any]:
    """The body of a call, as a host writes it."""
    return {"handler": handler_of(spec), "arguments": json.dumps({"text": text}).encode(), "context": {}}


def echo(cell: Cell, text: str) -> None:
    """Call it and see to it that the text comes back."""
    reply = cell.request("call", body_of(cell.spec, text), timeout=60)
    if reply.kind != "result" or len(json.loads(reply.text)) != len(text):
        raise RuntimeError(reply.error)
