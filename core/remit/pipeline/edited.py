"""A call whose arguments a person changed before approving it: what runs is what the person wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from remit.packs.arguments import Checked, Rejected
from remit.pipeline.asking import action_of, people_needed
from remit.pipeline.attempt import Attempt
from remit.pipeline.convert import convert
from remit.pipeline.decide import decide
from remit.pipeline.doubts import in_doubt
from remit.pipeline.render import visible, visible_json
from remit.pipeline.validate import arguments_of
from remit.state.answering import StoredSignoff
from remit.values import VERDICTS, Result
from remit_sandbox.signoff import Action, SignoffRequest

_LONGEST = 300


async def take_edit(attempt: Attempt, action: Action) -> tuple[bool, Result | None]:
    """Put the arguments that a person approved in the place of those that the model asked for.

    They are checked, decided and converted again, and run only as the very action that was approved;
    an edit that does not fit any more is passed over, and the question is asked anew.

    Returns:
        Whether there was such an edit, and the result that ends the call, None to go on.
    """
    found = attempt.around.state.edit_of(attempt.call.session, action.digest)
    request = None if found is None else _rebuilt(found)
    if found is None or request is None:
        return False, None
    checked = arguments_of(attempt.known.schema).check(json.dumps(dict(request.action.arguments)))
    if isinstance(checked, Rejected):
        return False, None
    before, asked = attempt.checked, attempt.decision
    attempt.checked = checked
    if action_of(attempt).digest != found.action or found.approvers < people_needed(attempt):
        attempt.checked = before
        return False, None
    ended = await decide(attempt)
    if ended is None and _stricter(attempt, request):
        attempt.checked, attempt.decision = before, asked
        return False, None
    _note(attempt, found, action, before)
    if ended is None:
        attempt.request = request
        ended = await in_doubt(attempt) or await convert(attempt)
    return True, ended


def _rebuilt(found: StoredSignoff) -> SignoffRequest | None:
    from remit.errors import StateError

    try:
        return found.rebuilt()
    except StateError:
        return None


def _stricter(attempt: Attempt, request: SignoffRequest) -> bool:
    """Tell whether the verdict on the edited call asks for more than the approval gives."""
    verdict = attempt.decision.verdict if attempt.decision is not None else "deny"
    return VERDICTS.index(verdict) > VERDICTS.index(request.verdict)


def _note(attempt: Attempt, found: StoredSignoff, action: Action, before: Checked | None) -> None:
    person = str((found.decision or {}).get("by", "")) or "a person"
    old = before.value if before is not None else {}
    changes = changed(old, attempt.arguments.value, attempt.known.secret_arguments)
    attempt.edited = f"{visible(person)} changed the arguments before approving the call: {'; '.join(changes)}."
    attempt.notes.append("its arguments were changed by a person")
    body = {"for": "edit", "nonce": found.nonce, "action": action.digest, "by": person}
    attempt.note("signoff.reused", body, {"arguments": attempt.shown_arguments})


def changed(old: Mapping[str, Any], new: Mapping[str, Any], secret: frozenset[str] = frozenset()) -> list[str]:
    """Return what differs between two sets of arguments, one line each, long values shortened."""
    lines = []
    for name in sorted(old.keys() | new.keys()):
        if name in old and name in new and visible_json(old[name]) == visible_json(new[name]):
            continue
        was, now = (_shown(values, name, secret) for values in (old, new))
        lines.append(f"{visible(name)}: {was} became {now}")
    return lines or ["nothing"]


def _shown(values: Mapping[str, Any], name: str, secret: frozenset[str]) -> str:
    if name not in values:
        return "not given"
    if name in secret:
        return "(secret)"
    text = visible_json(values[name])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
