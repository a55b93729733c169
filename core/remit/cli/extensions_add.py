"""`remit extensions add`: extensions as wheels, inspected with all they need, then installed, locked and enabled."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, agreed, warn_extension_problems
from remit.cli.waiting import waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.extending import ExtensionView
    from remit.extensions.values import ExtensionProblem
    from remit.installing.adding_extensions import ExtensionAddition


def configure(actions: Any) -> None:
    """Describe the action."""
    from remit.cli.packs_install import add_installing

    adding = add_action(
        actions,
        "add",
        "fetch extensions as wheels, inspect them and all they need, then install, lock and enable them",
        """
remit extensions add remit-vault --set address=https://vault.example:8200
remit extensions add ./remit_sink-1.0-py3-none-any.whl --required --yes
""",
    )
    adding.epilog = (
        (adding.epilog or "")
        + """
Where packages come from is pip's own configuration: pip config list. Nothing is built, and nothing that was fetched
runs before you have said yes; from then on it runs in the host, with all its rights.
"""
    )
    adding.add_argument("things", nargs="+", metavar="NAME[==VERSION]|WHEEL")
    adding.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of its own")
    adding.add_argument("--required", action="store_true", help="nothing starts without it")
    add_installing(adding)
    adding.set_defaults(action=add)


def add(options: argparse.Namespace) -> int:
    """Fetch, inspect, show, ask once, install, and say what they give."""
    from remit.cli.packs_install import meant, place_of
    from remit.cli.wishes import values
    from remit.installing.adding import check_names
    from remit.installing.adding_extensions import adding_extensions

    if options.set and len(options.things) > 1:
        raise UsageError("--set is for one extension", remedy="add those with settings one by one")
    place = place_of(options)
    alike = check_names(options.things, place, sure=options.name_is_right)
    if alike and not meant(alike):
        return 1
    required = True if options.required else None
    wanted = adding_extensions(
        place, options.things, change=options.change, settings=values(options.set), required=required
    )
    with waiting("fetching and inspecting") as sign, wanted as addition:
        sign.stop()
        if not options.json:
            _show(addition)
        question = f"Install and enable {', '.join(addition.names)}, in the host?"
        if not agreed(question, yes=options.yes, quiet=options.json):
            screen.warn("nothing was installed, nothing was changed")
            if options.json:
                screen.say_json({"installed": [], "extensions": [], "lines": list(addition.lines)})
            return _refused(addition)
        with waiting("installing"):
            addition.apply()
        installed = [{"distribution": one.distribution, "version": one.version} for one in addition.closure.wheels]
    told: list[dict[str, Any]] | None = [] if options.json else None
    for one in () if options.json else installed:
        screen.say(f"installed {one['distribution']} {one['version']}")
    code = max(tell_what_it_gives(options.folder, name, told) for name in addition.names)
    if told is not None:
        screen.say_json({"installed": installed, "extensions": told, "lines": list(addition.lines)})
    return code


def _show(addition: ExtensionAddition) -> None:
    for line in addition.lines:
        screen.say(screen.visible(line))
    for note in addition.closure.notes:
        screen.say(screen.styled(f"note: {screen.visible(note)}", "yellow"))


def _refused(addition: ExtensionAddition) -> int:
    """Return the exit code of a change that nobody accepted: 4 when it widens, 5 when it cannot be ranked, else 1."""
    codes = [proposal.changes.exit_code for proposal in addition.proposals]
    return next((code for code in (4, 5) if code in codes), 1)


def tell_what_it_gives(folder: str, name: str, told: list[dict[str, Any]] | None = None) -> int:
    """Load what was enabled, once; return 1 when that shows that it cannot be used.

    `told` gets what there is to say as facts, instead of standard output.
    """
    from remit.deployment.extending import view_extensions

    view = view_extensions(folder)
    if view.loaded is None or view.loaded.off:
        if told is None:
            screen.say(f"enabled {name}")
        else:
            _enabled(name, [], [], told)
        explain(view)
        return 0 if view.error is None else 1
    with closing(view.loaded) as loaded:
        gives = [f"{item.kind} {item.name}" for item in loaded.items if item.extension == name]
        problems = [problem for problem in loaded.problems if problem.extension == name]
    _enabled(name, gives, problems, told)
    warn_extension_problems(problems)
    return 1 if problems else 0


def _enabled(
    name: str, gives: list[str], problems: Sequence[ExtensionProblem], told: list[dict[str, Any]] | None
) -> None:
    if told is None:
        screen.say(f"enabled {name}: {', '.join(gives) or 'it gives nothing'}")
        return
    facts = {"extension": name, "applied": True, "gives": gives, "problems": [one.reason for one in problems]}
    told.append(facts)


def explain(view: ExtensionView | None) -> None:
    """Say why nothing was loaded, where nothing was."""
    if view is None:
        screen.warn("There is no deployment here, so nothing was loaded.")
    elif view.error is not None:
        screen.error(f"the deployment does not start: {view.error.message}", view.error.remedy)
    elif view.loaded is None:
        screen.warn("Nobody has accepted this deployment yet, so nothing was loaded.")
        screen.next_step("read remit.toml, then run: remit trust")
    elif view.loaded.off:
        screen.warn("Extensions are off in this run, so nothing was loaded.")
