"""`remit packs diff`: what another version of a pack wants, every widening named."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json
from remit.cli.waiting import waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.versions import PackDifference
    from remit.packs.ranks import Changes, Rank

MARKS: dict[Rank, str] = {"widens": "+", "unranked": "?", "narrows": "-", "same": "="}
"""Rank to the mark at the start of a line."""

_STYLES: dict[Rank, screen.Style] = {"widens": "red", "unranked": "yellow", "narrows": "green", "same": "dim"}


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "diff",
        "compare what packs want with what is locked, or two versions with each other",
        """
remit packs diff
remit packs diff weather
remit packs diff ./remit_weather-0.2.0-py3-none-any.whl
remit packs diff ./remit_weather-0.1.0-py3-none-any.whl ./remit_weather-0.2.0-py3-none-any.whl --json
""",
    )
    parser.epilog = (
        (parser.epilog or "")
        + """
+ widens, ? cannot be ranked, - narrows, = no right changes
Descriptions and arguments are derived in a cell without any right; --static runs nothing.
exit codes: 0 the same or narrower, 4 widens, 5 cannot be ranked
"""
    )
    parser.add_argument("things", nargs="*", metavar="PACK|WHEEL|DIR", help="nothing for every enabled pack")
    parser.add_argument("--static", action="store_true", help="run nothing: descriptions are then not compared")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=diff)


def diff(options: argparse.Namespace) -> int:
    """Print the differences; return 0, 4 or 5."""
    from remit.deployment.versions import Versions

    if len(options.things) > 2:
        raise UsageError("diff takes at most two versions", remedy="remit packs diff OLD NEW")
    versions = Versions(options.folder, static=options.static)
    with waiting("comparing"):
        if not options.things:
            found = versions.since_lock()
        elif len(options.things) == 1:
            found = (versions.of(options.things[0]),)
        else:
            found = (versions.between(*options.things),)
    if options.json:
        screen.say_json({"rank": overall(found), "packs": [facts(one) for one in found]})
    else:
        for one in found:
            show(one)
        if not found:
            screen.say("no pack is enabled here")
    return exit_code(found)


def show(one: PackDifference) -> None:
    """Print one pack's differences."""
    screen.say(screen.styled(screen.visible(f"{one.pack}: {one.old} -> {one.new}"), "bold"))
    show_changes(one.changes)
    for note in one.notes:
        screen.say(screen.styled(f"  note: {screen.visible(note)}", "yellow"))


def show_changes(changes: Changes) -> None:
    """Print changes, what widens first."""
    for rank, mark in MARKS.items():
        for line in changes.lines(rank):
            screen.say("  " + screen.styled(f"{mark} {screen.visible(line)}", _STYLES[rank]))
    if not changes.changes:
        screen.say("  = nothing differs")


def facts(one: PackDifference) -> dict[str, Any]:
    """Return one pack's differences as JSON has them."""
    changes = [{"rank": change.rank, "line": change.line} for change in one.changes.changes]
    return {
        "pack": one.pack,
        "old": one.old,
        "new": one.new,
        "rank": one.changes.rank,
        "changes": changes,
        "notes": one.notes,
    }


def overall(found: Iterable[PackDifference]) -> Rank:
    """Return the rank of all together, the gravest of each."""
    ranks = {one.changes.rank for one in found}
    return next((rank for rank in MARKS if rank in ranks), "same")


def exit_code(found: Iterable[PackDifference]) -> int:
    """Return 4 when one widens, 5 when one cannot be ranked, else 0."""
    return {"widens": 4, "unranked": 5}.get(overall(found), 0)
