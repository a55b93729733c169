"""What Remit gives to a handler that asks for it with a parameter `ctx`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from remit_sandbox.inside.media import File, media_type_of
from remit_sandbox.inside.text import well_formed

FOLLOW_UPS = 3
"""Follow-up calls that one call may ask for."""

NAME_LENGTH = 200
"""Characters of the name of a follow-up's skill that are kept."""

ARGUMENTS_LENGTH = 1024 * 1024
"""Bytes of a follow-up's arguments at most."""

PROGRESS_LENGTH = 2_000
"""Characters of one line of progress that are kept."""


class Secrets(Mapping[str, str]):
    """The pack's secrets by logical name; printing it shows names only."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"


class Context:
    """The surroundings of one call.

    A handler receives it as a parameter named `ctx` that has no annotation or is annotated
    `Context`; any other parameter is an ordinary argument.

    Attributes:
        settings: the pack's settings as the deployment has them; read only.
        secrets: logical name to value; only those that the deployment binds.
        workspace: the deployment's workspace, None when the skill may use nothing in it.
        data: the pack's own folder, None when it has none.
        tmp: a private folder that lives as long as the cell.
        readable: what the deployment lets the skill read: absolute paths of files, and `/dir/**` for
            a folder and all below it.
        session: id of the session.
        call: id of the call.
        key: the same when this call is made again after a crash; give it to services that take an
            idempotency key.
        traceparent: the trace that the call belongs to (W3C Trace Context), to be sent on with requests;
            empty where nothing is traced.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
        workspace: str | None = None,
        data: str | None = None,
        tmp: str | None = None,
        readable: Sequence[str] = (),
        session: str = "",
        call: str = "",
        key: str = "",
        traceparent: str = "",
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.settings: Mapping[str, Any] = MappingProxyType(dict(settings or {}))
        self.secrets: Mapping[str, str] = Secrets(secrets or {})
        self.workspace = Path(workspace) if workspace else None
        self.data = Path(data) if data else None
        self.tmp = Path(tmp) if tmp else None
        self.readable = tuple(str(path) for path in readable)
        self.session = session
        self.call = call
        self.key = key
        self.traceparent = traceparent
        self._report = report
        self._follow_ups: list[tuple[str, bytes]] = []

    def again(
        self, session: str, call: str, report: Callable[[str], None], traceparent: str = "", key: str = ""
    ) -> Context:
        """Return the same surroundings for another call."""
        other = Context.__new__(Context)
        other.__dict__.update(self.__dict__, session=session, call=call, traceparent=traceparent, key=key)
        other.__dict__.update(_report=report, _follow_ups=[])
        return other

    def progress(self, text: str) -> None:
        """Tell the person who waits what is happening; at most 2,000 characters are kept."""
        if self._report is not None:
            self._report(str(text)[:PROGRESS_LENGTH])

    def file(self, source: str | os.PathLike[str] | bytes, media_type: str = "") -> File:
        """Return a file to be part of a result: the host keeps its bytes, and the model reads a handle.

        Args:
            source: its path, read now; or its bytes.
            media_type: such as `application/pdf`; empty for what its name or its first bytes show.

        Raises:
            OSError: it cannot be read.
        """
        if isinstance(source, bytes):
            return File(data=source, media_type=media_type or media_type_of(source))
        data = Path(source).read_bytes()
        return File(data=data, media_type=media_type or media_type_of(data, os.fspath(source)))

    def follow_up(self, skill: str, /, **arguments: Any) -> None:
        """Ask for one call of another skill after this one; it is checked like any other call.

        Raises:
            ValueError: more than three were asked for.
            TypeError, ValueError: an argument is nothing that JSON can hold.
        """
        from remit_sandbox.inside.results import to_json

        if len(self._follow_ups) >= FOLLOW_UPS:
            raise ValueError(f"a call may ask for at most {FOLLOW_UPS} follow-up calls")
        self._follow_ups.append((well_formed(str(skill))[:NAME_LENGTH], to_json(arguments, limit=ARGUMENTS_LENGTH)))

    @property
    def follow_ups(self) -> tuple[tuple[str, bytes], ...]:
        """What was asked for so far, as (skill, arguments as JSON text)."""
        return tuple(self._follow_ups)


@dataclass(frozen=True, kw_only=True)
class Call:
    """The call that a post-hook looks at: the skill's name and the plain JSON arguments."""

    skill: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
