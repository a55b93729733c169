"""`remit signoff approve|deny`: an answer, with the digest of what was read or after a look at it."""

from __future__ import annotations

import argparse
import contextlib
import hmac
import os
import sys
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.log import opened_state
from remit.cli.opening import add_action, add_folder, add_json, typed, whole
from remit.cli.signoff import SHOWN_ID, described, facts, progress
from remit.cli.signoff_scope import add_scope, scope, standing_of
from remit.errors import DeniedCall, UsageError

if TYPE_CHECKING:
    from remit.state.answering import StoredSignoff
    from remit.state.standing import StandingSignoff
    from remit.state.store import State
    from remit_sandbox.signoff import Answer, SignoffDecision, SignoffState

TOKEN = "REMIT_SIGNOFF_TOKEN"
"""The environment variable that holds an approver's token."""

_APPROVES = ("a", "approve")


def configure(actions: Any) -> None:
    """Describe the actions."""
    approving = add_action(
        actions,
        "approve",
        "let one call run, exactly as it was asked",
        "remit signoff approve 4f1c09\nremit signoff approve 4f1c09 --digest 3b0c... (without a terminal)\n"
        "remit signoff approve 4f1c09 --standing --uses 5 --for 2d --fixed to,subject",
    )
    add_answering(approving)
    how = approving.add_mutually_exclusive_group()
    how.add_argument("--session", action="store_true", help="also for the rest of its session, with the same targets")
    how.add_argument("--standing", action="store_true", help="also for calls to come, as the options below say")
    add_scope(approving)
    approving.set_defaults(action=approve)
    denying = add_action(
        actions, "deny", "refuse one call; the model is told why", 'remit signoff deny 4f1c09 --reason "wrong address"'
    )
    add_answering(denying)
    denying.add_argument("--reason", default="", help="why; the model reads it")
    denying.add_argument("--stop", action="store_true", help="the run ends with that")
    denying.set_defaults(action=deny)


def add_answering(parser: argparse.ArgumentParser) -> None:
    """Add what every answer takes: an id, a digest, a name, and where."""
    parser.add_argument("id", help="the id of the request, or the beginning of it")
    parser.add_argument("--digest", metavar="HEX", help="the digest of what you have read, as `show` prints it")
    parser.add_argument("--as", dest="name", metavar="NAME", help=f"answer under this name; its token is in {TOKEN}")
    add_folder(parser)
    add_json(parser)


def approve(options: argparse.Namespace) -> int:
    """Show what is asked, ask, and approve; on a terminal Enter leaves it unanswered."""
    from remit.pipeline.question import for_session

    with opened_state(options.folder) as state:
        asked = answerable(state, options.id)
        request = asked.rebuilt()
        by, channel = who_answers(state, options.name)
        standing = standing_of(options, asked, request, by=by, channel=channel)
        if options.session and not for_session(request):
            raise UsageError(
                "--session is for calls that only ask and have no impact; this one is signed off each time"
            )
        shown = described(asked, columns=screen.columns(sys.stdout))
        if not agreed_to(asked, shown, options.digest, further=scope(standing)):
            return left(asked)
        answer: Answer = "session" if options.session else "standing" if standing is not None else "once"
        given = decision(answer, asked, by=by, channel=channel)
        after, why_not = state.give_answer(asked, given, standing=standing)
        if why_not:
            raise refused(asked, why_not)
        return tell(state, asked, after, standing=standing, as_json=options.json)


def deny(options: argparse.Namespace) -> int:
    """Refuse a request."""
    with opened_state(options.folder) as state:
        asked = answerable(state, options.id)
        check_digest(asked, options.digest)
        by, channel = who_answers(state, options.name)
        given = decision(
            "stop" if options.stop else "deny", asked, by=by, channel=channel, reason=whole(options.reason)
        )
        after, why_not = state.give_answer(asked, given)
        if why_not:
            raise refused(asked, why_not)
        return tell(state, asked, after, as_json=options.json)


def answerable(state: State, start: str) -> StoredSignoff:
    """Return the request whose id begins so, where it still waits for an answer.

    Raises:
        UsageError: there is none.
        DeniedCall: it was answered, used, or has lapsed.
    """
    asked = state.signoff(start)
    if asked.state == "pending":
        return asked
    if asked.state == "expired":
        raise DeniedCall(
            f"request {asked.nonce[:SHOWN_ID]} has lapsed, which counts as a denial",
            remedy="a run that goes on asks anew: remit sessions resume SESSION",
        )
    who, short = (asked.decision or {}).get("by") or "somebody", asked.nonce[:SHOWN_ID]
    if progress(asked) == "denied as edited":
        raise DeniedCall(
            f"request {short} was edited by {who}, and another one took its place",
            remedy="remit signoff list shows what waits",
        )
    words = {"consumed": f"was approved by {who}, and its call has run", "approved": f"was approved by {who} already"}
    takes = "revoke" if asked.state == "approved" else "show"
    remedy = f"remit signoff {takes} {short} " + ("takes that back" if takes == "revoke" else "shows the answer")
    raise DeniedCall(f"request {short} {words.get(asked.state, f'was denied by {who}')}", remedy=remedy)


