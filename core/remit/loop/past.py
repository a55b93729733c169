"""What a run was before it is gone on with: its counts, read from the transcript, the only truth about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.loop.guards import Guards
from remit.loop.interpreter import Names
from remit.loop.replying import Replies
from remit.loop.sameness import value_of
from remit.loop.wording import CLOSING, CUT, EMPTY, UNREADABLE
from remit.models.protocol import Message, ToolCall
from remit.values import Result, Status

NOT_READ = UNREADABLE.partition("{errors}")[0]


@dataclass(kw_only=True)
class Past:
    """Where a run was left.

    Attributes:
        steps: model turns that it has had.
        said: the last that the model said.
        called: full names of the skills that it called.
        closing: why the model may only answer; empty while it may call.
    """

    steps: int = 0
    said: str = ""
    called: set[str] = field(default_factory=set)
    closing: str = ""


def replay(
    messages: Sequence[Message], *, guards: Guards, replies: Replies, names: Names, begin: int | None = None
) -> Past:
    """Let `guards` and `replies` count again what they had counted when the run was left; return the rest.

    Args:
        messages: of the session. A round without all its results is left to the run itself.
        guards, replies: of the run that goes on.
        names: full names of skills by those in the transcript.
        begin: how many messages there were before the run; None where it began with the person's last question.
    """
    past = Past()
    said: Message | None = None
    before = ""
    start = _begin(messages) if begin is None else begin
    first = _round_of(messages, start)
    for number, message in enumerate(messages[first:], first):
        if message.role == "assistant":
            past.steps += number >= start
            before, said = past.said, message
            past.said = message.content if message.content.strip() else past.said
            if message.calls:
                said = None
                results = results_of(messages, number, names)
                past.called |= {result.skill for result in results}
                if len(results) == len(message.calls):
                    guards.round(message.calls, results)
        elif message.origin == "loop":
            if message.content.startswith(NOT_READ):
                past.said = before  # what stands there is what could not be read
            _told(message.content, said, past, replies)
            said = None
    return past


def results_of(messages: Sequence[Message], number: int, names: Names) -> tuple[Result, ...]:
    """Return the results that a message's calls have, as far as the transcript tells."""
    skills = {call.id: names.full(call.named or call.name) for call in messages[number].calls}
    found = []
    for message in messages[number + 1 :]:
        if message.role != "tool":
            break
        found.append(result_of(message, skills[message.call_id]))
    return tuple(found)


def result_of(message: Message, skill: str) -> Result:
    """Return the result that a `tool` message tells of."""
    status: Status = message.status  # type: ignore[assignment]
    return Result(
        call=message.call_id,
        skill=skill,
        status=status,
        text=message.content,
        value=value_of(message.content, structured=message.structured) if status == "ok" else None,
        labels=frozenset(message.labels),
    )


def last_round(messages: Sequence[Message]) -> tuple[int, tuple[ToolCall, ...]]:
    """Return place and calls of the last message that has calls."""
    for number in range(len(messages) - 1, -1, -1):
        if messages[number].calls:
            return number, messages[number].calls
    return 0, ()


def _round_of(messages: Sequence[Message], start: int) -> int:
    """Return the place of the message whose calls a run found open when it began, and made; else `start`."""
    place = start
    while 0 < place < len(messages) and messages[place].role == "tool":
        place -= 1
    return place


def _begin(messages: Sequence[Message]) -> int:
    asked = (number for number in range(len(messages) - 1, -1, -1) if messages[number].asks)
    return next(asked, 0)


def _told(note: str, said: Message | None, past: Past, replies: Replies) -> None:
    """Count what the loop had told; `said` is the reply in words before it."""
    before, _, after = CLOSING.partition("{reason}")
    if note.startswith(before) and note.endswith(after):
        past.closing = note[len(before) : len(note) - len(after)]
    elif note == CUT:
        past.steps += said is None
        replies.cut()
    elif note.startswith(EMPTY):
        past.steps += said is None
        replies.empty()
    elif note.startswith(NOT_READ):
        replies.unreadable((), kept="")
    elif said is not None:
        replies.words(said.content, called=past.called, may_call=not past.closing)
