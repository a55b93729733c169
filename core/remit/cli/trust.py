"""`remit trust`: a person accepts a deployment on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from remit.cli import screen
from remit.cli.opening import add_folder, add_json, agreed


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
    add_json(parser)
    parser.set_defaults(action=trust)


def trust(options: argparse.Namespace) -> int:
    """Show the deployment, ask, accept."""
    from remit.deployment import trust as trusting

    if options.show:
        digest = trusting.trust_digest(options.folder)
        return _told(options, digest, digest=digest, accepted=None)
    if options.digest:
        digest = trusting.trust(options.folder, digest=options.digest).digest
        return _told(options, f"accepted {digest}", digest=digest, accepted=True)
    proposal = trusting.propose_trust(options.folder)
    digest, lines = proposal.standing.digest, list(proposal.lines)
    if proposal.standing.by == "person":
        return _told(options, "accepted already; nothing changed since", digest=digest, accepted=True)
    for line in () if options.json else lines:
        screen.say(screen.visible(line))
    if not agreed("Accept this deployment on this machine?", yes=options.yes, quiet=options.json):
        screen.warn("not accepted")
        _told(options, "", digest=digest, accepted=False, lines=lines)
        return proposal.standing.changes.exit_code
    digest = proposal.apply().digest
    return _told(options, f"accepted {digest}", digest=digest, accepted=True, lines=lines)


def _told(
    options: argparse.Namespace, line: str, *, digest: str, accepted: bool | None, lines: Sequence[str] = ()
) -> int:
    """Print what came of it, as a line or as JSON; `accepted` is None where only the digest was asked for."""
    if options.json:
        screen.say_json({"digest": digest, "accepted": accepted, "lines": list(lines)})
    elif line:
        screen.say(line)
    return 0
