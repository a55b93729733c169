"""`remit extensions`: trusted code of other distributions that runs in the host."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remit.cli import extensions_add, screen
from remit.cli.opening import (
    add_action,
    add_folder,
    add_json,
    add_no_extensions,
    agreed,
    warn_extension_problems,
)
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.extending import ExtensionProposal, ExtensionView
    from remit.extensions.standing import Listed


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit extensions list
  remit extensions add remit-vault --set address=https://vault.example:8200
  remit extensions enable vault --set address=https://vault.example:8200
  remit extensions disable vault

Extensions run in the host with all its rights. REMIT_EXTENSIONS=off switches all of them off for one run.
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="extensions_action", metavar="action", required=True)
    listing = add_action(
        actions, "list", "list extensions that are installed, and what they give", "remit extensions list --json"
    )
    add_no_extensions(listing)
    extensions_add.configure(actions)
    enabling = add_action(
        actions,
        "enable",
        "show what extensions are, and let them load",
        """
remit extensions enable vault --set address=https://vault.example:8200
remit extensions enable file_sink desk --required --yes
""",
    )
    enabling.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of its own")
    enabling.add_argument("--required", action="store_true", help="nothing starts without it")
    enabling.add_argument("--yes", action="store_true", help="accept what is shown")
    disabling = add_action(
        actions,
        "disable",
        "let extensions load no more",
        "remit extensions disable vault desk",
    )
    disabling.add_argument("--yes", action="store_true", help="nothing is asked in any case")
    for action in (enabling, disabling):
        action.add_argument("extensions", nargs="+", metavar="NAME")
    for action, run in ((listing, list_extensions), (enabling, enable), (disabling, disable)):
        add_folder(action)
        add_json(action)
        action.set_defaults(action=run)


def list_extensions(options: argparse.Namespace) -> int:
    """Print what is installed and how it stands here.

    Those that the deployment enables are loaded to say what they give; no other is imported.
    """
    from remit.extensions.standing import listed

    view = _view(options)
    loaded = view.loaded if view is not None else None
    rows = listed(
        enabled=view.config.enabled if view else (),
        required=view.config.required if view else (),
        blocked=view.config.blocked if view else (),
        locked=view.locked if view else {},
        loaded=loaded,
    )
    if loaded is not None:
        loaded.close()  # what it gives can be shown all the same
    if options.json:
        screen.say_json({"extensions": [_facts(row) for row in rows], "off": loaded is not None and loaded.off})
        return 0
    if rows:
        headings = ("extension", "distribution", "version", "here", "gives")
        screen.say(screen.table(headings, [_row(row) for row in rows]))
    else:
        screen.say("No extension is installed. docs/extensions.md says how to write one.")
    warn_extension_problems(row.problem for row in rows if row.problem is not None)
    extensions_add.explain(view)
    return 0


def _view(options: argparse.Namespace) -> ExtensionView | None:
    """Return the extensions of the deployment here, None where there is none."""
    import os

    from remit.deployment.extending import view_extensions
    from remit.deployment.source import CONFIG_NAME

    if not os.path.isfile(os.path.join(options.folder, CONFIG_NAME)):
        return None
    return view_extensions(options.folder, off=options.no_extensions)


def _row(row: Listed) -> tuple[screen.Cell, ...]:
    version = row.version + (" (dev)" if row.editable else "")
    return (row.extension, row.distribution or "-", version or "-", row.state, list(_gives(row)) or "-")


def _gives(row: Listed) -> Iterator[str]:
    for item in row.gives:
        yield f"{item.kind} {item.name}"


def _facts(row: Listed) -> dict[str, Any]:
    problem = row.problem
    return {
        "extension": row.extension,
        "distribution": row.distribution,
        "version": row.version,
        "editable": row.editable,
        "state": row.state,
        "required": row.required,
        "gives": [_item(item) for item in row.gives],
        "reason": problem.reason if problem else "",
        "remedy": problem.remedy if problem else "",
        "details": problem.details if problem else "",
    }


def _item(item: Any) -> dict[str, str]:
    """Return what an extension gives; of a prompt fragment its text, since it goes to the model."""
    shown = {"kind": item.kind, "name": item.name, "from": item.source}
    return {**shown, "text": item.value} if item.kind == "prompt fragment" else shown


def enable(options: argparse.Namespace) -> int:
    """Show what would be enabled, ask, apply, and say what it gives; one after the other, up to one that fails."""
    if options.set and len(options.extensions) > 1:
        raise UsageError("--set is for one extension", remedy="enable those with settings one by one")
    told: list[dict[str, Any]] | None = [] if options.json else None
    code = next((code for name in options.extensions if (code := _enable(name, options, told))), 0)
    if told is not None:
        screen.say_json({"extensions": told})
    return code


def _enable(name: str, options: argparse.Namespace, told: list[dict[str, Any]] | None) -> int:
    """Enable one; `told` gets its facts instead of standard output."""
    from remit.cli.wishes import values
    from remit.deployment.extending import enable_extension

    proposal = enable_extension(
        options.folder,
        name,
        settings=values(options.set),
        required=True if options.required else None,
    )
    if told is None:
        _show(proposal)
    if not agreed(f"Enable extension {proposal.extension}?", yes=options.yes, quiet=told is not None):
        screen.warn("nothing was changed")
        if told is not None:
            told.append({"extension": proposal.extension, "applied": False, "lines": list(proposal.lines)})
        return proposal.changes.exit_code
    proposal.apply()
    return extensions_add.tell_what_it_gives(options.folder, proposal.extension, told)


def disable(options: argparse.Namespace) -> int:
    """Switch extensions off."""
    from remit.deployment.extending import disable_extension

    for name in options.extensions:
        proposal = disable_extension(options.folder, name)
        proposal.apply()
        if not options.json:
            screen.say(f"disabled {proposal.extension}")
    if options.json:
        screen.say_json({"extensions": [{"extension": name, "applied": True} for name in options.extensions]})
    return 0


def _show(proposal: ExtensionProposal) -> None:
    for line in proposal.lines:
        screen.say(screen.visible(line))