def who_answers(state: State, name: str | None) -> tuple[str, str]:
    """Return who answers and over which channel: this account, or the name that a token proves.

    Raises:
        UsageError: there is no token.
        DeniedCall: it is not the token of that name.
    """
    from remit.pipeline.terminal import person
    from remit_sandbox.signoff import same_person

    if name is None:
        if os.environ.get(TOKEN, ""):
            screen.warn(screen.visible(f"note: {TOKEN} is set and not used without --as: {person()} answers"))
        return person(), "terminal" if sys.stdin.isatty() else "command"
    token = os.environ.get(TOKEN, "")
    if not token and sys.stdin.isatty():
        import getpass

        token = getpass.getpass(f"token of {name}: ")
    if not token:
        raise UsageError(f"--as {name} needs a token in {TOKEN}", remedy=f"remit signoff people --add {name}")
    found = state.token_holder(token)
    if found is None or not same_person(found.name, name):
        raise DeniedCall(
            f"the token is not that of {name}",
            remedy=f"remit signoff people (who has one)\nor: remit signoff people --add {name} (a new one)",
        )
    if "approver" not in found.roles:
        roles = ", ".join(sorted(found.roles))
        raise DeniedCall(
            f"{found.name} may not answer: that takes the role approver, and the token has {roles}",
            remedy=f"remit signoff people --add {found.name} (a new token, with that role too)",
        )
    return found.name, "token"


def agreed_to(asked: StoredSignoff, text: str, digest: str | None, *, further: str = "") -> bool:
    """Return whether the person agrees: by the digest of what they read, or on a terminal after reading `text`.

    Raises:
        UsageError: there is neither.
        DeniedCall: the digest is that of something else.
    """
    if digest is not None:
        check_digest(asked, digest)
        return True
    if not sys.stdin.isatty():
        raise UsageError(
            "without a terminal an approval must name the digest of what was read",
            remedy=f"remit signoff show {asked.nonce[:SHOWN_ID]}",
        )
    screen.say(text)
    if further:
        from remit.pipeline.rows import rows

        screen.say("\n".join(rows("then", [further], screen.columns(sys.stdout), words=True)))
    _forget_typed()
    try:
        answer = typed("Approve? [a] approve, anything else leaves it unanswered: ").strip()
    except EOFError:
        return False
    if answer.casefold() in _APPROVES and answer not in _APPROVES:
        screen.warn(f"{answer} is not {answer.casefold()}: only what the question names approves")
    return answer in _APPROVES


def check_digest(asked: StoredSignoff, digest: str | None) -> None:
    """Raise DeniedCall when a digest was given that is not that of the request."""
    if digest is not None and not hmac.compare_digest(digest.strip().lower().encode(), asked.digest.encode()):
        raise DeniedCall(
            f"the digest is not that of request {asked.nonce[:SHOWN_ID]}: what you read is not what is asked",
            remedy=f"remit signoff show {asked.nonce[:SHOWN_ID]}",
        )


def decision(answer: Answer, asked: StoredSignoff, *, by: str, channel: str, reason: str = "") -> SignoffDecision:
    """Return an answer to `asked`."""
    from remit_sandbox.signoff import SignoffDecision

    return SignoffDecision(answer=answer, digest=asked.digest, reason=reason[:500], by=by, channel=channel)


def refused(asked: StoredSignoff, why: str) -> DeniedCall:
    """Return the error that says why an answer did not count."""
    short = asked.nonce[:SHOWN_ID]
    several = f"remit signoff approve {short} --as NAME, by that person (remit signoff people shows who has a token)"
    remedy = several if asked.approvers > 1 else f"remit signoff show {short}"
    return DeniedCall(f"request {short} is as it was: {why}", remedy=remedy)


def left(asked: StoredSignoff) -> int:
    """Say that nothing was answered; return the exit code."""
    screen.warn(f"unanswered: request {asked.nonce[:SHOWN_ID]} still waits; remit signoff deny refuses it")
    return 1


def tell(
    state: State,
    asked: StoredSignoff,
    after: SignoffState,
    *,
    standing: StandingSignoff | None = None,
    as_json: bool = False,
) -> int:
    """Print what came of an answer and what happens next; return the exit code."""
    now = state.signoff(asked.nonce)
    if as_json:
        screen.say_json({**facts(now), "standing": standing.id if standing is not None else None})
        return 0
    name, answer = screen.visible(asked.skill), (now.decision or {}).get("answer")
    if after == "pending":
        screen.say(f"approved by {len(now.people)} of {now.approvers}: {name} waits for another person")
        return 0
    covers = {"once": ", for this one call", "session": f", and with the same targets in session {now.session}"}
    screen.say(f"{after}: {name}" + screen.visible(covers.get(str(answer), "") if after == "approved" else ""))
    if standing is not None:
        screen.say(f"standing sign-off {standing.id}: {scope(standing)}")
    screen.next_step(_next(state, asked))
    return 0


def _next(state: State, asked: StoredSignoff) -> str:
    """Return how the run hears of the answer: some go on by themselves, and with some calls none goes on any more."""
    from remit.loop.parked import goes_on_with

    saved, root = state.load_session(asked.session), state.root_of(asked.session)
    if _waits_now(state, asked, root):
        return f"nothing; the run in session {root} waited for the answer and goes on by itself"
    if saved is not None and goes_on_with(saved, asked):
        return f"remit sessions resume {root}"
    return f"the answer holds for session {asked.session}, which asks no more by itself: call the skill there again"


def _waits_now(state: State, asked: StoredSignoff, root: str) -> bool:
    """Tell whether a run waits for the answer in another process; one that was parked has ended."""
    if not state.leased_elsewhere(root):
        return False
    questions = state.records(session=asked.session, event="signoff.asked", call=asked.call)
    return not any(one.body.get("parked") and one.body.get("nonce") == asked.nonce for one in questions)


def _forget_typed() -> None:
    """What was typed before the question was shown is no answer to it."""
    try:
        import termios
    except ImportError:  # no POSIX system
        return
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
