"""`remit packs add`, `remove`, `upgrade` and `rollback`: the safe way in and out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, agreed
from remit.cli.proposals import facts as proposal_facts
from remit.cli.proposals import taken_at_its_word
from remit.cli.waiting import waiting
from remit.cli.wishes import add_wishes, wishes
from remit.errors import RemitError, UsageError

if TYPE_CHECKING:
    from remit.installing.adding import Addition
    from remit.installing.place import Place
    from remit.installing.upgrading import Upgrade
    from remit_sandbox import Sandbox


def configure(actions: Any) -> None:
    """Describe the four actions."""
    _configure_add(actions)
    removing = add_action(
        actions,
        "remove",
        "switch a pack off and uninstall it; its settings and data stay",
        "remit packs remove weather\nremit packs remove weather --dependencies --data --yes",
    )
    removing.add_argument("pack", metavar="PACK")
    removing.add_argument("--dependencies", action="store_true", help="uninstall what only this pack needed, too")
    removing.add_argument("--data", action="store_true", help="delete what the pack kept in its data folder")
    upgrading = add_action(
        actions,
        "upgrade",
        "take newer versions; what is new or wider in them waits for you",
        "remit packs upgrade weather\nremit packs upgrade --check --json",
    )
    upgrading.epilog = (
        (upgrading.epilog or "")
        + """
Skills that did not change go on under the new version without a question; new, wider and otherwise
changed ones wait until you say yes, here or later with remit packs enable.
exit codes: 0 nothing waits, 4 something new or wider waits, 5 something that cannot be ranked waits
"""
    )
    upgrading.add_argument("packs", nargs="*", metavar="PACK", help="default: every enabled pack")
    upgrading.add_argument("--check", action="store_true", help="only show what differs; nothing is changed")
    back = add_action(
        actions,
        "rollback",
        "return to the version of a pack that was locked before",
        "remit packs rollback weather",
    )
    back.add_argument("pack", metavar="PACK")
    for action, run in ((removing, remove), (upgrading, upgrade), (back, rollback)):
        action.add_argument("--yes", action="store_true", help="accept what is shown")
        add_folder(action)
        add_json(action)
        action.set_defaults(action=run)
    for action in (upgrading, back):
        add_change(action)


def _configure_add(actions: Any) -> None:
    adding = add_action(
        actions,
        "add",
        "fetch packs as wheels, inspect them and all they need, then install, lock and enable them",
        """
remit packs add remit-weather
remit packs add remit-files==0.1.0 --skills list_files,read_file --grant 'fs.read=${workspace}/docs/**'
remit packs add ./remit_greet-0.1.0-py3-none-any.whl --yes
""",
    )
    adding.epilog = (
        (adding.epilog or "")
        + """
