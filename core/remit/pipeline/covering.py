"""What a standing sign-off covers that a person gives with the answer to a request."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from remit.argument_paths import is_covered, standing_at
from remit.errors import DeniedCall, UsageError
from remit.skills import Skill
from remit.state.standing import Pattern, StandingSignoff
from remit_sandbox.signoff import SignoffRequest

USES = 10
"""Calls that one covers where nothing is said."""

LASTS = "7d"
"""How long one lasts where nothing is said."""

_LENGTH = re.compile(r"([1-9]\d{0,4})\s?([mhdw])")
_UNITS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_LONGEST = 366 * 86_400.0
_MOST_USES = 10_000


def standing_for(
    request: SignoffRequest,
    *,
    nonce: str,
    by: str,
    channel: str,
    uses: int = USES,
    lasts: str = LASTS,
    fixed: Sequence[str] | None = None,
) -> StandingSignoff:
    """Return the standing sign-off that covers calls like this one.

    Args:
        request: the call that is asked about.
        nonce: id of the request.
        by: who gives it.
        channel: where.
        uses: for so many further calls.
        lasts: for so long: `30m`, `12h`, `7d`, `4w`.
        fixed: names of the arguments that must be the same; None for the targets (or all where there are none),
            empty for no argument at all.

    Raises:
        UsageError: one of these does not fit.
        DeniedCall: the call must be signed off each time.
    """
    if request.impact or request.approvers > 1 or request.verdict != "ask":
        why, skill = ", ".join(request.impact) or request.source, request.action.skill
        raise DeniedCall(f"{skill} must be signed off each time ({why}): there is no standing sign-off for it")
    if not 1 <= uses <= _MOST_USES:
        raise UsageError(f"uses: a number from 1 to {_MOST_USES}")
    return StandingSignoff(
        pattern=Pattern.of(request.action, source=request.source, fields=_fields(request, fixed)),
        given=uses,
        uses=uses,
        expires=time.time() + seconds_of(lasts),
        by=by,
        channel=channel,
        nonce=nonce,
    )


def _fields(request: SignoffRequest, fixed: Sequence[str] | None) -> tuple[str, ...]:
    given = tuple(request.action.arguments)
    unknown = next((name for name in fixed or () if not any(standing_at(request.action.arguments, name))), None)
    if unknown is not None:
        raise UsageError(f"the call has no argument {unknown!r}", remedy=f"its arguments: {', '.join(given) or 'none'}")
    names = tuple(fixed) if fixed is not None else request.targets or given
    secret = sorted(name for name in request.secret if any(is_covered(way, [name]) for way in names))
    if secret:
        raise UsageError(f"the value of {secret[0]} is secret and is not kept", remedy="fix other arguments")
    return names


def seconds_of(text: str) -> float:
    """Return a length of time in seconds. Raises UsageError."""
    found = _LENGTH.fullmatch(text.strip().lower())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= _LONGEST:
        raise UsageError(f"{text[:40]!r} is no length of time up to a year", remedy="write it as 30m, 12h, 7d or 4w")
    return seconds


def void_of(one: StandingSignoff, skills: Mapping[str, Skill], policy: str) -> str:
    """Return why a standing sign-off covers nothing any more, as skills and policy are now; empty when it does."""
    skill = skills.get(one.pattern.skill)
    version, hash_ = (skill.version, skill.hash) if skill is not None else ("", "")
    return one.pattern.void(version=version, skill_hash=hash_, policy=policy)


def facts_of(one: StandingSignoff, void: str) -> dict[str, Any]:
    """Return a standing sign-off for JSON.

    Args:
        one: the standing sign-off.
        void: as `void_of` returns it.
    """
    pattern = one.pattern
    return {
        "id": one.id,
        "state": "void" if void and one.state == "active" else one.state,
        "void": void,
        "skill": pattern.skill,
        "version": pattern.version,
        "principal": pattern.principal,
        "source": pattern.source,
        "fixed": json.loads(pattern.fixed),
        "fields": list(pattern.fields),
        "resolved": dict(pattern.resolved),
        "uses": one.uses,
        "given": one.given,
        "created": one.created,
        "expires": one.expires,
        "by": one.by,
        "channel": one.channel,
        "request": one.nonce,
    }
