"""`remit packs`: what is installed, what it may do, and which of it this deployment uses."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, agreed, warn_problems
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.proposal import Proposal
    from remit.packs.installed import InstalledPack
    from remit.packs.listing import ListedPack


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit packs list
  remit packs info weather
  remit packs enable files --skills list_files,read_file,search
  remit packs enable files --grant 'fs.read=${workspace}/docs/**'
  remit packs try ./remit-greet hello '{"name": "Ada"}' --watch
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="packs_action", metavar="action", required=True)
    listing = add_action(actions, "list", "list packs that are installed", "remit packs list --json")
    info = add_action(actions, "info", "show in words what a pack may do", "remit packs info weather")
    info.add_argument("pack")
    _configure_enable(actions)
    switched = add_action(
        actions, "disable", "switch packs off; nothing is lost", "remit packs disable weather\nremit packs disable a b"
    )
    switched.add_argument("packs", nargs="+", metavar="PACK")
    for action, run in ((listing, list_installed), (info, show), (switched, disable)):
        add_folder(action)
        action.set_defaults(action=run)
    for action in (listing, info):
        add_json(action)
    _configure_try(actions)


def _configure_enable(actions: Any) -> None:
    enabling = add_action(
        actions,
        "enable",
        "show what packs may do, and switch them on",
        """
remit packs enable calc clock
remit packs enable files --skills list_files,read_file,search
remit packs enable files --grant 'fs.read=${workspace}/docs/**'
remit packs enable weather --set endpoint=weather.internal.example:443
""",
    )
    enabling.add_argument("packs", nargs="+", metavar="PACK")
    enabling.add_argument("--skills", help="only these skills, separated by commas")
    enabling.add_argument(
        "--grant",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="give only this, as fs.read=${workspace}/docs/**",
    )
    enabling.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting")
    enabling.add_argument(
        "--secret", action="append", default=[], metavar="NAME=REF", help="bind a secret, as token=env:TOKEN"
    )
    enabling.add_argument(
        "--distrust-read", action="store_true", help="do not accept a declared `read` that cannot be verified"
    )
    enabling.add_argument("--yes", action="store_true", help="accept what is shown")
    add_folder(enabling)
    enabling.set_defaults(action=enable)


def _configure_try(actions: Any) -> None:
    trying = add_action(
        actions,
        "try",
        "run a pack in development from its folder, without a deployment",
        """
