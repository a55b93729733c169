"""Import and use once, before any cell exists, what most packs need.

A cell is a fork of the process that called `warm`: what has been imported here costs it nothing.
"""

from __future__ import annotations

import gc
import importlib
import sys
import typing
from dataclasses import dataclass

STANDARD = """
    argparse array ast asyncio base64 bisect calendar codecs collections.abc concurrent.futures contextlib copy csv
    dataclasses datetime decimal difflib email.message email.parser encodings.idna encodings.utf_8 enum fnmatch
    fractions functools glob gzip hashlib heapq hmac html.parser http.client http.cookiejar importlib.metadata
    importlib.resources inspect io itertools json linecache locale logging math mimetypes numbers operator pathlib
    pickle platform posixpath queue random re select selectors shlex shutil signal socket sqlite3 ssl statistics
    string struct subprocess tempfile textwrap threading time traceback types typing unicodedata urllib.error
    urllib.parse urllib.request uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo _sitebuiltins
    _strptime
"""
"""Modules of the standard library that are imported ahead."""

OWN = """
    annotations channel context convert describe docstrings from_source invoke media opening plain results
    serve signature streams text tidy wording
"""
"""Modules of this package that are imported ahead."""

OPTIONAL = (
    "remit_sandbox.inside.network",
    "remit_sandbox.python.door",
    "typing_extensions",
    "annotated_types",
    "docstring_parser.parser",
)


def warm() -> None:
    """Import and exercise; never raises for a module that this Python does not have.

    Starts no thread, opens no descriptor that stays, and imports no pack.
    """
    for name in STANDARD.split():
        _import(name)
    for name in OWN.split():
        importlib.import_module(f"remit_sandbox.inside.{name}")
    for name in OPTIONAL:
        _import(name)
    _backport_typed_dict()
    _rehearse()
    gc.collect()
    gc.freeze()


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        return


def _backport_typed_dict() -> None:
    """Give packs the `TypedDict` of `typing_extensions` before Python 3.12, where pydantic refuses its own."""
    if sys.version_info < (3, 12):
        import typing_extensions

        typing.TypedDict = typing_extensions.TypedDict


@dataclass
class _Sample:
    size: int = 1


def _rehearse() -> None:
    """Describe and call one function of every common kind, which fills the caches of pydantic."""
    from pydantic import BaseModel, TypeAdapter, validate_call

    from remit_sandbox.inside.context import Context
    from remit_sandbox.inside.describe import describe_function
    from remit_sandbox.inside.invoke import invoke_function

    class Model(BaseModel):
        name: str = ""
        sizes: list[int] = []

    def sample(text: str, model: Model, many: dict[str, _Sample], number: float | None = None) -> Model:
        """Return the model.

        Args:
            text: any text
        """
        return model

    sample.__annotations__.update(model=Model, many=dict[str, _Sample], number=float | None, text=str)
    described = describe_function(sample)
    reply = invoke_function(sample, b'{"text": "", "model": {}, "many": {"a": {}}}', Context())
    if described.error or reply.kind != "result":
        raise RuntimeError(described.error or reply.error)
    TypeAdapter(list[int]).validate_json(b"[1]")
    validate_call(_twice)(1)


def _twice(number: int) -> int:
    return 2 * number
