"""`remit packs list` and `remit packs info`: what is installed, and how it stands in a deployment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import warn_problems
from remit.deployment.glance import (
    broken_manifest,
    enabled_packs,
    locked_manifests,
    locked_versions,
    state_of,
    switched_off,
)

if TYPE_CHECKING:
    from remit.deployment.config import PackConfig
    from remit.errors import RemitError
    from remit.packs.installed import InstalledPack
    from remit.packs.listing import ListedPack, ListedProblem, Listing
    from remit.packs.manifest import Manifest


def list_installed(options: argparse.Namespace) -> int:
    """Print installed packs from the index; no pack code runs and no manifest is read."""
    from remit.packs.listing import listing
    from remit.state_root import state_root_path

    found = listing(os.path.join(state_root_path(), "index"))
    enabled = enabled_packs(options.folder)
    fault = _fault(options.folder) if enabled is None else None
    locked = locked_versions(options.folder)
    missing = _missing(found, enabled or {})
    broken = _broken(found, enabled or {}, options.folder)
    off = switched_off(options.folder) if enabled else ()
    told = (*_absent(missing), *_unlocked(found, enabled or {}, locked))
    problems = (*found.problems, *told, *broken.values())
    if options.json:
        packs = [
            {**_facts(pack, enabled), "broken": pack.name in broken, "switched_off": list(_off(pack.name, off))}
            for pack in found.packs
        ]
        told_of = None if fault is None else fault.message
        screen.say_json({"packs": packs, "problems": [problem._asdict() for problem in problems], "error": told_of})
        return 0 if fault is None else 1
    rows = [
        (name, *rest, f"{here}{_switched(name, off) if (enabled or {}).get(name) else ''}")
        for name, *rest, here in (_row(pack, enabled, locked, broken=pack.name in broken) for pack in found.packs)
    ]
    rows += [(name, "-", "-", state_of(name, None, enabled or {}, locked)) for name in missing]
    if rows:
        screen.say(screen.table(("pack", "distribution", "version", "here"), rows))
    else:
        screen.say("No pack is installed. Packs are pip packages; try: remit packs add remit-calc")
    warn_problems((*found.problems, *broken.values()))
    for problem in told:  # why is what the table says
        screen.next_step(f"pack {problem.pack}: {problem.remedy}")
    if off:
        screen.warn("remit kill --list says what is switched off, by whom and why")
    if fault is not None:
        screen.error(f"what this deployment enables is not known: {fault.message}", fault.remedy)
        return 1
    if enabled is None:
        screen.warn("There is no deployment here; make one with: remit init")
    return 0


def _fault(folder: str) -> RemitError | None:
    """Return what is wrong with a `remit.toml` from which nothing could be read; None where there is no such file."""
    if not os.path.lexists(os.path.join(folder, "remit.toml")):
        return None
    from remit.deployment.files import read_files
    from remit.errors import RemitError

    try:
        read_files(folder)
    except RemitError as error:
        return error
    return None


def _off(pack: str, off: Iterable[str]) -> Iterator[str]:
    """Yield the switches over a pack, all of it or single skills."""
    return (name for name in off if name in ("*", pack) or name.startswith(f"{pack}."))


def _switched(pack: str, off: Iterable[str]) -> str:
    """Say what of a pack is switched off, after how it stands otherwise."""
    found = list(_off(pack, off))
    skills = ", ".join(name.partition(".")[2] for name in found)
    return "" if not found else ", SWITCHED OFF" if {"*", pack} & set(found) else f", SWITCHED OFF: {skills}"


def _missing(found: Listing, enabled: dict[str, bool]) -> list[str]:
    known = {pack.name for pack in found.packs} | {problem.pack for problem in found.problems}
    return sorted(name for name, on in enabled.items() if on and name not in known)


def _absent(missing: list[str]) -> Iterator[ListedProblem]:
    from remit.packs.listing import ListedProblem

    for name in missing:
        yield ListedProblem(
            name, "", "it is enabled here and not installed", f"remit sync, or: remit packs disable {name}"
        )


def _unlocked(found: Listing, enabled: dict[str, bool], locked: dict[str, str]) -> Iterator[ListedProblem]:
    from remit.packs.listing import ListedProblem

    for pack in found.packs:
        state = state_of(pack.name, (pack.version, pack.editable), enabled, locked)
        again = f"remit packs enable {pack.name}"
        if "NOT LOCKED" in state:
            yield ListedProblem(pack.name, pack.distribution, "it is enabled here and nothing of it is locked", again)
        elif "CHANGED" in state:
            reason = f"its version is {pack.version}, locked was {locked[pack.name] or 'a development install'}"
            yield ListedProblem(pack.name, pack.distribution, reason, f"look at what changed with {again}")


def _facts(pack: InstalledPack | ListedPack, enabled: dict[str, bool] | None) -> dict[str, Any]:
    return {
        "pack": pack.name,
        "distribution": pack.distribution,
        "version": pack.version,
        "editable": pack.editable,
        "enabled": None if enabled is None else enabled.get(pack.name, False),
    }


def _broken(found: Listing, enabled: dict[str, bool], folder: str) -> dict[str, ListedProblem]:
    """Return enabled packs whose manifest is broken; those of other packs are not read."""
    from remit.packs.listing import ListedProblem

    chosen = [pack for pack in found.packs if enabled.get(pack.name)]
    locked = locked_manifests(folder) if chosen else {}
    told = {pack.name: (pack, broken_manifest(pack.manifest, locked.get(pack.name, ""))) for pack in chosen}
    remedy = "reinstall it, or ask its author"
    return {name: ListedProblem(name, pack.distribution, why, remedy) for name, (pack, why) in told.items() if why}


def _row(pack: ListedPack, enabled: dict[str, bool] | None, locked: dict[str, str], *, broken: bool) -> tuple[str, ...]:
    here = "-" if enabled is None else state_of(pack.name, (pack.version, pack.editable), enabled, locked)
    here = "enabled, BROKEN" if broken else here
    return (pack.name, pack.distribution, pack.version + (" (dev)" if pack.editable else ""), here)


def show(options: argparse.Namespace) -> int:
    """Print what a pack and each of its skills may do, with the settings that this deployment gives it."""
    from remit.packs.discovery import discover
    from remit.packs.manifest import read_pack_manifest
    from remit.packs.words import explain_in_words, explain_skill

    pack = discover().get(options.pack)
    manifest = read_pack_manifest(pack)
    table, notes = _here(options.folder, pack, manifest)
    settings = manifest.settings_with(table.settings)
    facts = _facts(pack, enabled_packs(options.folder)) | {"summary": manifest.summary, "settings": dict(settings)}
    may = explain_in_words(manifest.permission(settings))
    accepted = table.accept_read
    skills = {name: explain_skill(manifest, name, settings, accept_read=name in accepted) for name in manifest.skills}
    if options.json:
        screen.say_json({**facts, "may": may, "skills": skills, "notes": notes})
        return 0
    screen.say(screen.visible(f"{pack.name} ({pack.distribution} {pack.version}): {manifest.summary}"))
    _say_block("the pack as a whole asks for:", may)
    for name, lines in skills.items():
        _say_block(f"skill {pack.name}.{name}:", lines)
    if settings:
        _say_block("settings:", [f"{name} = {value!r}" for name, value in settings.items()])
    for note in notes:
        screen.say(screen.styled(f"note: {screen.visible(note)}", "yellow"))
    return 0


def _say_block(title: str, lines: Iterable[str]) -> None:
    screen.say(title)
    for line in lines:
        screen.say(f"  {screen.visible(line)}")


def _here(folder: str, pack: InstalledPack, manifest: Manifest) -> tuple[PackConfig, list[str]]:
    """Return the pack's table in the deployment, and what keeps the pack from being used there."""
    from remit.deployment.config import PackConfig
    from remit.deployment.files import read_files
    from remit.deployment.layers import canonical
    from remit.errors import RemitError
    from remit.packs.lock import drift

    if not os.path.isfile(os.path.join(folder, "remit.toml")):
        return PackConfig(), []
    try:
        files = read_files(folder)
        packs = files.config.config.packs
        table = next((one for name, one in packs.items() if canonical(name) == pack.name), PackConfig())
        locked = files.lock.packs.get(pack.name)
        changed = drift(pack, manifest, locked) if locked else ()
    except RemitError as error:
        return PackConfig(), [f"what this deployment says of it is not shown: {error.message}"]
    notes = [f"it is left out here until `remit packs enable {pack.name}`: {line}" for line in changed]
    if table.enabled and locked is None:
        notes.append(f"it is enabled here, and nothing of it is locked: run `remit packs enable {pack.name}`")
    return table, notes
