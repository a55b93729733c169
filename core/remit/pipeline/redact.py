"""Arguments as they may stand in a record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from remit.pipeline.attempt import Attempt

HIDDEN = "[not recorded]"
_LONGEST = 20_000


def redacted(arguments: Mapping[str, Any], secret: frozenset[str]) -> dict[str, Any]:
    """Return `arguments` with the values of secret ones left out, and long texts cut."""
    return {name: HIDDEN if name in secret else _short(value) for name, value in arguments.items()}


def proposed_body(attempt: Attempt) -> dict[str, Any]:
    """Return what `call.proposed` says: who asked for what, before anything was checked."""
    call = attempt.call
    return {
        "written": call.skill[:200],
        "arguments": _arguments(attempt),
        "arguments_size": len(call.arguments),
        "step": call.step,
        "asked_by": call.asked_by,
        "parent": call.parent,
        "principal": attempt.around.principal,
        "agent": attempt.around.agent,
        "repaired": call.repaired,
    }


def _arguments(attempt: Attempt) -> Any:
    skill, text = attempt.skill, attempt.call.arguments
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return redacted(value, skill.secret_arguments if skill is not None else frozenset())
    if skill is not None and skill.secret_arguments:
        return HIDDEN
    return _short(text)


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) <= _LONGEST:
        return value
    hashed = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return {"start": text[:_LONGEST], "size": len(text), "sha256": hashed}
