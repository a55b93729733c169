"""`remit log prune` and `remit log erase`: what people said does not stay for ever, the proof does."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from remit.account import account
from remit.cli import screen
from remit.cli.log_filters import session_of
from remit.cli.opening import add_action, add_folder, add_json, agreed, whole
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.keeping import LogConfig
    from remit.state.retention import Removal, Selection, Why
    from remit.state.store import State


def configure(actions: Any) -> None:
    """Describe both actions."""
    pruning = add_action(
        actions,
        "prune",
        "remove payloads, transcripts and results that are too old or too many",
        "remit log prune --dry-run\nremit log prune\nremit log prune --keep-days 90 --keep-mb 500",
    )
    pruning.add_argument("--keep-days", type=float, metavar="DAYS", help="instead of keep_days in [log]")
    pruning.add_argument("--keep-mb", type=float, metavar="MB", help="instead of keep_mb in [log]")
    pruning.add_argument("--shrink", action="store_true", help="rewrite the file smaller; others wait meanwhile")
    pruning.add_argument("--dry-run", action="store_true", help="only say what would go")
    erasing = add_action(
        actions,
        "erase",
        "erase what one person said and got; the log still verifies",
        "remit log erase --who ada --dry-run\nremit log erase --who ada --session 1f3a --yes",
    )
    erasing.add_argument("--who", required=True, metavar="PRINCIPAL", help="whose, as `remit log list` shows it")
    erasing.add_argument("--session", metavar="ID", help="only what belongs to this session")
    erasing.add_argument(
        "--fast", action="store_true", help="do not rewrite the file, while others wait; traces stay in its free pages"
    )
    erasing.add_argument("--yes", action="store_true", help="do not ask")
    erasing.add_argument("--dry-run", action="store_true", help="only say what would go")
    for action, run in ((pruning, prune), (erasing, erase)):
        add_folder(action)
        add_json(action)
        action.set_defaults(action=run)


def prune(options: argparse.Namespace) -> int:
    """Remove what is older than `keep_days`, then the oldest of what is beyond `keep_mb`; 0 also for nothing."""
    from remit.cli.log import opened_state
    from remit.state.retention import DAY, Selection, before_size

    days, megabytes = _kept(options)
    with opened_state(options.folder) as state:
        cut: tuple[tuple[Why, float | None], ...] = (
            ("age", None if days is None else time.time() - days * DAY),
            ("size", None if megabytes is None else before_size(state.database, megabytes)),
        )
        done = [_removed(state, Selection(before=before), why, options) for why, before in cut if before is not None]
        _finish(state, options, [removal for removal in done if not removal.nothing], rewrite=options.shrink)
    return 0


def erase(options: argparse.Namespace) -> int:
    """Erase one person's payloads, transcripts, results and cached results; 1 when nobody agreed."""
    from remit.cli.log import opened_state
    from remit.state.retention import Selection, would_remove
    from remit.state_folder import data_folders

    who = whole(options.who)
    if not who:
        raise UsageError("--who is empty", remedy="write the name that `remit log list` shows")
    with opened_state(options.folder) as state:
        session = session_of(state, options.session) if options.session else ""
        selection = Selection(who=who, session=session)
        planned = would_remove(state.database, selection)
        if planned.nothing or options.dry_run:
            _say([planned] if not planned.nothing else [], options, dry=True)
            return 0
        if not options.json:
            screen.say(f"of {screen.visible(who)}{f' in session {screen.visible(session)}' if session else ''}:")
            screen.say(in_words(planned))
            screen.say("The records stay, with what was decided and done.\nWhat is erased does not come back.")
        for folder in data_folders(state.folder, who):
            screen.warn(f"not touched: what pack {screen.visible(folder.parent.name)} keeps for itself in {folder}")
        if not agreed("Erase this?", yes=options.yes):
            screen.warn("nothing was erased")
            return 1
        done = _removed(state, selection, "person", options)
        _finish(state, options, [done], rewrite=not options.fast)
    return 0


def in_words(removal: Removal) -> str:
    """Return what is removed, one kind a line."""
    lines = (
        (removal.payloads, "payloads of records"),
        (removal.sessions, "transcripts"),
        (removal.results, "whole results"),
        (removal.cached, "cached results"),
        (removal.requests, "sign-off requests, what they showed"),
        (removal.facts, "facts that are remembered"),
    )
    found = [f"  {count:>8}  {what}" for count, what in lines if count]
    size, unit = (removal.bytes / 1e6, "megabytes") if removal.bytes >= 1e5 else (removal.bytes / 1e3, "kilobytes")
    return "\n".join([*found, f"  {size:>8.1f}  {unit}"])


def _removed(state: State, selection: Selection, why: Why, options: argparse.Namespace) -> Removal:
    """Remove a selection; the record that says so is on the disk first."""
    from remit.state.retention import remove, would_remove

    planned = would_remove(state.database, selection)
    if planned.nothing or options.dry_run:
        return planned
    event = "log.erased" if why == "person" else "log.pruned"
    about = {**selection.announced(), "why": why, "by": account(), "planned": vars(planned)}
    return remove(state.database, selection, why=why, announced=state.append(event, body=about))


def _finish(state: State, options: argparse.Namespace, done: list[Removal], *, rewrite: bool) -> None:
    from remit.state import retention

    if done and not options.dry_run:
        if rewrite:
            retention.rewrite(state.database)
        if not retention.empty_wal(state.database):
            screen.warn("somebody reads the log at the moment; older pages stay in state.db-wal until they have ended")
    _say(done, options, dry=options.dry_run)


def _say(done: list[Removal], options: argparse.Namespace, *, dry: bool) -> None:
    if options.json:
        screen.say_json({"dry_run": dry, "removed": [vars(removal) for removal in done]})
    elif not done:
        screen.say("nothing to remove")
    else:
        screen.say("would be removed:" if dry else "removed:")
        for removal in done:
            screen.say(in_words(removal))


def _kept(options: argparse.Namespace) -> tuple[float | None, float | None]:
    """Return for how many days and how many megabytes payloads are kept.

    Raises:
        UsageError: nothing says so, or it is no number above 0.
    """
    given = (options.keep_days, options.keep_mb)
    if any(value is not None and not 0 < value < 1e9 for value in given):
        raise UsageError("--keep-days and --keep-mb take a number above 0")
    if given != (None, None):
        return given
    log = _configured(options.folder)
    if log.keep_days is None and log.keep_mb is None:
        remedy = "write keep_days = 90 under [log] in remit.toml, or give --keep-days 90"
        raise UsageError("nothing says for how long payloads are kept", remedy=remedy)
    return log.keep_days, log.keep_mb


def _configured(folder: str) -> LogConfig:
    """Return `[log]` of a deployment that somebody has accepted: a foreign remit.toml removes nothing."""
    from remit.deployment.deployment import Deployment

    with Deployment.open(folder) as deployment:
        return deployment.config.log