remit packs try ./remit-greet
remit packs try ./remit-greet hello '{"name": "Ada"}' --watch
""",
    )
    trying.add_argument("directory", help="folder of the pack's project")
    trying.add_argument("skill", nargs="?", help="the skill to call; without it, what the pack offers is listed")
    trying.add_argument("arguments", nargs="?", default="", help="its arguments as JSON")
    trying.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="override a setting")
    trying.add_argument("--watch", action="store_true", help="again whenever a file of the pack changes")
    add_json(trying)
    trying.set_defaults(action=try_pack)


def list_installed(options: argparse.Namespace) -> int:
    """Print installed packs from the index; no pack code runs and no manifest is read."""
    from remit.deployment.glance import enabled_packs
    from remit.packs.listing import listing
    from remit.state_root import state_root_path

    found = listing(os.path.join(state_root_path(), "index"))
    enabled = enabled_packs(options.folder)
    if options.json:
        packs = [_facts(pack, enabled) for pack in found.packs]
        screen.say_json({"packs": packs, "problems": [problem._asdict() for problem in found.problems]})
        return 0
    if found.packs:
        rows = [_row(pack, enabled) for pack in found.packs]
        screen.say(screen.table(("pack", "distribution", "version", "here"), rows))
    else:
        screen.say("No pack is installed. Packs are pip packages; try: pip install remit-calc")
    warn_problems(found.problems)
    if enabled is None:
        screen.warn("There is no deployment here; make one with: remit init")
    return 0


def _facts(pack: InstalledPack | ListedPack, enabled: dict[str, bool] | None) -> dict[str, Any]:
    return {
        "pack": pack.name,
        "distribution": pack.distribution,
        "version": pack.version,
        "editable": pack.editable,
        "enabled": None if enabled is None else enabled.get(pack.name, False),
    }


def _row(pack: ListedPack, enabled: dict[str, bool] | None) -> tuple[str, ...]:
    here = "-" if enabled is None else "enabled" if enabled.get(pack.name) else "disabled"
    return (pack.name, pack.distribution, pack.version + (" (dev)" if pack.editable else ""), here)


def show(options: argparse.Namespace) -> int:
    """Print what a pack and each of its skills may do."""
    from remit.deployment.glance import enabled_packs
    from remit.packs.discovery import discover
    from remit.packs.manifest import read_pack_manifest
    from remit.packs.words import explain_in_words, explain_skill

    pack = discover().get(options.pack)
    manifest = read_pack_manifest(pack)
    settings = manifest.settings_with({})
    facts = _facts(pack, enabled_packs(options.folder)) | {"summary": manifest.summary, "settings": dict(settings)}
    may = explain_in_words(manifest.permission(settings))
    skills = {name: explain_skill(manifest, name, settings) for name in manifest.skills}
    if options.json:
        screen.say_json({**facts, "may": may, "skills": skills})
        return 0
    screen.say(screen.visible(f"{pack.name} ({pack.distribution} {pack.version}): {manifest.summary}"))
    screen.say("the pack as a whole:")
    for line in may:
        screen.say(f"  {screen.visible(line)}")
    for name, lines in skills.items():
        screen.say(f"skill {pack.name}.{name}:")
        for line in lines:
            screen.say(f"  {screen.visible(line)}")
    return 0


def enable(options: argparse.Namespace) -> int:
    """Show each proposal, ask, apply."""
    from remit.deployment.enable import enable as propose

    if len(options.packs) > 1 and (options.skills or options.grant or options.set or options.secret):
        raise UsageError("--skills, --grant, --set and --secret speak of one pack; enable packs one by one")
    for name in options.packs:
        proposal = propose(
            options.folder,
            name,
            grants=_grants(options.grant),
            skills=[skill.strip() for skill in options.skills.split(",")] if options.skills else None,
            accept_read=() if options.distrust_read else None,
            settings=_values(options.set) or None,
            secrets={key: str(value) for key, value in _pairs(options.secret)} or None,
        )
        if not _applied(proposal, f"Enable {name}?", yes=options.yes):
            return 1
        screen.say(f"enabled {name}: {', '.join(proposal.skills) or 'no skill'}")
    return 0


def disable(options: argparse.Namespace) -> int:
    """Switch packs off."""
    from remit.deployment.enable import disable as propose

    for name in options.packs:
        propose(options.folder, name).apply()
        screen.say(f"disabled {name}")
    return 0


def _applied(proposal: Proposal, question: str, *, yes: bool) -> bool:
    for line in proposal.lines:
        screen.say(screen.visible(line))
    for warning in proposal.warnings:
        screen.say(screen.styled(f"note: {screen.visible(warning)}", "yellow"))
    if not agreed(question, yes=yes):
        screen.warn("nothing was changed")
        return False
    proposal.apply()
    return True


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not equals or not name.strip():
            raise UsageError(f"{name!r} is no NAME=VALUE")
    return [(name.strip(), value) for name, _, value in pairs]


def _values(given: list[str]) -> dict[str, Any]:
    """Return NAME=VALUE pairs with values in TOML's notation, or as text where they are none."""
    import tomllib

    values: dict[str, Any] = {}
    for name, value in _pairs(given):
        try:
            values[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            values[name] = value
    return values


def _grants(given: list[str]) -> dict[str, Any] | None:
    grants: dict[str, list[str]] = {}
    for key, value in _pairs(given):
        entries = grants.setdefault(key, [])
        if value:
            entries.append(value)
    return grants or None


def try_pack(options: argparse.Namespace) -> int:
    """Run a pack in development; see `remit.cli.trying`."""
    from remit.cli.trying import try_once, watch

    settings = _values(options.set)
    return watch(options, settings) if options.watch else try_once(options, settings)
