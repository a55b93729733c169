"""What a standing sign-off covers, as the options of `remit signoff approve --standing` say."""

from __future__ import annotations

import argparse
import re
import time
from typing import TYPE_CHECKING

from remit.cli.signoff import lasting
from remit.errors import DeniedCall, UsageError

if TYPE_CHECKING:
    from remit.state.answering import StoredSignoff
    from remit.state.standing import StandingSignoff
    from remit_sandbox.signoff import SignoffRequest

_LENGTH = re.compile(r"([1-9]\d{0,4})\s?([mhdw])")
_UNITS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_LONGEST = 366 * 86_400.0
_MOST_USES = 10_000


def add_scope(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument_group("standing sign-offs").add_argument
    add("--uses", type=int, default=None, metavar="N", help="for so many further calls (default: 10)")
    add("--for", dest="lasts", default=None, metavar="TIME", help="for so long: 30m, 12h, 7d, 4w (default: 7d)")
    add("--fixed", default=None, metavar="NAMES", help="arguments that must be the same (default: the targets)")
    add("--any-arguments", action="store_true", help="no argument must be the same")


def standing_of(
    options: argparse.Namespace, asked: StoredSignoff, request: SignoffRequest, *, by: str, channel: str
) -> StandingSignoff | None:
    """Return the standing sign-off that the options describe, None for none.

    Raises:
        UsageError: the options do not fit.
        DeniedCall: the action may not be covered by one.
    """
    if not options.standing:
        if options.uses is not None or options.lasts or options.fixed or options.any_arguments:
            raise UsageError("--uses, --for, --fixed and --any-arguments belong to --standing")
        return None
    from remit.state.standing import Pattern, StandingSignoff

    if request.impact or request.approvers > 1 or request.verdict != "ask":
        why = ", ".join(request.impact) or request.source
        raise DeniedCall(f"{asked.skill} must be signed off each time ({why}): there is no standing sign-off for it")
    uses = 10 if options.uses is None else options.uses
    if not 1 <= uses <= _MOST_USES:
        raise UsageError(f"--uses takes a number from 1 to {_MOST_USES}")
    pattern = Pattern.of(request.action, source=request.source, fields=_fixed(options, request))
    return StandingSignoff(
        pattern=pattern,
        given=uses,
        uses=uses,
        expires=time.time() + _seconds(options.lasts or "7d"),
        by=by,
        channel=channel,
        nonce=asked.nonce,
    )


def _fixed(options: argparse.Namespace, request: SignoffRequest) -> tuple[str, ...]:
    """Return the names of the arguments that a standing sign-off fixes: the targets, or else all."""
    if options.any_arguments:
        return ()
    given = tuple(request.action.arguments)
    if options.fixed is not None:
        names = tuple(name.strip() for name in options.fixed.split(",") if name.strip())
        unknown = [name for name in names if name not in given]
        if unknown or not names:
            which = f"the call has no argument {unknown[0]!r}" if unknown else "--fixed names no argument"
            raise UsageError(which, remedy=f"its arguments: {', '.join(given) or 'none'}; or --any-arguments")
    else:
        names = request.targets or given
    secret = sorted(set(names) & set(request.secret))
    if secret:
        raise UsageError(f"the value of {secret[0]} is secret and is not kept", remedy="name others with --fixed")
    return names


def _seconds(text: str) -> float:
    found = _LENGTH.fullmatch(text.strip().lower())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= _LONGEST:
        raise UsageError(
            f"--for {text[:40]!r} is no length of time up to a year", remedy="write it as 30m, 12h, 7d or 4w"
        )
    return seconds


def scope(standing: StandingSignoff | None) -> str:
    """Return in words what a standing sign-off covers; empty for none."""
    if standing is None:
        return ""
    from remit.pipeline.render import visible

    pattern = standing.pattern
    what = f"with the same {', '.join(map(visible, pattern.fields))}" if pattern.fields else "with any arguments"
    lasts = lasting(standing.expires - time.time() + 1)
    return f"allows {visible(pattern.skill)} {what}, {standing.uses} more times, for {lasts}, until it is upgraded"
