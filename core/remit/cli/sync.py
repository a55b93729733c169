"""`remit sync`: make the environment hold what the deployment in this folder names and locks."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_folder, add_json, agreed
from remit.cli.waiting import waiting

if TYPE_CHECKING:
    from remit.installing.sync_rows import Row
    from remit.installing.syncing import Sync


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  git clone ... && cd ... && remit trust && remit sync
  remit sync --locked        in CI and in an image: nothing but what is locked, the lock stays as it is

Packs come from wherever pip gets packages (pip config list), as wheels, and are compared with remit.lock before
anything is installed.
"""
    parser.add_argument(
        "--locked",
        action="store_true",
        help="change nothing in remit.lock; refuse development installs and what it has no hash of",
    )
    parser.add_argument("--yes", action="store_true", help="accept compiled files of another system that are shown")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=sync)


def sync(options: argparse.Namespace) -> int:
    """Compare, install, say how every enabled pack stands; 1 when one of them is not in order, 5 when one waits."""
    from remit.cli.packs_install import mend_first
    from remit.installing.environment import Environment
    from remit.installing.place import Place
    from remit.installing.syncing import syncing

    mend_first()
    place = Place(folder=options.folder, environment=Environment.here())
    with waiting("comparing and fetching") as sign, syncing(place, locked=options.locked) as found:
        sign.stop()
        for line in found.news:
            screen.warn(screen.styled("new: ", "yellow") + screen.visible(line))
        if found.news and not agreed("Accept and lock this?", yes=options.yes):
            screen.warn("nothing was installed, nothing was changed")
            return 5
        with waiting("installing"):
            found.apply()
        rows = [replace(row, state="ok") if row.state == "to install" else row for row in found.rows]
        _report(found, rows, options)
    return 1 if found.problems else 0


def _report(found: Sync, rows: list[Row], options: argparse.Namespace) -> None:
    wheels = found.closure.wheels if found.closure else ()
    locked = found.lock != found.files.lock
    if options.json:
        installed = [{"distribution": wheel.distribution, "version": wheel.version} for wheel in wheels]
        screen.say_json({"packs": [asdict(row) for row in rows], "installed": installed, "lock_changed": locked})
        return
    for wheel in wheels:
        screen.say(f"installed {wheel.distribution} {wheel.version}")
    if rows:
        screen.say(
            screen.table(
                ("pack", "distribution", "version", "state"),
                [(row.pack, row.distribution or "-", row.version or "-", row.state) for row in rows],
            )
        )
    else:
        screen.say("this deployment enables no pack")
    if locked:
        screen.say("remit.lock has gained hashes; keep it under version control")
    for row in found.problems:
        screen.warn(f"pack {screen.visible(row.pack)}: {screen.visible(row.reason)}")
        screen.next_step(row.remedy)
