"""What a standing sign-off covers, as the options of `remit signoff approve --standing` say."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from remit.cli.signoff import lasting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.state.answering import StoredSignoff
    from remit.state.standing import StandingSignoff
    from remit_sandbox.signoff import SignoffRequest


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
    from remit.pipeline.covering import LASTS, USES, standing_for

    return standing_for(
        request,
        nonce=asked.nonce,
        by=by,
        channel=channel,
        uses=USES if options.uses is None else options.uses,
        lasts=options.lasts or LASTS,
        fixed=_fixed(options),
    )


def _fixed(options: argparse.Namespace) -> tuple[str, ...] | None:
    """Return the names of the arguments that must be the same; None where nothing was said."""
    if options.any_arguments:
        return ()
    if options.fixed is None:
        return None
    names = tuple(name.strip() for name in options.fixed.split(",") if name.strip())
    if not names:
        raise UsageError("--fixed names no argument", remedy="--any-arguments")
    return names


def scope(standing: StandingSignoff | None) -> str:
    """Return in words what a standing sign-off covers; empty for none."""
    if standing is None:
        return ""
    from remit.pipeline.render import visible

    pattern = standing.pattern
    what = f"with the same {', '.join(map(visible, pattern.fields))}" if pattern.fields else "with any arguments"
    lasts = lasting(standing.expires - time.time() + 1)
    return f"allows {visible(pattern.skill)} {what}, {standing.uses} more times, for {lasts}, until it is upgraded"
