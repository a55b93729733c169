"""`remit packs grant`: gives an enabled pack other rights, within what it asks for."""

from __future__ import annotations

import argparse
from typing import Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, agreed
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
    add_json(parser)
    parser.set_defaults(action=grant)


def grant(options: argparse.Namespace) -> int:
    """Show what changes; what only narrows is done at once, everything else is asked."""
    from remit.cli.proposals import facts, show_proposal
    from remit.cli.wishes import grants_of
    from remit.deployment.choosing import regrant

    changes: dict[str, Any] = {**(grants_of(options.grants) or {}), **dict.fromkeys(options.all)}
    if not changes:
        raise UsageError("grant needs a KEY=VALUE", remedy=f"remit packs grant {options.pack} 'fs.read=...'")
    with waiting(f"reading pack {options.pack}"):
        proposal = regrant(options.folder, options.pack, changes)
    if not options.json:
        show_proposal(proposal)
    ask = f"Grant this to {proposal.pack}?"
    done = not proposal.changes.needs_trust or agreed(ask, yes=options.yes, quiet=options.json)
    if done:
        proposal.apply()
    if options.json:
        screen.say_json(facts(proposal, applied=done))
    if not done:
        screen.warn("nothing was changed")
        return proposal.changes.exit_code
    if not options.json:
        screen.say(f"granted {proposal.pack}: " + ("nothing changed" if proposal.changes.rank == "same" else "done"))
    return 0
