"""Loads the extensions that a deployment names: locked, unchanged, one by one. What is wrong with one ends only it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remit.errors import DeploymentError, PackError, UsageError
from remit.extensions.asked_provider import known_names
from remit.extensions.extensions import Extensions
from remit.extensions.gathering import gather, problem
from remit.extensions.importing import Broken, import_extension
from remit.extensions.installed import ExtensionInventory, InstalledExtension, find_extensions
from remit.extensions.locking import changed
from remit.extensions.plugin import Plugin
from remit.extensions.values import ExtensionProblem, Item, Kind, Setup
from remit.packs.folding import fold
from remit.packs.hashes import file_digests
from remit.packs.locked import LockedExtension

SWITCH = "REMIT_EXTENSIONS"
"""The variable that switches all extensions off: `REMIT_EXTENSIONS=off`."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a deployment says of extensions.

    Attributes:
        enabled: names, in the order in which they load.
        required: without these nothing starts, and their audit sinks take every record or stop the call.
        blocked: names that never load.
        signoff: the sign-off channel; empty for none.
        memory: the memory store; empty for `state.db`.
        settings: extension to its settings.
        folder: the deployment's folder.
        principal: for whom it is open.
        where: name to where it is written, for messages.
    """

    enabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    signoff: str = ""
    memory: str = ""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: Path
    principal: str = ""
    where: Callable[[str], str] = lambda name: "remit.toml"


def switched_off() -> bool:
    """Say whether the environment switches all extensions off. Raises UsageError for a value that means nothing."""
    value = os.environ.get(SWITCH, "").strip().lower()
    if value not in ("", "on", "off"):
        raise UsageError(f"{SWITCH} is {value!r}", remedy=f"write {SWITCH}=off, or unset it")
    return value == "off"


def load_extensions(
    wanted: Wanted, locked: Mapping[str, LockedExtension], *, paths: Sequence[str] | None = None, off: bool = False
) -> Extensions:
    """Load the extensions that are wanted; nothing of any other is imported.

    Args:
        wanted: what the deployment says.
        locked: name to what was accepted.
        paths: site folders; None for this interpreter's own.
        off: switch all off for this run.

    Raises:
        DeploymentError: a name that matches nothing, a required extension that is left out, or a sign-off channel
            or memory store that is not there.
    """
    known = known_names(wanted, locked)
    if off or switched_off():
        return _off(wanted, known)
    if not (wanted.enabled or wanted.blocked or wanted.required or wanted.settings or wanted.signoff or wanted.memory):
        return Extensions(known=known)
    inventory = find_extensions(paths)
    _check_names(wanted, locked, inventory)
    plugins, problems = _plugins(wanted, locked, inventory)
    items, more = gather(plugins)
    kept, undo, unfit = _with_dialects(items)
    problems += [*more, *unfit]
    try:
        _check_required(wanted, problems)
        _check_chosen("sign-off channel", wanted.signoff, "extensions.signoff", kept, problems)
        _check_chosen("memory store", wanted.memory, "memory.store", kept, problems)
    except DeploymentError:
        Extensions(kept, on_close=undo).close()
        raise
    return Extensions(
        kept,
        loaded=[plugin.name for plugin in plugins if any(item.extension == plugin.name for item in kept)],
        problems=problems,
        notes=tuple(_notes(wanted, inventory)),
        required=frozenset(plugin.name for plugin in plugins if _among(plugin.name, wanted.required)),
        signoff=wanted.signoff,
        known=known,
        on_close=undo,
    )


def _off(wanted: Wanted, known: frozenset[str]) -> Extensions:
    if wanted.required:
        raise DeploymentError(
            f"extensions are off, and this deployment does not start without {', '.join(wanted.required)}",
            remedy="start it with extensions, or take them out of `required` under [extensions] in remit.toml",
        )
    names = ", ".join(wanted.enabled)
    notes = (f"extensions are off in this run: {names}",) if names else ()
    return Extensions(off=True, known=known, notes=notes)


def _check_names(wanted: Wanted, locked: Mapping[str, LockedExtension], inventory: ExtensionInventory) -> None:
    """A name that matches nothing is a slip of the pen, and a dangerous one where it is to block."""
    there = {fold(name) for name in (*locked, *inventory.extensions, *inventory.problems)}
    for name in wanted.enabled:
        if fold(name) not in there:
            close = inventory.nearest(name)
            hint = f"; did you mean {close!r}?" if close else ""
            raise DeploymentError(
                f"{wanted.where(name)} enables extension {name!r}, which is neither installed nor locked{hint}",
                remedy="correct the name, or take it out of `enabled` under [extensions]",
            )
    for key, names in (("required", wanted.required), ("settings", tuple(wanted.settings))):
        for name in names:
            if not (_among(name, wanted.enabled) or (key == "settings" and fold(name) in there)):
                raise DeploymentError(
                    f"{wanted.where(name)}: extensions.{key} names {name!r}, which is not enabled",
                    remedy=f"correct the name, or take it out of {key} under [extensions]",
                )
    for name in wanted.blocked:
        close = None if fold(name) in there else inventory.nearest(name)
        if close is not None:
            raise DeploymentError(
                f"{wanted.where(name)} blocks extension {name!r}, which is not installed; did you mean {close!r}?",
                remedy="correct the name in `blocked` under [extensions]",
            )


def _plugins(
    wanted: Wanted, locked: Mapping[str, LockedExtension], inventory: ExtensionInventory
) -> tuple[list[Plugin], list[ExtensionProblem]]:
    plugins: dict[str, Plugin] = {}
    problems: list[ExtensionProblem] = []
    for name in wanted.enabled:
        if fold(name) in plugins:
            continue
        try:
            plugins[fold(name)] = _plugin(name, wanted, locked, inventory)
        except Broken as broken:
            problems.append(problem(name, broken))
    return list(plugins.values()), problems


def _plugin(name: str, wanted: Wanted, locked: Mapping[str, LockedExtension], inventory: ExtensionInventory) -> Plugin:
    if _among(name, wanted.blocked):
        raise Broken("it is blocked", remedy="see `blocked` under [extensions] in remit.toml and the managed file")
    installed = installed_extension(name, inventory)
    accepted = next((one for known, one in locked.items() if fold(known) == fold(name)), None)
    again = f"look at what changed, then run: remit extensions enable {installed.name}"
    if accepted is None:
        raise Broken("it is not locked", remedy=f"remit extensions enable {installed.name}")
    digests = digests_of(installed)
    differs = changed(installed, accepted, digests)
    if differs:
        raise Broken(f"it differs from remit.lock and was not loaded: {'; '.join(differs)}", remedy=again)
    settings = next((one for known, one in wanted.settings.items() if fold(known) == fold(name)), {})
    setup = Setup(extension=installed.name, settings=settings, folder=wanted.folder, principal=wanted.principal)
    return Plugin(installed, import_extension(installed, digests), setup)


def installed_extension(name: str, inventory: ExtensionInventory) -> InstalledExtension:
    """Return the installed extension that `name` means. Raises Broken with the reason why there is none."""
    found = inventory.named(name)
    if found is not None:
        return found
    for known, one in inventory.problems.items():
        if fold(known) == fold(name):
            raise Broken(one.reason, remedy=one.remedy)
    close = inventory.nearest(name)
    hint = f"; did you mean {close!r}?" if close else ""
    raise Broken(f"it is not installed{hint}", remedy="install it with pip, or run: remit extensions disable " + name)


def digests_of(installed: InstalledExtension) -> dict[str, str]:
    """Return the SHA-256 of each of its files. Raises Broken when one cannot be read."""
    try:
        return file_digests(installed)
    except PackError as error:
        raise Broken(error.message.replace("pack ", "extension ", 1), remedy=error.remedy) from None


def _with_dialects(
    items: Sequence[Item],
) -> tuple[list[Item], list[Callable[[], None]], list[ExtensionProblem]]:
    """Add the dialects to `remit.dialects`; return what stays, what takes them out, and which do not fit."""
    kept: list[Item] = []
    undo: list[Callable[[], None]] = []
    problems: list[ExtensionProblem] = []
    for item in items:
        if item.kind == "dialect":
            from remit.dialects import register_dialect

            try:
                undo.append(register_dialect(item.name, item.value, by=f"extension {item.origin}"))
            except ValueError as error:
                problems.append(ExtensionProblem(extension=item.extension, reason=f"{error}", remedy="ask its author"))
                continue
        kept.append(item)
    return kept, undo, problems


def _check_required(wanted: Wanted, problems: Sequence[ExtensionProblem]) -> None:
    for one in problems:
        if _among(one.extension, wanted.required):
            raise DeploymentError(f"required {one}", remedy=one.remedy)


def _check_chosen(
    kind: Kind, chosen: str, key: str, items: Sequence[Item], problems: Sequence[ExtensionProblem]
) -> None:
    given = [item.name for item in items if item.kind == kind]
    if chosen and chosen not in given:
        left_out = f"; left out: {'; '.join(map(str, problems))}" if problems else ""
        raise DeploymentError(
            f"{key} names {chosen!r}, a {kind} that no enabled extension gives "
            f"(given: {', '.join(given) or 'none'}{left_out})",
            remedy="remit extensions list shows what is enabled",
        )


def _notes(wanted: Wanted, inventory: ExtensionInventory) -> Iterator[str]:
    for name in wanted.blocked:
        if inventory.named(name) is None:
            yield f"extension {name} is blocked and not installed"


def _among(name: str, names: Sequence[str]) -> bool:
    return fold(name) in map(fold, names)
