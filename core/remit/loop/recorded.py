"""What the log says of a run and its turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit.loop.asking import Turn
from remit.loop.terms import Terms


def run_body(model: str, terms: Terms, *, resumed: bool) -> dict[str, Any]:
    """Return what is recorded of a run's beginning; a run that goes on later has the same skills.

    Args:
        model: name of the one that is asked first.
        terms: of the run.
        resumed: it goes on with a session, without a new question.
    """
    body: dict[str, Any] = {"model": model}
    if resumed:
        body["resumed"] = True
    if terms.skills is not None:
        body["skills"] = sorted(terms.skills)
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
    if reply.cost is not None:
        body["cost"] = reply.cost
    if turn.fallback:
        body["fallback"] = turn.model
    return body


def turn_said(turn: Turn, *, raw: bool) -> Mapping[str, Any]:
    """Return what is recorded of a turn until that is erased; `raw` adds the answer as it came."""
    errors = list(turn.heard.errors)
    if not raw:
        return {"text": turn.heard.text, "errors": errors}
    return {"text": turn.reply.text, "errors": errors, "raw": turn.reply.received.decode("utf-8", "replace")}
