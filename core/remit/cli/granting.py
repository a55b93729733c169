"""`remit packs grant`: gives an enabled pack other rights, within what it asks for."""

from __future__ import annotations

import argparse
from typing import Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, agreed
from remit.cli.waiting import waiting
from remit.errors import UsageError


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "grant",
        "change what an enabled pack is given; keys that are not named stay",
        """
remit packs grant files 'fs.read=${workspace}/docs/**'
remit packs grant files fs.write=
remit packs grant weather net=api.example.com:443,geo.example.com:443
remit packs grant files --all fs.read
""",
    )
    parser.add_argument("pack", metavar="PACK")
    parser.add_argument("grants", nargs="*", metavar="KEY=VALUE", help="again for more; nothing after = for nothing")
    parser.add_argument(
        "--all", action="append", default=[], metavar="KEY", help="give of this key all that the pack asks for"
    )
    parser.add_argument("--yes", action="store_true", help="accept what is shown")
    add_folder(parser)
    parser.set_defaults(action=grant)


def grant(options: argparse.Namespace) -> int:
    """Show what changes; what only narrows is done at once, everything else is asked."""
    from remit.cli.proposals import show_proposal
    from remit.cli.wishes import grants_of
    from remit.deployment.choosing import regrant

    changes: dict[str, Any] = {**(grants_of(options.grants) or {}), **dict.fromkeys(options.all)}
    if not changes:
        raise UsageError("grant needs a KEY=VALUE", remedy=f"remit packs grant {options.pack} 'fs.read=...'")
    with waiting(f"reading pack {options.pack}"):
        proposal = regrant(options.folder, options.pack, changes)
    show_proposal(proposal)
    if proposal.changes.needs_trust and not agreed(f"Grant this to {proposal.pack}?", yes=options.yes):
        screen.warn("nothing was changed")
        return proposal.changes.exit_code
    proposal.apply()
    screen.say(f"granted {proposal.pack}: " + ("nothing changed" if proposal.changes.rank == "same" else "done"))
    return 0
