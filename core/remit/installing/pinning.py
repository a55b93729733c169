"""The wheels that a pack or an extension is made of, which a lock names so that another machine installs the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from remit.deployment.files import DeploymentFiles
from remit.errors import RemitError
from remit.installing.closure import Closure, requirement_names
from remit.installing.environment import Environment, Installed
from remit.installing.fetch import fetch
from remit.packs.folding import fold
from remit.packs.wheel import WheelFacts, read_wheel

Wheels = Mapping[str, Mapping[str, str]]
"""Folded name of a distribution to its wheels, file name to `sha256:...`."""


def pins_of(pack: str, closure: Closure, installed: Mapping[str, Installed], there: Wheels) -> dict[str, str]:
    """Return the wheels that a pack is made of, file name to `sha256:...`: its own and what it needs.

    Args:
        pack: its name.
        closure: what would be installed.
        installed: what is installed now.
        there: wheels of that, as `wheels_there` returns them.
    """
    own = next((wheel.distribution for wheel in closure.wheels if wheel.pack == pack), None)
    return {} if own is None else wheels_of(own, closure, installed, there)


def wheels_of(distribution: str, closure: Closure, installed: Mapping[str, Installed], there: Wheels) -> dict[str, str]:
    """Return the wheels that a distribution of a closure and what it needs are made of, as `pins_of` does."""
    new = {fold(wheel.distribution): wheel for wheel in closure.wheels}
    pins: dict[str, str] = {}
    for name in _needed([fold(distribution)], installed, new):
        pins.update({new[name].path.name: f"sha256:{new[name].sha256}"} if name in new else there.get(name, {}))
    return pins


def wheels_there(environment: Environment, files: DeploymentFiles, closure: Closure, *, ask: bool = True) -> Wheels:
    """Return the wheels of what a closure needs and is installed already.

    The lock knows some, and pip is asked for the others, except for what Remit itself needs. What neither knows is
    left out.

    Args:
        environment: where they are installed.
        files: of the deployment.
        closure: what would be installed.
        ask: pip may be asked.
    """
    new, installed = {fold(wheel.distribution): wheel for wheel in closure.wheels}, environment.installed()
    names = _needed([name for name in new if name in closure.requested], installed, new)
    locked = _locked_wheels(files)
    there = {name: installed[name] for name in names if name in installed and name not in new}
    known = {name: locked[name, one.version] for name, one in there.items() if (name, one.version) in locked}
    unknown = set(there) - set(known) - _of_remit(installed) if ask else set()
    return {**known, **_installed_wheels(environment, sorted(unknown))}


def _locked_wheels(files: DeploymentFiles) -> dict[tuple[str, str], dict[str, str]]:
    """Return (folded name, version) to the wheels that the lock names for it."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for _, wheels in files.lock.wheels:
        for wheel, digest in wheels.items():
            name, _, rest = wheel.partition("-")
            found.setdefault((fold(name), rest.partition("-")[0]), {})[wheel] = digest
    return found


def _needed(
    names: Iterable[str], installed: Mapping[str, Installed], new: Mapping[str, WheelFacts] | None = None
) -> list[str]:
    """Return folded names and those of everything that they need, however far.

    Args:
        names: to begin with.
        installed: what is installed, by folded name.
        new: what comes before it, by folded name.
    """
    found = list(dict.fromkeys(names))
    for name in found:
        one = (new or {}).get(name) or installed.get(name)
        found += [more for more in dict.fromkeys(requirement_names(one.requires if one else ())) if more not in found]
    return found


def _of_remit(installed: Mapping[str, Installed]) -> frozenset[str]:
    """Return what is installed because Remit needs it: it is there wherever Remit is, in versions of its own."""
    return frozenset(_needed(["remit"], installed))


def _installed_wheels(environment: Environment, names: Iterable[str]) -> Wheels:
    """Fetch the wheels of installed distributions, and return the hashes of those that hold exactly what is installed.

    Nothing is installed. What pip does not find, or finds with other files, is left out.

    Args:
        environment: where they are installed.
        names: folded names.
    """
    found: dict[str, dict[str, str]] = {}
    installed = environment.installed()
    for name in (name for name in names if name in installed):
        with TemporaryDirectory(prefix="remit-") as folder:
            wheel = _fetched(environment, installed[name], Path(folder))
            if wheel is not None and _same_files(wheel, installed[name]):
                found[name] = {wheel.path.name: f"sha256:{wheel.sha256}"}
    return found


def _fetched(environment: Environment, one: Installed, folder: Path) -> WheelFacts | None:
    try:
        (wheel,) = fetch(environment, [f"{one.shown}=={one.version}"], folder, again=True)
        return read_wheel(wheel.path)
    except (RemitError, ValueError):
        return None


def _same_files(wheel: WheelFacts, one: Installed) -> bool:
    """Whether every file that a wheel would put into the site folder is there as it is; pip rewrites only scripts."""
    record = f"{wheel.dist_info}/RECORD"
    return all(
        _sha256(one.folder.parent / file.target) == file.sha256
        for file in wheel.files.values()
        if not file.target.startswith("../") and file.target != record
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
