"""Extensions: trusted code of other distributions that runs in the host.

What an author of one needs is here; it is imported when it is first used. See docs/extensions.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.extensions.hookspecs import hookimpl as hookimpl
    from remit.extensions.values import AuditSink as AuditSink
    from remit.extensions.values import CallEnd as CallEnd
    from remit.extensions.values import CallStart as CallStart
    from remit.extensions.values import ComparingStore as ComparingStore
    from remit.extensions.values import MemoryStore as MemoryStore
    from remit.extensions.values import ModelProvider as ModelProvider
    from remit.extensions.values import ModelWanted as ModelWanted
    from remit.extensions.values import RunState as RunState
    from remit.extensions.values import SecretProvider as SecretProvider
    from remit.extensions.values import Setup as Setup
    from remit.extensions.values import SignoffChannel as SignoffChannel

_WHERE = {
    "AuditSink": "values",
    "CallEnd": "values",
    "CallStart": "values",
    "ComparingStore": "values",
    "MemoryStore": "values",
    "ModelProvider": "values",
    "ModelWanted": "values",
    "RunState": "values",
    "SecretProvider": "values",
    "Setup": "values",
    "SignoffChannel": "values",
    "hookimpl": "hookspecs",
}

__all__ = [
    "AuditSink",
    "CallEnd",
    "CallStart",
    "ComparingStore",
    "MemoryStore",
    "ModelProvider",
    "ModelWanted",
    "RunState",
    "SecretProvider",
    "Setup",
    "SignoffChannel",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
