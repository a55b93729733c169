"""`remit secrets`: binds what packs ask for; a value is typed or piped in, never an argument, never shown."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.proposal import Proposal
    from remit.deployment.secrets import SecretRow

_LARGEST = 64 * 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit secrets list
  remit secrets set mail.token env:MAIL_TOKEN
  remit secrets set mail.token file:/run/secrets/mail
  remit secrets set mail.token                     asks for the value, and keeps it in this machine's keyring
  printf %s "$TOKEN" | remit secrets set mail.token
  remit secrets remove mail.token
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="secrets_action", metavar="action", required=True)
    listing = add_action(
        actions, "list", "list secrets, and whether there is a value; never the value", "remit secrets list --json"
    )
    setting = add_action(
        actions,
        "set",
        "say where a secret is kept, or put it into the keyring",
        "remit secrets set mail.token env:MAIL_TOKEN\nremit secrets set mail.token",
    )
    setting.add_argument("secret", metavar="PACK.NAME")
    setting.add_argument("reference", nargs="?", help="env:NAME, file:/path or keyring:service/name; none asks")
    removing = add_action(actions, "remove", "bind a secret to nothing", "remit secrets remove mail.token")
    removing.add_argument("secret", metavar="PACK.NAME")
    for action, run in ((listing, list_all), (setting, set_one), (removing, remove)):
        add_folder(action)
        add_json(action)
        action.set_defaults(action=run)


def list_all(options: argparse.Namespace) -> int:
    """Print every secret that is asked for or bound; 1 when one that is asked for has no value."""
    from remit.deployment.files import read_files
    from remit.deployment.glance import enabled_packs
    from remit.deployment.secrets import list_secrets

    read_files(options.folder)
    on = enabled_packs(options.folder) or {}
    rows = [row for row in list_secrets(options.folder) if row.reference or on.get(row.pack)]
    if options.json:
        screen.say_json([asdict(row) for row in rows])
    elif rows:
        screen.say(screen.table(("secret", "kept in", "value there", ""), map(_cells, rows)))
    else:
        screen.say("no enabled pack asks for a secret")
    return 1 if any(row.asked and not row.found and on.get(row.pack) for row in rows) else 0


def _cells(row: SecretRow) -> tuple[str, ...]:
    note = row.why or ("" if row.asked else "the pack does not ask for it")
    return (f"{row.pack}.{row.name}", row.reference or "-", "yes" if row.found else "NO", note)


def set_one(options: argparse.Namespace) -> int:
    """Bind a secret to a reference, or keep a value in the keyring and bind it to that."""
    from remit.deployment.secrets import bind, keep

    if options.reference:
        return _done(bind(options.folder, options.secret, options.reference), options)
    return _done(keep(options.folder, options.secret, _value(options.secret)), options)


def remove(options: argparse.Namespace) -> int:
    """Bind a secret to nothing."""
    from remit.deployment.secrets import unbind

    return _done(unbind(options.folder, options.secret), options)


def _done(proposal: Proposal, options: argparse.Namespace) -> int:
    proposal.apply()
    if options.json:
        screen.say_json({"secret": options.secret, "lines": list(proposal.lines)})
        return 0
    for line in proposal.lines:
        screen.say(screen.visible(line))
    return 0


def _value(secret: str) -> str:
    """Read a value from a pipe, or from the terminal without showing it."""
    if not sys.stdin.isatty():
        data = sys.stdin.buffer.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"a secret has at most {_LARGEST // 1024} KiB")
        try:
            return data.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            raise UsageError("the value is not UTF-8") from None
    from getpass import getpass

    try:
        return getpass(f"value of {screen.visible(secret)} (it is not shown): ")
    except EOFError:
        raise UsageError("no value was given") from None