Where packages come from (indexes, folders of wheels, proxies) is pip's own configuration: pip config list.
Nothing is ever built, and nothing that was fetched runs before you have said yes.
"""
    )
    adding.add_argument("things", nargs="+", metavar="NAME[==VERSION]|WHEEL")
    add_wishes(adding)
    add_installing(adding)
    adding.set_defaults(action=add)


def add_installing(adding: argparse.ArgumentParser) -> None:
    """Describe what whoever installs may say of it."""
    adding.add_argument("--name-is-right", action="store_true", help="a name that looks like a known one is meant")
    add_change(adding)
    adding.add_argument("--yes", action="store_true", help="accept what is shown")
    add_folder(adding)
    add_json(adding)


def add_change(parser: argparse.ArgumentParser) -> None:
    """Describe `--change`."""
    parser.add_argument(
        "--change",
        action="append",
        default=[],
        metavar="NAME",
        help="let this installed package change to another version; again for more",
    )


def add(options: argparse.Namespace) -> int:
    """Fetch, inspect, show, ask once, install."""
    from remit.installing.adding import Wish, adding, check_names

    if len(options.things) > 1 and (options.skills or options.grant or options.set or options.secret):
        raise UsageError("--skills, --grant, --set and --secret speak of one pack; add packs one by one")
    place = place_of(options)
    alike = check_names(options.things, place, sure=options.name_is_right)
    if alike and not meant(alike):
        return 1
    wish = Wish(wanted=options.things, change=options.change, wishes=wishes(options))
    with waiting("fetching and inspecting") as sign, adding(place, wish) as addition:
        sign.stop()
        names = ", ".join(addition.names)
        question = f"Install and enable {names}{taken_at_its_word(addition.proposals)}?"
        return _taken(addition, question, options, refused="nothing was installed, nothing was changed")


def _taken(addition: Addition, question: str, options: argparse.Namespace, *, refused: str) -> int:
    """Show what would be installed, ask, install it; return the exit code."""
    if not options.json:
        _show(addition)
    done = agreed(question, yes=options.yes, quiet=options.json)
    if done:
        _apply(addition, quiet=options.json)
    if options.json:
        installed = [{"distribution": one.distribution, "version": one.version} for one in addition.closure.wheels]
        packs = [proposal_facts(proposal, applied=done) for proposal in addition.proposals]
        told = {"installed": installed if done else [], "packs": packs, "lines": list(addition.lines)}
        screen.say_json({**told, "warnings": list(addition.warnings)})
    if not done:
        screen.warn(refused)
        return _refused(addition)
    return 0


def _refused(addition: Addition) -> int:
    """Return the exit code of a change that nobody accepted: 4 when it widens, 5 when it cannot be ranked, else 1."""
    codes = [proposal.changes.exit_code for proposal in addition.proposals]
    return next((code for code in (4, 5) if code in codes), 1)


def meant(alike: Iterable[str]) -> bool:
    """Ask whether a name is the one that was meant, before anything is fetched; --yes does not answer this."""
    for warning in alike:
        screen.warn(screen.styled("careful: ", "yellow") + screen.visible(warning))
    if agreed("Is the name right all the same?", yes=False):
        return True
    screen.warn("nothing was fetched")
    screen.next_step("add the known one, or, if you are sure: --name-is-right")
    return False


def _apply(addition: Addition, *, quiet: bool) -> None:
    with waiting("installing"):
        addition.apply()
    if quiet:
        return
    for wheel in addition.closure.wheels:
        screen.say(f"installed {wheel.distribution} {wheel.version}")
    for proposal in addition.proposals:
        screen.say(f"enabled {proposal.pack}: {', '.join(proposal.skills) or 'no skill'}")


def _show(addition: Addition) -> None:
    for line in addition.lines:
        screen.say(screen.visible(line))
    for warning in addition.warnings:
        screen.say(screen.styled(f"note: {screen.visible(warning)}", "yellow"))


def place_of(options: argparse.Namespace) -> Place:
    """Return the deployment that is meant and this environment, after what was interrupted has been undone."""
    from remit.installing.environment import Environment
    from remit.installing.place import Place

    mend_first()
    return Place(folder=options.folder, environment=Environment.here())


def mend_first() -> None:
    """Undo what a command left that was killed on the way, and say so."""
    from remit.installing.journal import mend

    with waiting("looking for what was interrupted"):
        told = mend()
    if told:
        screen.warn(screen.styled("note: ", "yellow") + screen.visible(told))


def remove(options: argparse.Namespace) -> int:
    """Show what goes and what stays, ask, do it."""
    from remit.installing.removing import removing

    removal = removing(place_of(options), options.pack)
    chosen = {"dependencies": options.dependencies, "data": options.data}
    lines = list(removal.lines(**chosen))
    for line in () if options.json else lines:
        screen.say(screen.visible(line))
    done = agreed(f"Remove {removal.pack}?", yes=options.yes, quiet=options.json)
    if done:
        with waiting("uninstalling"):
            removal.apply(**chosen)
    if options.json:
        screen.say_json({"pack": removal.pack, "removed": done, "lines": lines})
    if not done:
        screen.warn("nothing was changed")
        return 1
    if not options.json:
        screen.say(f"removed {removal.pack}; back with: remit packs rollback {removal.pack}")
    return 0


def rollback(options: argparse.Namespace) -> int:
    """Show the former version, ask, put it in place."""
    from remit.installing.upgrading import going_back

    with (
        waiting("inspecting the former version") as sign,
        going_back(place_of(options), options.pack, change=options.change) as addition,
    ):
        sign.stop()
        question = f"Go back to this version of {', '.join(addition.names)}?"
        return _taken(addition, question, options, refused="nothing was changed")


def upgrade(options: argparse.Namespace) -> int:
    """Upgrade pack by pack; return the gravest exit code."""
    place = place_of(options)
    names = options.packs or _enabled(place)
    if not names:
        screen.say("no pack is enabled and locked here")
    from remit_sandbox import Sandbox

    rows: list[dict[str, Any]] = []
    with Sandbox() as sandbox:
        codes = [_upgrade_one(place, name, options, rows, sandbox) for name in names]
    if options.json:
        screen.say_json({"packs": rows})
    return next((code for code in (1, 2, 4, 5) if code in codes), 0)


def _enabled(place: Place) -> list[str]:
    from remit.installing.place import table

    files = place.files()
    return [name for name, locked in files.lock.packs.items() if table(files, name).enabled and not locked.editable]


def _upgrade_one(
    place: Place, name: str, options: argparse.Namespace, rows: list[dict[str, Any]], sandbox: Sandbox
) -> int:
    """Upgrade one pack; what is wrong with it keeps no other from its turn."""
    from remit.installing.upgrading import upgrading

    try:
        with (
            waiting(f"looking for a newer {name}") as sign,
            upgrading(place, name, change=options.change, sandbox=sandbox) as found,
        ):
            sign.stop()
            if not options.json:
                _show_upgrade(found)
            code = found.exit_code if options.check else _take(found, options)
            rows.append(_facts(found, taken=not options.check and found.whole is not None and code in (0, 4, 5)))
            return code
    except RemitError as error:
        if not options.json and len(options.packs) == 1:
            raise
        rows.append({"pack": name, "error": error.message, "next": error.remedy})
        screen.error(f"pack {name}: {error.message}", error.remedy)
        return error.exit_code


def _show_upgrade(found: Upgrade) -> None:
    from remit.cli.differing import show_changes

    if found.whole is None:
        unknown = f"no index has {found.old.distribution}; whether {found.old.version} is the newest cannot be told"
        screen.say(f"{found.pack}: {f'{found.old.version} is the newest' if found.offered else unknown}")
        return
    screen.say(screen.styled(screen.visible(f"{found.pack}: {found.old.version} -> {found.version}"), "bold"))
    for line in found.whole.closure_lines:
        screen.say(f"  {screen.visible(line)}")
    show_changes(found.changes)
    for note in found.whole.closure.notes:
        screen.say(screen.styled(f"  note: {screen.visible(note)}", "yellow"))


def _take(found: Upgrade, options: argparse.Namespace) -> int:
    """Apply as much of an upgrade as is agreed; return 4 or 5 when something waits."""
    if found.whole is None:
        return 0
    names = ", ".join(found.waiting)
    everything = not found.waiting or _taken_whole(found, names, yes=options.yes)
    chosen = found.whole if everything else found.safe
    if chosen is None:
        screen.warn(f"{found.pack} stays at {found.old.version}: each of its skills would wait for you")
        return found.exit_code
    with waiting("installing"):
        chosen.apply()
    if not options.json:
        screen.say(f"upgraded {found.pack} to {found.version}: {', '.join(chosen.proposals[0].skills)}")
    if everything:
        return 0
    skills = ",".join((*chosen.proposals[0].skills, *found.waiting))
    screen.warn(f"waiting for you: {names}")
    screen.next_step(f"remit packs enable {found.pack} --skills {skills}")
    return found.exit_code


def _taken_whole(found: Upgrade, names: str, *, yes: bool) -> bool:
    """Ask about what is new or wider; without anybody to ask only that waits, and the rest goes on."""
    if yes or sys.stdin.isatty() or found.safe is None:
        return agreed(f"Take it with what is new or wider ({names})?", yes=yes)
    screen.warn(f"nobody is there to agree: unchanged skills go on; only {names} waits (--yes takes it, too)")
    return False


def _facts(found: Upgrade, *, taken: bool) -> dict[str, Any]:
    return {
        "pack": found.pack,
        "old": found.old.version,
        "new": found.version,
        "taken": taken,
        "rank": found.changes.rank,
        "waiting": found.waiting,
        "offered": found.offered,
        "changes": [{"rank": one.rank, "line": one.line} for one in found.changes.changes],
    }
