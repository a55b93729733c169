"""The file of a recording: JSON Lines, each part of a request kept once, no keys and no headers."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from remit.errors import ModelError, NotRecorded, UsageError
from remit.models.gathering import MOST_TOKENS
from remit.models.protocol import ModelReply, ToolCall, Usage
from remit.models.recorded_call import RecordedCall
from remit.models.request_form import Form

VERSION = 1
MOST_COST = 1e12
"""Most that one reply is believed to have cost, in whatever currency."""

LARGEST = 256 * 1024 * 1024
"""Bytes of a recording that are read."""


@dataclass(frozen=True, kw_only=True)
class RecordedTurn:
    """One request and its reply.

    Attributes:
        scope: whose it is; the name that was given to the model that recorded it.
        exact, loose: digests of the request, see `Form`.
        parts: label and canonical JSON of each part of it.
        reply: with placeholders.
    """

    scope: str
    exact: str
    loose: str
    parts: tuple[tuple[str, str], ...]
    reply: ModelReply


@dataclass(kw_only=True)
class Recording:
    """The turns of one file, in order.

    Attributes:
        path: the file.
        model: name of the model that was recorded.
        images, documents: that model was shown images, or documents.
        turns: as they stand in the file.
        calls: of skills, in the same way; None where the recording is about the model alone.
    """

    path: Path
    model: str
    images: bool = False
    documents: bool = False
    turns: list[RecordedTurn] = field(default_factory=list)
    calls: list[RecordedCall] | None = None

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that have turns."""
        return frozenset(turn.scope for turn in self.turns)


class Recorder:
    """Writes a recording, a line at a time, so that what was recorded stays when the program ends early.

    Args:
        path: of the file; an older one is replaced with the first turn.
        model: name of the model.
        images, documents: the model is shown images, or documents.
        calls: what skills give is recorded, too.
    """

    def __init__(
        self, path: str | Path, model: str, *, images: bool = False, documents: bool = False, calls: bool = False
    ) -> None:
        self.path = Path(path)
        self.calls = calls
        shown = {"images": images, "documents": documents}
        self._head = {"remit_recording": VERSION, "model": model, **shown, "calls": calls}
        self._file: TextIO | None = None
        self._begun = False
        self._known: set[str] = set()

    def begin(self) -> None:
        """Begin the file now, so that a wrong place shows before a model is asked.

        Raises:
            UsageError: it cannot be written.
        """
        try:
            self._opened().flush()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def add(self, turn: RecordedTurn) -> None:
        """Write one turn.

        Raises:
            ModelError: it cannot be written.
        """
        with self._writing() as file:
            for _, text in turn.parts:
                self._part(file, text)
            parts = [[label, _key(text)] for label, text in turn.parts]
            body = {"scope": turn.scope, "exact": turn.exact, "loose": turn.loose, "parts": parts}
            _write(file, {**body, "reply": _plain(turn.reply)})

    def add_call(self, call: RecordedCall) -> None:
        """Write what a call of a skill gave. Raises NotRecorded where it cannot be written."""
        try:
            with self._writing() as file:
                _write(file, call.to_json())
        except ModelError as error:
            raise NotRecorded(error.message) from error

    @contextmanager
    def _writing(self) -> Iterator[TextIO]:
        try:
            file = self._opened()
            yield file
            file.flush()
        except OSError as error:
            raise ModelError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file. Calling it again does nothing."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _opened(self) -> TextIO:
        if self._file is None:
            again = os.O_APPEND if self._begun else os.O_TRUNC
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | again, 0o600)
            self._file = os.fdopen(descriptor, "w", encoding="utf-8")
            _keep_private(descriptor)
            if not self._begun:
                _write(self._file, self._head)
            self._begun = True
        return self._file

    def _part(self, file: TextIO, text: str) -> None:
        key = _key(text)
        if key not in self._known:
            self._known.add(key)
            _write(file, {"part": key, "body": text})


