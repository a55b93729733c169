"""`remit state`: what Remit keeps on this machine, and removing it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_action, add_json, agreed

if TYPE_CHECKING:
    from remit.deployment.kept import Kept

_UNITS = ("bytes", "KiB", "MiB", "GiB")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit state list
  remit state clean                  what belongs to no deployment any more, and the index
  remit state clean --data -C DIR    what the packs of one deployment keep for themselves
  remit state clean --all -C DIR     everything of one deployment: its log, sessions and acceptance
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="state_action", metavar="action", required=True)
    listing = add_action(actions, "list", "show what is kept, where, and how much", "remit state list --json")
    add_json(listing)
    listing.set_defaults(action=show)
    cleaning = add_action(
        actions,
        "clean",
        "remove what belongs to no deployment any more; with -C, of one deployment",
        "remit state clean\nremit state clean --data -C DIR\nremit state clean --all -C DIR --yes",
    )
    cleaning.add_argument("--data", action="store_true", help="the data folders of one deployment's packs")
    cleaning.add_argument("--all", action="store_true", help="everything of one deployment, its log, too")
    cleaning.add_argument("-C", "--folder", default=".", metavar="DIR", help="which deployment (default: here)")
    cleaning.add_argument("--yes", action="store_true", help="remove what is shown")
    add_json(cleaning)
    cleaning.set_defaults(action=clean)


def show(options: argparse.Namespace) -> int:
    """Print what is kept."""
    from remit.deployment.kept import list_kept
    from remit.state_folder import state_root

    found = list_kept()
    if options.json:
        screen.say_json({"state": str(state_root()), "kept": [asdict(one) for one in found]})
        return 0
    screen.say(screen.hanging(f"kept in {state_root()}"))
    if not found:
        screen.say("nothing is kept")
        return 0
    screen.say(screen.table(("what", "deployment", "size", "log", "packs' data", "last used"), map(_cells, found)))
    for one in found:
        if one.workspace is not None:
            said = f"workspace of {one.folder}: {amount(one.workspace)}, yours, and never removed"
            screen.say(screen.hanging(said))
    return 0


def _cells(kept: Kept) -> tuple[str, ...]:
    return (_what(kept), kept.folder or "-", amount(kept.size), amount(kept.log), amount(kept.data), _day(kept))


def _what(kept: Kept) -> str:
    return {"deployment": "deployment", "orphan": "orphan (no deployment)", "index": "index of packs"}[kept.kind]


def _day(kept: Kept) -> str:
    return f"{datetime.fromtimestamp(kept.used).astimezone():%Y-%m-%d %H:%M}" if kept.used else "-"


def amount(size: int) -> str:
    """Return bytes for people."""
    number, unit = float(size), 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.0f} {_UNITS[unit]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def clean(options: argparse.Namespace) -> int:
    """Show what would be removed, ask, remove it."""
    from remit.deployment.kept import kept_for, list_kept, packs_data, remove_kept

    if options.data or options.all:
        whole = kept_for(options.folder)
        chosen = [whole] if options.all else list(packs_data(whole))
    else:
        chosen = [one for one in list_kept() if one.kind != "deployment"]
    if not chosen and not options.json:
        screen.say("there is nothing to remove")
        return 0
    for one in () if options.json else chosen:
        _show_chosen(one, options)
    size = amount(sum(one.size for one in chosen))
    done = not chosen or agreed(f"Remove {size}?", yes=options.yes, quiet=options.json)
    if done:
        remove_kept(chosen)
    if options.json:
        screen.say_json({"removed": done, "kept": [asdict(one) for one in chosen]})
    elif done:
        screen.say(f"removed {size}")
    if not done:
        screen.warn("nothing was removed")
    return 0 if done else 1


def _show_chosen(one: Kept, options: argparse.Namespace) -> None:
    """Print what would go, and what is lost with it."""
    what = "data of packs" if options.data else _what(one)
    screen.say(screen.visible(f"{what}: {one.path}, {amount(one.size)}"))
    if one.folder:
        screen.say(screen.visible(f"  of {one.folder}"))
    if one.log and not options.data:
        lost = "THE LOG of a deployment that is in use" if one.kind == "deployment" else "a log"
        screen.say(screen.styled(f"  with {lost}: its records and sessions are gone for good", "red"))
    if one.kind == "deployment" and options.all:
        screen.say("  and its acceptance: it does nothing until `remit trust`")
