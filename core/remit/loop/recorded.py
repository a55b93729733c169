"""What the log says of a run and its turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.loop.asking import Turn
from remit.loop.events import TurnEnded
from remit.loop.ports import Store
from remit.loop.terms import Terms
from remit.models.estimate import estimated
from remit.state.chain import Entry

if TYPE_CHECKING:
    from remit.loop.transcript import Transcript


def run_body(model: str, terms: Terms, *, resumed: bool, anew: int | None = None) -> dict[str, Any]:
    """Return what is recorded of a run's beginning; a run that goes on later has no other terms.

    Args:
        model: name of the one that is asked first.
        terms: of the run.
        resumed: it goes on with a session, without a new question.
        anew: messages that the session had, where the run gets its limits anew; None where it goes on with its counts.
    """
    body: dict[str, Any] = {"model": model}
    if resumed:
        body["resumed"] = True
    if anew is not None:
        body["anew"] = anew
    if terms.skills is not None:
        body["skills"] = sorted(terms.skills)
    if terms.required:
        body["required"] = list(terms.required)
    if terms.first != "auto":
        body["first"] = terms.first
    if terms.max_steps is not None:
        body["max_steps"] = terms.max_steps
    return body


def turn_body(turn: Turn) -> dict[str, Any]:
    """Return what is recorded of a turn for ever."""
    reply = turn.reply
    body: dict[str, Any] = {
        "model": reply.model or turn.model,
        "finish": reply.finish,
        "calls": [call.name for call in turn.heard.calls],
        "notes": list(reply.notes),
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "duration": turn.duration,
    }
    for name in ("cached_tokens", "cache_writes"):
        if count := getattr(reply.usage, name):
            body[name] = count
    if reply.cost is not None:
        body["cost"] = reply.cost
    if reply.usage.total_tokens is None:  # a run that goes on counts that, too
        body["estimated_tokens"] = estimated(turn.request, reply).total_tokens
    if turn.fallback:
        body["fallback"] = turn.model
    return body


def turn_said(turn: Turn, *, raw: bool) -> Mapping[str, Any]:
    """Return what is recorded of a turn until that is erased; `raw` adds the answer as it came."""
    errors = list(turn.heard.errors)
    if not raw:
        return {"text": turn.heard.text, "errors": errors}
    return {"text": turn.reply.text, "errors": errors, "raw": turn.reply.received.decode("utf-8", "replace")}


def turn_ended(turn: Turn, *, session: str, step: int) -> TurnEnded:
    """Return the event that tells of a turn."""
    reply = turn.reply
    return TurnEnded(
        session=session,
        step=step,
        text=turn.heard.text,
        calls=len(turn.heard.calls),
        usage=reply.usage,
        duration=turn.duration,
        notes=reply.notes,
        model=turn.model,
        cost=reply.cost,
    )


class Journal:
    """Writes down what happens in a session: records go with the session that is saved after them, in one transaction.

    So a log never has a turn that the session lacks, and the other way round.
    """

    def __init__(self, store: Store, session: str) -> None:
        """Take where it is written, and the id of the session."""
        self._store = store
        self._session = session
        self._waiting: list[Entry] = []

    def record(self, event: str, body: Mapping[str, Any], sealed: Mapping[str, Any]) -> None:
        """Record a turn, with texts apart; the session that is saved after it takes it along."""
        self._waiting.append(Entry(event=event, session=self._session, body=body, sealed=sealed))

    def save(self, transcript: Transcript, *, status: str, durable: bool) -> None:
        """Save the session; `durable` as for a `Store`."""
        messages, records = transcript.to_json(), tuple(self._waiting)
        self._store.save_session(self._session, messages, status=status, durable=durable, records=records)
        del self._waiting[: len(records)]
