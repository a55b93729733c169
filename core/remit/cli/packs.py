"""`remit packs`: what is installed, what it may do, and which of it this deployment uses."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.installed import list_installed, show
from remit.cli.opening import add_action, add_folder, add_json, agreed
from remit.cli.waiting import waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.proposal import Proposal


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
        help="give only this, as fs.read=${workspace}/docs/**; again for more, nothing after = for nothing. "
        "Keys that are not named give the least that the chosen skills need",
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
    trying.add_argument(
        "--workspace",
        metavar="DIR",
        help="a folder that its skills really read and change (default: an empty temporary one)",
    )
    trying.add_argument(
        "--private-net",
        action="store_true",
        help="let it reach private addresses that its manifest names, such as 127.0.0.1:8000",
    )
    trying.add_argument("--watch", action="store_true", help="again whenever a file of the pack changes")
    add_json(trying)
    trying.set_defaults(action=try_pack)


def enable(options: argparse.Namespace) -> int:
    """Show what would be enabled, ask once, apply; nothing is changed when one of the packs cannot be."""
    from remit.deployment.enable import enable as propose
    from remit_sandbox import Sandbox

    if len(options.packs) > 1 and (options.skills or options.grant or options.set or options.secret):
        raise UsageError("--skills, --grant, --set and --secret speak of one pack; enable packs one by one")
    proposals: list[Proposal] = []
    with Sandbox() as sandbox:
        for name in dict.fromkeys(options.packs):
            with waiting(f"reading pack {name}"):
                proposals.append(
                    propose(options.folder, name, **_wishes(options), sandbox=sandbox, following=_last(proposals))
                )
    for proposal in proposals:
        _show_proposal(proposal)
    if not agreed(f"Enable {', '.join(proposal.pack for proposal in proposals)}?", yes=options.yes):
        screen.warn("nothing was changed")
        return max((proposal.changes for proposal in proposals), key=lambda changes: changes.rank == "widens").exit_code
    for proposal in proposals:
        proposal.apply()
        screen.say(f"enabled {proposal.pack}: {', '.join(proposal.skills) or 'no skill'}")
    return 0


def _wishes(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "grants": _grants(options.grant),
        "skills": [skill.strip() for skill in options.skills.split(",")] if options.skills else None,
        "accept_read": () if options.distrust_read else None,
        "settings": _values(options.set) or None,
        "secrets": {key: str(value) for key, value in _pairs(options.secret)} or None,
    }


def _last(proposals: list[Proposal]) -> Proposal | None:
    return proposals[-1] if proposals else None


def disable(options: argparse.Namespace) -> int:
    """Switch packs off."""
    from remit.deployment.enable import disable as propose

    for name in options.packs:
        propose(options.folder, name).apply()
        screen.say(f"disabled {name}")
    return 0


def _show_proposal(proposal: Proposal) -> None:
    for line in proposal.lines:
        screen.say(screen.visible(line))
    for warning in proposal.warnings:
        screen.say(screen.styled(f"note: {screen.visible(warning)}", "yellow"))


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
    """Return KEY=VALUE pairs by key; values may be given one by one or with commas between them."""
    import re

    grants: dict[str, list[str]] = {}
    for key, value in _pairs(given):
        comma = r",\s*(?=\$\{|/)" if key.startswith("fs") else ","
        entries = grants.setdefault(key, [])
        entries += [part.strip() for part in re.split(comma, value) if part.strip()]
    return grants or None


def try_pack(options: argparse.Namespace) -> int:
    """Run a pack in development; see `remit.cli.trying`."""
    from remit.cli.trying import try_once, watch

    settings = _values(options.set)
    return watch(options, settings) if options.watch else try_once(options, settings)
