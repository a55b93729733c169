"""Fetches wheels: resolves what is needed, gets the files, and makes sure that they are the ones that were meant."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from remit.errors import PackError, UsageError
from remit.installing import pip
from remit.installing.environment import Environment, same
from remit.packs.archive import LARGEST
from remit.packs.folding import fold


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """One wheel that was fetched and not looked into yet.

    Attributes:
        path: the file.
        requested: a person named it; the others are what it needs.
        yanked: its publisher withdrew this version.
    """

    path: Path
    requested: bool
    yanked: bool = False


def checked_wishes(wanted: Sequence[str]) -> list[str]:
    """Return requirements as pip takes them, and real paths of wheels.

    Raises:
        UsageError: one is neither `NAME`, `NAME==VERSION` nor a wheel; the message says what to do instead.
    """
    return [_checked(one) for one in wanted]


def _checked(one: str) -> str:
    path = Path(one)
    if one.endswith(".whl"):
        if not path.is_file():
            raise UsageError(f"there is no wheel {one}")
        return str(path.resolve())
    if "/" in one or "\\" in one or one.startswith((".", "-")) or one.endswith((".gz", ".zip", ".bz2")):
        what = "a folder" if path.is_dir() else "a source distribution" if path.is_file() else "no name of a package"
        raise UsageError(
            f"{one} is {what}; packs are added as wheels, because installing anything else runs its code",
            remedy="build a wheel (pip wheel --no-deps DIR) and add that, or: remit packs try DIR",
        )
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(one)
    except InvalidRequirement as error:
        raise UsageError(f"{one!a} is no NAME or NAME==VERSION: {str(error).splitlines()[0]}") from None
    if requirement.url or requirement.marker or requirement.extras:
        raise UsageError(f"{one!a}: only a name and a version, such as {requirement.name}==1.0, can be added")
    return str(requirement)


def name_of(wish: str) -> str:
    """Return the distribution that a checked wish means, folded."""
    if wish.endswith(".whl"):
        return fold(Path(wish).name.partition("-")[0])
    from packaging.requirements import Requirement

    return fold(Requirement(wish).name)


def fetch(
    environment: Environment,
    wanted: Sequence[str],
    folder: Path,
    *,
    constraints: Sequence[str] = (),
    upgrade: bool = False,
    again: bool = False,
) -> list[Fetched]:
    """Put the wheels that `wanted` and what it needs are made of into `folder`; what is installed already is left out.

    Args:
        environment: into which they shall go.
        wanted: of `checked_wishes`.
        folder: empty and private.
        constraints, upgrade, again: as in `pip.resolve`.

    Raises:
        PackError: no wheels satisfy this, or a file is not the one that pip found.
    """
    items = pip.resolve(environment, wanted, constraints=constraints, upgrade=upgrade, again=again)
    names = [name_of(wish) for wish in wanted]
    _no_own_addresses(items, names)
    remote: list[dict[str, Any]] = []
    for item in items:
        source = _local(item)
        if source is None:
            remote.append(item)
        else:
            _copy(source, folder)
    if remote:
        hashed = all(map(_expected, remote))
        pip.download(environment, [_pinned(item, hashed=hashed) for item in remote], folder)
    return [_found(item, folder, names) for item in items]


def _no_own_addresses(items: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Refuse what a wheel wants from an address of its own: no index and no person vouches for it."""
    for item in items:
        name = item["metadata"]["name"]
        if item.get("is_direct") and fold(name) not in names:
            raise PackError(
                f"{name} would come from an address that a wheel itself names, not from where pip gets packages",
                remedy="ask the pack's author to require it by name and version",
            )


def _local(item: Mapping[str, Any]) -> Path | None:
    url = urlsplit(item["download_info"]["url"])
    return Path(unquote(url.path)) if url.scheme == "file" and url.netloc in ("", "localhost") else None


def _copy(source: Path, folder: Path) -> None:
    try:
        if source.stat().st_size > LARGEST:
            raise PackError(f"{source.name} is larger than {LARGEST // 1024**2} MiB")
        shutil.copyfile(source, folder / source.name)
    except OSError as error:
        raise PackError(f"{source} cannot be read ({error.strerror})") from None


def _pinned(item: Mapping[str, Any], *, hashed: bool) -> str:
    """Write one line for pip; an index that gives a hash for some files only makes pip refuse them all."""
    facts = item["metadata"]
    return f"{facts['name']}=={facts['version']}" + (f" --hash=sha256:{_expected(item)}" if hashed else "")


def _expected(item: Mapping[str, Any]) -> str:
    archive = item["download_info"].get("archive_info") or {}
    return str((archive.get("hashes") or {}).get("sha256", ""))


def _found(item: Mapping[str, Any], folder: Path, names: Sequence[str]) -> Fetched:
    facts, digest = item["metadata"], _expected(item)
    fitting = [path for path in folder.glob("*.whl") if _fits(path, facts["name"], facts["version"])]
    if len(fitting) != 1:
        raise PackError(f"{facts['name']} {facts['version']} was not downloaded as one wheel", remedy="try again")
    path = fitting[0]
    if digest and sha256(path) != digest:
        raise PackError(f"{path.name} has another hash than pip was told", remedy="do not install it; try again later")
    return Fetched(path=path, requested=fold(facts["name"]) in names, yanked=bool(item.get("is_yanked")))


def _fits(path: Path, name: str, version: str) -> bool:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename
    from packaging.version import InvalidVersion, Version

    try:
        found, which, _, _ = parse_wheel_filename(path.name)
        return same(found, name) and which == Version(version)
    except (InvalidWheelFilename, InvalidVersion):
        return False


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
