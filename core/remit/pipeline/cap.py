"""Stage 8: what the model reads of a result, and where the whole of it is kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt, Ran
from remit.pipeline.contents import Blob, Unreadable, read, take_bytes, to_text
from remit.pipeline.redact import Redactor
from remit.skills import READ_RESULT
from remit.values import Result

TEXT = "text/plain; charset=utf-8"
CUT_HERE = "\n[... cut here;"
"""What marks a text that is cut because it is too long for the model."""

_TAIL = 0.2


def cap(attempt: Attempt, ran: Ran, follow_ups: tuple[Result, ...]) -> Result:
    """Return the result: its value, and a text of limited length for the model.

    A text that is too long keeps its head and tail; the whole is kept under a handle that
    `remit.read_result` reads in pages.

    Raises:
        StateError: the whole cannot be kept.
    """
    labels = _labels(attempt, ran).union(*(one.labels for one in follow_ups))
    blobs: list[Blob] = []

    def put(data: bytes, media_type: str) -> str:
        state, session = attempt.around.state, attempt.call.session
        return state.put_blob(data, media_type, session=session, skill=attempt.name, labels=labels)

    try:
        value = take_bytes(read(ran.text), put, blobs)
        whole, shown = _texts(attempt, value)
    except (Unreadable, RecursionError) as error:
        return outcome.failed(attempt, f"{attempt.name} gave a result that is no JSON: {error}")
    about = about_follow_ups(follow_ups)
    room = attempt.around.cap - len(about)
    handle = None
    if shown != whole or len(shown) > room:
        kept = attempt.around.redactor.text(whole)
        handle = put(kept.encode("utf-8", "replace"), TEXT)
    text = _cut(shown, whole, room, handle, attempt.around.redactor) + about
    return Result(
        call=attempt.call.id,
        skill=attempt.name,
        status="ok",
        text=text,
        value=value,
        duration=time.monotonic() - attempt.began,
        decision=attempt.decision,
        labels=labels,
        handle=handle,
        cached=ran.cached,
        notes=tuple(attempt.notes),
        enforcement=attempt.enforcement,
        follow_ups=follow_ups,
        blobs=tuple(blobs),
    )


def cut(text: str, room: int, mark: str, whole: Sequence[tuple[int, int, str]] = ()) -> str:
    """Return head and tail of `text` with `mark` between them, at most `room` characters.

    Spans in `whole` are not cut through but left out: half a key would not be recognised by whoever stores the text.
    """
    left = max(0, room - len(mark))
    tail = int(left * _TAIL)
    head, rest = left - tail, len(text) - tail
    head = min((start for start, end, _ in whole if start < head < end), default=head)
    rest = max((end for start, end, _ in whole if start < rest < end), default=rest)
    return text[:head] + mark + text[rest:]


def _labels(attempt: Attempt, ran: Ran) -> frozenset[str]:
    """Pages of a kept result carry the labels that the result had."""
    if attempt.name != READ_RESULT:
        return ran.labels
    handle = attempt.arguments.value.get("handle")
    blob = attempt.around.state.get_blob(str(handle), session=attempt.call.session) if handle else None
    return ran.labels | (blob.labels if blob is not None else frozenset())


def _texts(attempt: Attempt, value: Any) -> tuple[str, str]:
    """Return the text of the whole value and of the part that the model reads."""
    whole = to_text(value)
    fields = attempt.known.keep
    if not fields or not isinstance(value, dict) or value.keys() <= set(fields):
        return whole, whole
    return whole, to_text({name: value[name] for name in fields if name in value})


def _cut(shown: str, whole: str, room: int, handle: str | None, redactor: Redactor) -> str:
    if handle is None:
        return shown
    where = f'remit.read_result with {{"handle": "{handle}", "page": 1}} reads it'
    if shown != whole:
        mark = f"\n[... these are some fields of a result of {len(whole)} characters; {where} ...]"
        return shown + mark if len(shown) + len(mark) <= room else cut(shown, room, mark, redactor.spans(shown))
    mark = f"{CUT_HERE} the result has {len(whole)} characters; {where} ...]\n"
    return cut(shown, room, mark, redactor.spans(shown))


def about_follow_ups(follow_ups: tuple[Result, ...]) -> str:
    """Return what the model reads of calls that the pack asked for, one line each."""
    lines = [f"\n[follow-up {result.skill}: {result.status}] {result.text[:200]}" for result in follow_ups]
    return "".join(lines)
