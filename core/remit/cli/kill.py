"""`remit kill`: switches a skill, a pack or everything off at once, in running programs, too."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_folder, add_json
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.state.switches import Off


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit kill                                everything, now
  remit kill weather --reason "sends too much"
  remit kill files.delete_file
  remit kill --list
  remit kill weather --restore
  remit kill --restore                      take every switch away

Every program that uses this deployment looks before each call: the next one is refused with the reason, and a call
that runs is ended within a second. Nothing is asked: what stops things must be quick. remit.toml stays as it is.
"""
    parser.add_argument("name", nargs="?", metavar="PACK[.SKILL]", help="what to switch off (default: all)")
    parser.add_argument("--restore", action="store_true", help="switch it on again")
    parser.add_argument("--reason", default="", help="why; the model and people read it")
    parser.add_argument("--list", action="store_true", help="only show what is switched off")
    add_folder(parser)
    add_json(parser)
    parser.set_defaults(action=kill)


def kill(options: argparse.Namespace) -> int:
    """Switch off, on, or list."""
    from remit.deployment import killing
    from remit.state.switches import EVERYTHING

    if options.list:
        return _show(killing.switched_off(options.folder), as_json=options.json)
    name = EVERYTHING if options.name is None else options.name.strip()
    if not name:
        raise UsageError("the name is empty", remedy="leave it out to mean everything")
    if options.restore:
        return _restore(options.folder, name, as_json=options.json)
    off = killing.switch_off(options.folder, name, reason=options.reason)
    if options.json:
        screen.say_json(asdict(off))
        return 0
    screen.say(screen.visible(off.says()))
    screen.next_step(f"{screen.visible(off.undo())} switches it on again")
    return 0


def _restore(folder: str, name: str, *, as_json: bool) -> int:
    from remit.deployment import killing
    from remit.state.switches import EVERYTHING

    done = killing.restore(folder, name)
    off = killing.still_off(folder, name)
    if as_json:
        screen.say_json({"name": name, "restored": done, "off": None if off is None else asdict(off)})
        return 1 if off else 0
    if off is not None:
        own = "its own switch was taken away, and it" if done else "it"
        screen.warn(screen.visible(f"{name}: {own} stays off: {off.says()}"))
        screen.next_step(f"{screen.visible(off.undo())} switches it on again")
        return 1
    told = "everything is" if name == EVERYTHING else f"{name} is"
    screen.say(screen.visible(f"{told} switched on again" if done else f"{told} not switched off"))
    return 0


def _show(found: tuple[Off, ...], *, as_json: bool) -> int:
    if as_json:
        screen.say_json([asdict(one) for one in found])
        return 0
    if not found:
        screen.say("nothing is switched off")
        return 0
    rows = [
        (
            "everything" if one.name == "*" else one.name,
            one.who or "-",
            f"{datetime.fromtimestamp(one.when).astimezone():%Y-%m-%d %H:%M}" if one.when else "-",
            one.reason or "-",
        )
        for one in found
    ]
    screen.say(screen.table(("switched off", "by", "since", "reason"), rows))
    return 0
