"""`remit apply`: shows what an edit of `remit.toml` or a new version of a pack changes, and accepts it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.differing import show_changes
from remit.cli.opening import add_folder, add_json, agreed, warn_extension_problems, warn_problems
from remit.cli.waiting import waiting

if TYPE_CHECKING:
    from remit.deployment.applying import Application


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit apply
  remit apply --yes
  remit apply --json

Compares remit.toml, remit.lock and the installed packs and extensions with what was accepted. What gives no more is
accepted at once, and skills that did not change are locked again; what widens (+) or cannot be ranked (?) is asked.
`remit trust` accepts a deployment that nobody has accepted here yet; apply goes on from there.

exit codes: 0 applied, 4 something widens and was not accepted, 5 something cannot be ranked and was not accepted
"""
    parser.add_argument("--yes", action="store_true", help="accept what is shown")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=apply)


def apply(options: argparse.Namespace) -> int:
    """Show, ask where that is due, write."""
    from remit.deployment.applying import propose_apply

    with waiting("comparing"):
        found = propose_apply(options.folder)
    if not options.json:
        show(found)
    done = _apply(found, yes=options.yes, quiet=options.json)
    if options.json:
        changes = [{"rank": one.rank, "line": one.line} for one in found.changes.changes]
        problems = [vars(problem) for problem in (*found.problems, *found.unlocked)]
        screen.say_json(
            {
                "applied": done,
                "rank": found.changes.rank,
                "changes": changes,
                "waiting": [] if done else found.waiting,
                "problems": problems,
            }
        )
    return 0 if done else found.changes.exit_code


def show(found: Application) -> None:
    """Print every change, what widens first."""
    if found.standing.lock_gone:
        screen.warn("remit.lock is gone, so nothing tells what was locked; what is installed now would be locked anew")
        screen.next_step("take remit.lock back from version control, if that is not what you want")
    if found.config.changes:
        screen.say(screen.styled("remit.toml and remit.lock, since they were accepted:", "bold"))
        show_changes(found.config)
    for step in found.relocks:
        screen.say(screen.styled(screen.visible(f"pack {step.pack}, since it was locked:"), "bold"))
        show_changes(step.changes)
    for one in found.extensions:
        screen.say(screen.styled(screen.visible(f"extension {one.extension}, since it was locked:"), "bold"))
        show_changes(one.changes)
    warn_problems(found.problems)
    warn_extension_problems(found.unlocked)


def _apply(found: Application, *, yes: bool, quiet: bool) -> bool:
    """Return whether everything is accepted now."""
    if found.nothing:
        _say("nothing to apply: everything is as it was accepted", quiet)
        return True
    if not found.changes.needs_trust or _agreed(found, yes=yes, quiet=quiet):
        found.apply()
        _say("applied", quiet)
        return True
    locked = found.apply_safe()
    for pack in locked:
        _say(f"locked again what did not change of pack {pack}", quiet)
    if not quiet:
        screen.warn("not accepted" + (f"; waiting: {', '.join(found.waiting)}" if found.waiting else ""))
    return False


def _agreed(found: Application, *, yes: bool, quiet: bool) -> bool:
    return yes if quiet else agreed("Accept these changes on this machine?", yes=yes)


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        screen.say(screen.visible(line))
