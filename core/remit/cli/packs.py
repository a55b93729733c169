"""`remit packs`: what is installed, what it may do, and which of it this deployment uses."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from remit.cli import differing, granting, inspecting, packs_author, packs_install, screen
from remit.cli.installed import list_installed, show
from remit.cli.opening import add_action, add_folder, add_json, agreed
from remit.cli.proposals import by_pack, facts, show_proposal, taken_at_its_word
from remit.cli.waiting import waiting
from remit.cli.wishes import add_wishes, values, wishes
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.proposal import Proposal


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit packs list
  remit packs add remit-weather
  remit packs info weather
  remit packs inspect ./remit_weather-0.1.0-py3-none-any.whl
  remit packs enable weather.get_weather
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
        actions,
        "disable",
        "switch packs or single skills off; nothing is lost",
        "remit packs disable weather\nremit packs disable files.write_file files.delete_file",
    )
    switched.add_argument("packs", nargs="+", metavar="PACK[.SKILL]")
    switched.add_argument("--yes", action="store_true", help="nothing is asked in any case")
    for action, run in ((listing, list_installed), (info, show), (switched, disable)):
        add_folder(action)
        action.set_defaults(action=run)
    for action in (listing, info, switched):
        add_json(action)
    _configure_try(actions)
    for own in (inspecting, granting, differing, packs_author, packs_install):
        own.configure(actions)


def _configure_enable(actions: Any) -> None:
    enabling = add_action(
        actions,
        "enable",
        "show what packs or single skills may do, and switch them on",
        """
remit packs enable calc clock
remit packs enable weather.get_weather
remit packs enable files --skills list_files,read_file,search
remit packs enable files --grant 'fs.read=${workspace}/docs/**'
remit packs enable weather --set endpoint=weather.internal.example:443
""",
    )
    enabling.add_argument("packs", nargs="+", metavar="PACK[.SKILL]")
    add_wishes(enabling)
    enabling.add_argument("--yes", action="store_true", help="accept what is shown")
    add_folder(enabling)
    add_json(enabling)
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
        for name, skills in by_pack(options.packs).items():
            with waiting(f"reading pack {name}"):
                wanted = _with_skills(options, name, skills)
                proposals.append(propose(options.folder, name, **wanted, sandbox=sandbox, following=_last(proposals)))
    for proposal in () if options.json else proposals:
        show_proposal(proposal)
    names = ", ".join(proposal.pack for proposal in proposals)
    done = agreed(f"Enable {names}{taken_at_its_word(proposals)}?", yes=options.yes, quiet=options.json)
    for proposal in proposals if done else ():
        proposal.apply()
        if not options.json:
            screen.say(f"enabled {proposal.pack}: {', '.join(proposal.skills) or 'no skill'}")
    if options.json:
        screen.say_json({"packs": [facts(proposal, applied=done) for proposal in proposals]})
    if done:
        return 0
    screen.warn("nothing was changed")
    return max((proposal.changes for proposal in proposals), key=lambda changes: changes.rank == "widens").exit_code


def _with_skills(options: argparse.Namespace, pack: str, skills: list[str]) -> dict[str, Any]:
    """Return what is wanted of a pack, of which single skills may have been named."""
    from remit.deployment.choosing import with_skills

    wanted = wishes(options)
    if not skills:
        return wanted
    if options.skills:
        raise UsageError("name single skills as PACK.SKILL or with --skills, not both")
    return {**wanted, "skills": with_skills(options.folder, pack, skills)}


def _last(proposals: list[Proposal]) -> Proposal | None:
    return proposals[-1] if proposals else None


def disable(options: argparse.Namespace) -> int:
    """Switch packs or single skills off."""
    from remit.deployment.choosing import disable_skills
    from remit.deployment.enable import disable as propose

    done: list[Proposal] = []
    for name, skills in by_pack(options.packs).items():
        proposal = disable_skills(options.folder, name, skills) if skills else propose(options.folder, name)
        proposal.apply()
        done.append(proposal)
        if options.json:
            continue
        off = "" if not skills else f": {', '.join(skills)}; left: {', '.join(proposal.skills) or 'none, so it is off'}"
        screen.say(screen.visible(f"disabled {'skills of ' if skills else ''}{name}{off}"))
    if options.json:
        screen.say_json({"packs": [facts(proposal, applied=True) for proposal in done]})
    return 0


def try_pack(options: argparse.Namespace) -> int:
    """Run a pack in development; see `remit.cli.trying`."""
    from remit.cli.trying import try_once, watch

    settings = values(options.set)
    return watch(options, settings) if options.watch else try_once(options, settings)