def read_recording(path: str | Path) -> Recording:
    """Read a recording.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    place = Path(path)
    try:
        if place.stat().st_size > LARGEST:
            raise UsageError(f"{place} is larger than {LARGEST // 1024 // 1024} MiB", remedy="record a smaller suite")
        with place.open(encoding="utf-8") as file:
            return _read(place, file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the recording {place} cannot be read: {error}", remedy="make it with --record") from error


def turn_of(form: Form, reply: ModelReply, scope: str) -> RecordedTurn:
    """Return one turn as it is kept."""
    return RecordedTurn(scope=scope, exact=form.exact, loose=form.loose, parts=form.parts, reply=reply)


def _read(place: Path, file: TextIO) -> Recording:
    lines = _lines(place, file)
    number, head = next(lines, (1, {}))
    if head.get("remit_recording") != VERSION:
        raise UsageError(f"{place} is no recording of version {VERSION}", remedy="make it with --record")
    recording = Recording(path=place, model=str(head.get("model", "")), images=head.get("images") is True)
    recording.documents = head.get("documents") is True
    recording.calls = [] if head.get("calls") is True else None
    texts: dict[str, str] = {}
    for number, line in lines:
        try:
            if "part" in line:
                texts[line["part"]] = str(line["body"])
                continue
            if "call" in line and recording.calls is not None:
                recording.calls.append(RecordedCall.from_json(line))
                continue
            parts = tuple((str(label), texts[key]) for label, key in line["parts"])
            own = {name: str(line[name]) for name in ("scope", "exact", "loose")}
            recording.turns.append(RecordedTurn(**own, parts=parts, reply=_reply(line["reply"])))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{place}, line {number}: no turn of a recording ({error})") from error
    return recording


def _lines(place: Path, file: TextIO) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, text in enumerate(file, 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{place}, line {number}: {error}") from error
        if not isinstance(line, dict):
            raise UsageError(f"{place}, line {number}: an object is due")
        yield number, line


def _plain(reply: ModelReply) -> dict[str, Any]:
    """Return a reply without the bytes of the wire, and without what is empty."""
    body = asdict(reply)
    del body["sent"], body["received"]
    return {name: value for name, value in body.items() if value not in ("", (), None)}


def _reply(body: Mapping[str, Any]) -> ModelReply:
    """Read what `_plain` wrote. Raises TypeError or ValueError for anything else."""
    known = dict(body)
    known["calls"] = tuple(ToolCall(**call) for call in known.get("calls", ()))
    known["usage"] = Usage(**known.get("usage", {}))
    known["notes"] = tuple(known.get("notes", ()))
    reply = ModelReply(**known)
    words = [getattr(reply, name) for name in ("text", "reasoning", "finish", "model", "carry")]
    words += [word for call in reply.calls for word in (call.id, call.name, call.arguments, call.written, call.named)]
    if not all(isinstance(word, str) for word in (*words, *reply.notes)) or reply.sent or reply.received:
        raise TypeError("a reply has texts")
    if not all(type(mark) is bool for call in reply.calls for mark in (call.repaired, call.hidden)):
        raise TypeError("a mark of a call is true or false")
    _check_used(reply)
    return reply


def _check_used(reply: ModelReply) -> None:
    used = reply.usage
    told = [tokens for tokens in (used.input_tokens, used.output_tokens) if tokens is not None]
    for tokens in (*told, used.cached_tokens, used.cache_writes):
        if type(tokens) is not int or not 0 <= tokens <= MOST_TOKENS:
            raise ValueError(f"{tokens!r} is no number of tokens")
    if reply.cost is not None and (type(reply.cost) not in (int, float) or not 0 <= reply.cost <= MOST_COST):
        raise ValueError(f"{reply.cost!r} is no cost")


def _keep_private(descriptor: int) -> None:
    """Take a file that was there before from everybody else, too; not a device."""
    if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write(file: TextIO, body: Mapping[str, Any]) -> None:
    """Write one line; what UTF-8 cannot hold, a half of a surrogate pair alone, as JSON escapes it."""
    try:
        file.write(json.dumps(body, ensure_ascii=False) + "\n")
    except UnicodeEncodeError:
        file.write(json.dumps(body) + "\n")
