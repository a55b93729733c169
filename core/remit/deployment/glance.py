"""Which packs a deployment switches on, read without checking anything: for listings that must be quick."""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING

from remit.packs.folding import fold

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 1024 * 1024
_MOST_LOCK = 32 * 1024 * 1024
_MANIFEST = re.compile(r'packs\.([a-z0-9_]+)\.manifest = "sha256:([0-9a-f]{64})"')
_FACT = re.compile(r'packs\.([a-z0-9_]+)\.(version = "[^"]*"|editable = true)')


def enabled_packs(folder: str | Path = ".") -> dict[str, bool] | None:
    """Return pack to whether `remit.toml` enables it; None where there is no readable file.

    For display only: whether a pack can really be used is for `Deployment.open` to say.
    """
    path = os.path.join(folder, "remit.toml")
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _MOST_BYTES:
            return None
        with open(path, encoding="utf-8-sig") as file:
            packs = tomllib.loads(file.read()).get("packs", {})
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(packs, dict):
        return None
    return {
        fold(name).replace("-", "_"): isinstance(pack, dict) and pack.get("enabled") is True
        for name, pack in packs.items()
    }


def locked_versions(folder: str | Path = ".") -> dict[str, str]:
    """Return pack to the version that `remit.lock` holds, empty for a pack in development, which it does not hold.

    For display only, as `enabled_packs`: files may have changed under the same version.
    """
    versions: dict[str, str] = {}
    facts = [found for line in _lock_lines(folder) if (found := _FACT.match(line))]
    for fact in sorted(facts, key=lambda fact: fact[2], reverse=True):
        versions[fact[1]] = fact[2].partition('"')[2][:-1]
    return versions


def broken_manifest(manifest: str | Path, locked: str) -> str:
    """Say what is wrong with an enabled pack's `pack.toml`; empty for one that is as it was locked, or sound.

    A file that is as it was locked is not read any further: it was sound then.

    Args:
        manifest: the file.
        locked: hexadecimal digest that the lock holds, of `locked_manifests`.
    """
    import hashlib

    try:
        with open(manifest, "rb") as file:
            if hashlib.sha256(file.read(_MOST_BYTES)).hexdigest() == locked:
                return ""
    except OSError as error:
        return f"its pack.toml cannot be read: {error.strerror or error}"
    from pathlib import Path

    from remit.errors import RemitError
    from remit.packs.manifest import read_manifest

    try:
        read_manifest(Path(manifest))
    except RemitError as error:
        return error.message
    return ""


def locked_manifests(folder: str | Path = ".") -> dict[str, str]:
    """Return pack to the hexadecimal digest of its `pack.toml` in `remit.lock`; for display only."""
    return {found[1]: found[2] for line in _lock_lines(folder) if (found := _MANIFEST.match(line))}


def _lock_lines(folder: str | Path) -> list[str]:
    """Return the lines of `remit.lock`, none where there is no file; a pipe or a device is none."""
    path = os.path.join(folder, "remit.lock")
    try:
        if not os.path.isfile(path):
            return []
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_MOST_LOCK).splitlines()
    except OSError:
        return []


def switched_off(folder: str | Path = ".") -> tuple[str, ...]:
    """Return what `remit kill` switched off, `*` for everything; what costs more than a look is done only where needed.

    For display only: `remit kill --list` says by whom, since when and why.
    """
    from remit.state_root import state_root_path

    try:
        with os.scandir(os.path.join(state_root_path(), "deployments")) as states:
            if not any(os.path.exists(os.path.join(state.path, "switches.json")) for state in states):
                return ()
    except OSError:
        return ()
    from remit.deployment.files import real_folder
    from remit.errors import RemitError
    from remit.state.switches import Switches
    from remit.state_folder import find_state

    try:
        found = find_state(real_folder(folder))
    except RemitError:
        return ()
    return () if found is None else tuple(off.name for off in Switches(found.path).all())


def state_of(pack: str, installed: tuple[str, bool] | None, enabled: dict[str, bool], locked: dict[str, str]) -> str:
    """Say in a word or two how a pack stands in a deployment.

    Args:
        pack: its name.
        installed: version, and whether it is a development install; None when it is not installed.
        enabled: of `enabled_packs`.
        locked: of `locked_versions`.
    """
    if not enabled.get(pack):
        return "disabled"
    if installed is None:
        return "enabled, NOT INSTALLED"
    if pack not in locked:
        return "enabled, NOT LOCKED"
    version, development = installed
    changed = locked[pack] != version and not development
    return f"enabled, CHANGED (locked: {locked[pack] or 'dev'})" if changed else "enabled"
