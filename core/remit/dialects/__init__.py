"""Dialects: every way a model writes a call in plain text, read and written.

A small library of its own: it imports nothing else of `remit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.dialects.parsed import Parsed, ParsedCall, Skills
    from remit.dialects.registry import register_dialect
    from remit.dialects.render import Sample, examples, instructions, render_answer, render_call, render_result, stop
    from remit.dialects.stream import ParseEvent, Parser, TextDelta, TextWithdrawn
    from remit.dialects.table import DIALECTS, known_dialects
    from remit.dialects.whole import DEFAULT_TAG, parse

_WHERE = {
    "DEFAULT_TAG": "whole",
    "DIALECTS": "table",
    "ParseEvent": "stream",
    "Parsed": "parsed",
    "ParsedCall": "parsed",
    "Parser": "stream",
    "Sample": "render",
    "Skills": "parsed",
    "TextDelta": "stream",
    "TextWithdrawn": "stream",
    "examples": "render",
    "instructions": "render",
    "known_dialects": "table",
    "parse": "whole",
    "register_dialect": "registry",
    "render_answer": "render",
    "render_call": "render",
    "render_result": "render",
    "stop": "render",
}

__all__ = [
    "DEFAULT_TAG",
    "DIALECTS",
    "ParseEvent",
    "Parsed",
    "ParsedCall",
    "Parser",
    "Sample",
    "Skills",
    "TextDelta",
    "TextWithdrawn",
    "examples",
    "instructions",
    "known_dialects",
    "parse",
    "register_dialect",
    "render_answer",
    "render_call",
    "render_result",
    "stop",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
