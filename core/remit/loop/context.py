"""What fits into a model's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit.models.estimate import tokens
from remit.models.protocol import Message

ROOM = 8
"""The part of a context that is kept for a reply whose limit is not known: one in so many."""

MARK = "[{count} earlier messages were left out, because they do not fit into the context.]"


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Messages that fit, how many were left out, and an estimate of the tokens of those that stay."""

    messages: tuple[Message, ...]
    left_out: int = 0
    tokens: int = 0


def fit(messages: Sequence[Message], budget: int | None) -> Fitted:
    """Return the messages that fit into `budget` tokens; None keeps all.

    The person's latest message, what the last round brought and everything after it always stay.
    The oldest rounds go first, and a call goes together with its result.
    """
    total = sum(map(tokens, messages))
    if budget is None or total <= budget:
        return Fitted(messages=tuple(messages), tokens=total)
    kept: list[list[Message]] = []
    dropped = 0
    rounds = _rounds(messages)
    latest = max((n for n, r in enumerate(rounds) if r[0].origin == "person" and r[0].role == "user"), default=-1)
    last = max((n for n, r in enumerate(rounds) if r[0].role == "assistant"), default=-1)
    for number, group in enumerate(rounds):
        if total > budget and number != latest and number < max(last, latest):
            total -= sum(map(tokens, group))
            dropped += len(group)
        else:
            kept.append(group)
    mark = Message(role="user", content=MARK.format(count=dropped), origin="loop")
    shown = (*([mark] if dropped else ()), *(message for group in kept for message in group))
    return Fitted(messages=shown, left_out=dropped, tokens=total)


def _rounds(messages: Sequence[Message]) -> list[list[Message]]:
    """Return `messages` in groups: a message, with the results of its calls."""
    rounds: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and rounds:
            rounds[-1].append(message)
        else:
            rounds.append([message])
    return rounds
