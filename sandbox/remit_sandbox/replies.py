"""From the messages of a cell, which are hostile, to plain values."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from remit_sandbox.errors import ProtocolError
from remit_sandbox.frames import Message
from remit_sandbox.values import Denied, Described, FieldError, FollowUp, Output, Reply

_RESULT = vars(Reply(kind="result"))
_COMMON = {"op", "id", "text", "follow_ups"}
_LINE = 2_000
_TRACEBACK = 20_000
_MOST_ERRORS = 100
_MOST_FOLLOW_UPS = 3
_MOST_DENIED = 20
_KEYS = ("net", "exec", "shm")


def reply_of(message: Message, duration: float) -> Reply:
    """The reply that a message means.

    Raises:
        ProtocolError: when the message has not one of the known forms.
    """
    if message.keys() == _COMMON and message["op"] == "result" and type(message["text"]) is bytes:
        return _result(message["text"], _follow_ups(message["follow_ups"]), duration)
    reply = _reply_of(message, duration)
    if "denied" not in message and "observed" not in message:
        return reply
    return replace(reply, denied=_denied(message.get("denied")), observed=_bytes(message, "observed"))


def _reply_of(message: Message, duration: float) -> Reply:
    op = message.get("op")
    if type(op) is not str:
        raise ProtocolError("a cell's answer has no kind")
    if op == "result":
        return _result(_bytes(message, "text"), _follow_ups(message.get("follow_ups")), duration)
    if op == "converted":
        return Reply(kind="result", duration=duration)
    if op == "invalid":
        return Reply(kind="invalid", errors=_errors(message.get("errors")), duration=duration)
    if op == "failed":
        error, trace = _text(message, "error", _LINE), _text(message, "traceback", _TRACEBACK)
        return Reply(kind="failed", error=error, traceback=trace, duration=duration)
    raise ProtocolError(f"a cell answered {op[:40]!r}")


def _result(text: bytes, follow_ups: tuple[FollowUp, ...], duration: float) -> Reply:
    """Make the reply of a call that went well; filling in seven frozen fields one by one costs as much as decoding."""
    reply = object.__new__(Reply)
    reply.__dict__.update(_RESULT, text=text, follow_ups=follow_ups, duration=duration)
    return reply


def described_of(message: Message) -> dict[str, Described]:
    """What a cell says about its skills.

    Raises:
        ProtocolError: when the message has not the known form.
    """
    skills = message.get("skills")
    if message.get("op") != "described" or type(skills) is not dict:
        raise ProtocolError("a cell did not describe its skills")
    return {name: _described(value) for name, value in skills.items() if type(name) is str}


def output_of(message: Mapping[str, Any]) -> Output:
    """What a cell printed."""
    stdout, stderr = (message[name].decode("utf-8", "replace") for name in ("stdout", "stderr"))
    return Output(stdout=stdout, stderr=stderr, cut=bool(message["cut"]))


def end_of(status: int | None, reason: str) -> str:
    """Why a cell ended by itself, in words."""
    if reason:
        return f"the cell was ended: {reason}"
    if status is None:
        return "the cell closed its connection without an answer"
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"the cell exited with status {code} without an answer"
    if -code == signal.SIGXCPU:
        return "the cell used up its CPU time"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the cell was killed by {name}"


def _described(value: object) -> Described:
    if type(value) is not dict:
        raise ProtocolError("a cell did not describe a skill")
    notes = value.get("notes")
    lines = tuple(note[:_LINE] for note in notes[:_MOST_ERRORS] if type(note) is str) if type(notes) is list else ()
    error, description = _text(value, "error", _LINE), _text(value, "description", _TRACEBACK)
    return Described(schema=_bytes(value, "schema"), description=description, notes=lines, error=error)


def _bytes(message: Message, key: str) -> bytes:
    value = message.get(key, b"")
    if type(value) is not bytes:
        raise ProtocolError(f"{key} of a cell's answer is no bytes")
    return value


def _text(message: Message, key: str, most: int) -> str:
    value = message.get(key, "")
    if type(value) is not str:
        raise ProtocolError(f"{key} of a cell's answer is no text")
    return value[:most]


def _errors(value: object) -> tuple[FieldError, ...]:
    if type(value) is not list:
        raise ProtocolError("errors of a cell's answer are no list")
    return tuple(FieldError(path=path, message=why) for path, why in map(_pair_of_text, value[:_MOST_ERRORS]))


def _pair_of_text(value: object) -> tuple[str, str]:
    if type(value) is not list or len(value) != 2 or not all(type(item) is str for item in value):
        raise ProtocolError("an error of a cell's answer is no path and message")
    return value[0][:_LINE], value[1][:_LINE]


def _denied(value: object) -> tuple[Denied, ...]:
    """What a cell says it was refused; entries that have not the known form are left out."""
    entries = value[:_MOST_DENIED] if type(value) is list else []
    fits = [entry for entry in entries if type(entry) is list and len(entry) == 3 and entry[0] in _KEYS]
    return tuple(
        Denied(right=right, what=what[:200], missing=missing[:200], seen_by="cell")
        for right, what, missing in fits
        if type(what) is str and type(missing) is str
    )


def _follow_ups(value: object) -> tuple[FollowUp, ...]:
    if value is None or value == []:
        return ()
    if type(value) is not list or len(value) > _MOST_FOLLOW_UPS:
        raise ProtocolError(f"a cell may ask for at most {_MOST_FOLLOW_UPS} follow-up calls")
    return tuple(_follow_up(item) for item in value)


def _follow_up(value: object) -> FollowUp:
    if type(value) is not list or len(value) != 2 or type(value[0]) is not str or type(value[1]) is not bytes:
        raise ProtocolError("a follow-up call of a cell's answer is no skill and arguments")
    return FollowUp(skill=value[0][:_LINE], arguments=value[1])
