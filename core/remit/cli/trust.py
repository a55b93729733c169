"""`remit trust`: a person accepts a deployment on this machine."""

from __future__ import annotations

import argparse

from remit.cli import screen
from remit.cli.opening import add_folder, agreed


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit trust                      show what it may do, then ask
  remit trust --show               print the digest for REMIT_TRUST
  remit trust --digest sha256:...  accept exactly these files
"""
    parser.add_argument("--show", action="store_true", help="only print the digest over remit.toml and remit.lock")
    parser.add_argument("--digest", metavar="sha256:...", help="accept when the files have this digest")
    parser.add_argument("--yes", action="store_true", help="accept what is shown")
    add_folder(parser)
    parser.set_defaults(action=trust)


def trust(options: argparse.Namespace) -> int:
    """Show the deployment, ask, accept."""
    from remit.deployment import trust as trusting

    if options.show:
        screen.say(trusting.trust_digest(options.folder))
        return 0
    if options.digest:
        acceptance = trusting.trust(options.folder, digest=options.digest)
        screen.say(f"accepted {acceptance.digest}")
        return 0
    proposal = trusting.propose_trust(options.folder)
    if proposal.standing.by == "person":
        screen.say("accepted already; nothing changed since")
        return 0
    for line in proposal.lines:
        screen.say(screen.visible(line))
    if not agreed("Accept this deployment on this machine?", yes=options.yes):
        screen.warn("not accepted")
        return proposal.standing.changes.exit_code
    screen.say(f"accepted {proposal.apply().digest}")
    return 0
