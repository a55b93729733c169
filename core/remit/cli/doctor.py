"""`remit doctor`: what this machine can enforce, found out by trying."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from remit.cli import screen
from remit.cli.opening import add_json
from remit.cli.waiting import waiting


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
example:
  remit doctor --json

Every row was tried in a throwaway process, with a control that must succeed.
exit codes: 0 everything that `enforcement = "kernel"` needs is there, 1 something is missing
"""
    add_json(parser)
    parser.set_defaults(action=doctor)


def doctor(options: argparse.Namespace) -> int:
    """Probe, print, and return 1 when this machine cannot confine."""
    from remit_sandbox.probe import probe

    with waiting("trying what this machine can enforce"):
        found = probe()
    if options.json:
        screen.say_json(
            {
                "rows": [asdict(row) for row in found.rows],
                "missing": list(found.missing),
                "landlock_abi": found.landlock_abi,
            }
        )
        return 1 if found.missing else 0
    screen.say(screen.table(("right", "enforced by", "how"), [(row.right, row.by, row.detail) for row in found.rows]))
    if not found.missing:
        screen.say(f"\nThis machine can confine skills (Landlock ABI {found.landlock_abi}).")
        return 0
    screen.say("\nThis machine cannot confine skills:")
    for reason in found.missing:
        screen.say(f"  {reason}")
    screen.say('With enforcement = "available" under [defaults] skills run all the same, without what is missing.')
    return 1
