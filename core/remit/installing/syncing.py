"""`remit sync`: install exactly what a deployment names and locks, having compared it before anything is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from remit.deployment.acceptance import accept
from remit.deployment.edit import planned_files, write_files
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
from remit.errors import LockError, PackError, RemitError
from remit.installing import store, undo
from remit.installing.closure import Closure, inspect
from remit.installing.environment import Environment
from remit.installing.fetch import Fetched, fetch
from remit.installing.pinning import Wheels, pins_of, wheels_of, wheels_there
from remit.installing.pip import resolve
from remit.installing.place import Place, files_as_they_were, sources
from remit.installing.staging import unpack
from remit.installing.sync_extensions import check_extension, extension_rows, lock_extensions
from remit.installing.sync_rows import Row
from remit.packs.drift import drift
from remit.packs.folding import fold
from remit.packs.hashes import hash_files, wheel_tag
from remit.packs.lock import Lock, LockedPack
from remit.packs.locked import LockedExtension
from remit.packs.manifest import read_manifest
from remit.packs.wheel import WheelFacts
from remit.state_folder import open_state


@dataclass(frozen=True, kw_only=True)
class Sync:
    """What has to be installed so that the environment holds what the deployment locks.

    Attributes:
        place: the deployment and the environment.
        files: of the deployment, as they were read.
        rows: every enabled pack and extension.
        closure: what would be installed; None for nothing.
        wheels: the folder that the wheels lie in, for as long as this is being looked at.
        lock: the lock as it would be written: the same, with hashes that it did not have yet.
        news: what in the lock nobody has accepted yet, in words; a person must agree.
    """

    place: Place
    files: DeploymentFiles
    rows: tuple[Row, ...]
    closure: Closure | None = None
    wheels: Path = Path()
    lock: Lock = field(default_factory=Lock)
    news: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[Row, ...]:
        """Packs that this does not bring in order."""
        return tuple(row for row in self.rows if row.state in ("not locked", "failed"))

    def apply(self) -> None:
        """Install, check, and write the lock where it gained hashes.

        Raises:
            RunError: something failed, and everything was put back.
        """
        if self.closure is None:
            return
        store.keep_wheels(wheel.path for wheel in self.closure.wheels)
        planned = [planned_files(self.files, self.files.config.text, self.lock)]
        with (
            undo.installed(self.place.environment, self.closure, self.wheels, files=self.files, planned=planned),
            files_as_they_were(self.files),
        ):
            for row in self.rows:
                if row.state == "to install" and row.extension:
                    check_extension(self.place.environment, row.extension, _extension(self.lock, row.extension))
                elif row.state == "to install":
                    self.place.check_installed(row.pack, self.lock.packs[row.pack])
            if self.lock != self.files.lock:
                accept(write_files(self.files, self.files.config.text, self.lock), open_state(self.files.folder))


@contextmanager
def syncing(place: Place, *, locked: bool = False) -> Iterator[Sync]:
    """Find what is missing or changed, fetch and compare it; nothing is installed yet.

    Args:
        place: the deployment and the environment.
        locked: change nothing in the lock; development installs, and what it has no hash of, are refused.

    Raises:
        NotTrusted: nobody has accepted the deployment.
        LockError: what pip finds is not what is locked, or the lock pins one library twice.
        PackError: there is no such wheel, or something speaks against one.
    """
    files = place.files()
    rows = (*_rows(place, files, strict=locked), *extension_rows(place.environment, files, strict=locked))
    missing = [row for row in rows if row.state == "to install"]
    wanted = {row.pack: files.lock.packs[row.pack] for row in missing if not row.extension}
    hosted = {row.extension: _extension(files.lock, row.extension) for row in missing if row.extension}
    found = Sync(place=place, files=files, rows=rows, lock=files.lock)
    if not missing:
        yield found
        return
    with TemporaryDirectory(prefix="remit-") as folder:
        wheels, site = Path(folder, "wheels"), Path(folder, "site-packages")
        wheels.mkdir()
        site.mkdir()
        fetched = _fetched(place.environment, [*wanted.values(), *hosted.values()], files.lock, wheels)
        named = [one.distribution for one in hosted.values()]
        change = [*(pack.distribution for pack in wanted.values()), *named]
        closure = inspect(place.environment, fetched, change=change, extensions=named)
        _check_hashes(closure, files.lock, strict=locked)
        unpack(closure, site)
        there = wheels_there(place.environment, files, closure, ask=not locked)
        lock, news = _lock(place, files, wanted, closure, there, str(site), strict=locked)
        installed = place.environment.installed()
        pins = {name: wheels_of(one.distribution, closure, installed, there) for name, one in hosted.items()}
        lock, more = lock_extensions(place.environment, lock, hosted, closure, pins, str(site), strict=locked)
        yield replace(found, closure=closure, wheels=wheels, lock=lock, news=(*news, *more))


def _rows(place: Place, files: DeploymentFiles, *, strict: bool) -> Iterator[Row]:
    inventory = place.environment.inventory(sources=sources(files))
    for name, pack in sorted((canonical(name), pack) for name, pack in files.config.config.packs.items()):
        if not pack.enabled:
            continue
        locked = files.lock.packs.get(name)
        if locked is None:
            remedy = f"remit packs add {pack.from_ or 'DISTRIBUTION'}"
            yield Row(pack=name, state="not locked", reason="nothing of it is locked", remedy=remedy)
            continue
        row = Row(pack=name, distribution=locked.distribution, version=locked.version, state="ok")
        installed = inventory.packs.get(name)
        try:
            if locked.editable:
                yield _development(row, locked, installed is not None and installed.editable, strict=strict)
            elif installed is None or drift(
                installed, read_manifest(installed.manifest, package=installed.package), locked
            ):
                yield replace(row, state="to install")
            else:
                yield row
        except RemitError:
            yield replace(row, state="to install")


def _development(row: Row, locked: LockedPack, installed: bool, *, strict: bool) -> Row:
    if strict:
        return replace(
            row,
            state="failed",
            reason="it is a development install, whose files are not held",
            remedy="build a wheel of it, and: remit packs add ./WHEEL",
        )
    if installed:
        return replace(row, state="dev")
    return replace(
        row,
        state="failed",
        reason="it is a development install, and its project is not installed here",
        remedy=f"pip install -e {locked.source}",
    )


def _extension(lock: Lock, name: str) -> LockedExtension:
    return next(one for known, one in lock.extensions.items() if fold(known) == fold(name))


def _fetched(
    environment: Environment, wanted: Sequence[LockedPack | LockedExtension], lock: Lock, wheels: Path
) -> list[Fetched]:
    """Fetch what is locked; what is installed and changed is fetched again.

    Raises:
        PackError: something cannot be had; the message names everything of which that is so.
    """
    installed = environment.installed()
    pins = _pins(lock)
    again = [one for one in wanted if _same_version(installed, one)]
    first = [one for one in wanted if one not in again]
    found: list[Fetched] = []
    missing: list[PackError] = []
    for some, anew in ((again, True), (first, False)):
        exact = sorted({f"{one.distribution}=={one.version}" for one in some})
        try:
            found += fetch(environment, exact, wheels, constraints=pins, again=anew) if exact else ()
        except PackError as error:
            each = _missing(environment, exact, pins, again=anew) if len(exact) > 1 else []
            missing += each or [error]
    if missing:
        raise PackError(
            "; ".join(dict.fromkeys(error.message for error in missing)),
            remedy="\n".join(dict.fromkeys(error.remedy for error in missing if error.remedy)),
        )
    return list({one.path: one for one in found}.values())


def _missing(environment: Environment, exact: Iterable[str], pins: Iterable[str], *, again: bool) -> list[PackError]:
    """Ask pip about each requirement alone: about several it names only the first that it does not find."""
    errors: list[PackError] = []
    for one in exact:
        try:
            resolve(environment, [one], constraints=pins, again=again)
        except PackError as error:
            errors.append(error)
    return errors


def _same_version(installed: Mapping[str, object], pack: LockedPack | LockedExtension) -> bool:
    return getattr(installed.get(fold(pack.distribution)), "version", "") == pack.version


def _pins(lock: Lock) -> list[str]:
    """Return `name==version` for every wheel that the lock names.

    Raises:
        LockError: one distribution in two versions, as after a merge.
    """
    versions: dict[str, tuple[str, str]] = {}
    for who, wheels in lock.wheels:
        for wheel in wheels:
            name, version = fold(wheel.split("-")[0]), wheel.split("-")[1]
            first = versions.setdefault(name, (version, who))
            if first[0] != version:
                raise LockError(
                    f"remit.lock wants {name} {first[0]} for {first[1]} and {version} for {who}",
                    remedy="\n".join(map(_upgrade, (who, first[1]))),
                )
    return [f"{name}=={version}" for name, (version, _) in versions.items()]


def _upgrade(who: str) -> str:
    kind, _, name = who.partition(" ")
    return f"remit packs upgrade {name}" if kind == "pack" else f"remit extensions enable {name}"


def _check_hashes(closure: Closure, lock: Lock, *, strict: bool) -> None:
    """Every wheel that the lock names must be the very one; with `strict`, no library may be one that it does not."""
    known = {name: digest for _, wheels in lock.wheels for name, digest in wheels.items()}
    for wheel in closure.wheels:
        locked = known.get(wheel.path.name)
        if locked is not None and locked != f"sha256:{wheel.sha256}":
            raise LockError(
                f"{wheel.path.name} has another hash than remit.lock says: it was replaced where pip gets packages",
                remedy="do not install it; ask its publisher, or look at it: remit packs diff WHEEL",
            )
        if locked is None and strict and not wheel.pack:
            raise LockError(
                f"remit.lock has no hash of {wheel.path.name}, which a pack or an extension needs",
                remedy="run remit sync without --locked where a person can look, and keep the lock",
            )


def _lock(
    place: Place,
    files: DeploymentFiles,
    wanted: Mapping[str, LockedPack],
    closure: Closure,
    there: Wheels,
    site: str,
    *,
    strict: bool,
) -> tuple[Lock, tuple[str, ...]]:
    """Compare what was fetched with the lock; return the lock with the hashes of this system, and what is new in it."""
    lock, news = files.lock, list[str]()
    installed = place.environment.installed()
    for name, locked in wanted.items():
        found = place.pack(name, site)
        changed = list(drift(found, read_manifest(found.manifest, package=found.package), locked))
        tag, compiled = wheel_tag(found), hash_files(found)[1]
        line = f"its compiled files for {tag} are not locked yet"
        if line in changed and not strict:
            changed.remove(line)
            news.append(f"pack {name}: compiled files for {tag}, which nobody has accepted yet")
            locked = replace(locked, compiled={**locked.compiled, tag: compiled})
        if changed:
            raise LockError(
                f"pack {name}: what pip finds is not what is locked: {'; '.join(changed)}",
                remedy=f"remit packs upgrade {name}, to look at it",
            )
        pins = pins_of(name, closure, installed, there)
        lock = lock.with_pack(name, locked if strict else replace(locked, wheels={**locked.wheels, **pins}))
    return lock, tuple(news)


def to_say(wheels: Iterable[WheelFacts]) -> str:
    """Return the names and versions of wheels on one line."""
    return ", ".join(f"{wheel.distribution} {wheel.version}" for wheel in wheels)
