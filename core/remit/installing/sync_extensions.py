"""Extensions in `remit sync`: host code that a person accepted, which must be exactly that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from remit.deployment.files import DeploymentFiles
from remit.errors import LockError, PackError
from remit.extensions.importing import Broken
from remit.extensions.installed import ExtensionInventory, InstalledExtension, find_extensions
from remit.extensions.load import digests_of
from remit.extensions.locking import changed, lock_extension
from remit.installing.closure import Closure
from remit.installing.environment import Environment
from remit.installing.sync_rows import Row
from remit.packs.folding import fold
from remit.packs.hashes import wheel_tag
from remit.packs.lock import Lock
from remit.packs.locked import LockedExtension


def extension_rows(environment: Environment, files: DeploymentFiles, *, strict: bool) -> Iterator[Row]:
    """Say how every enabled extension stands; nothing of it is imported."""
    inventory = find_extensions(environment.import_order())
    for name in files.config.config.extensions.enabled:
        locked = _locked(files.lock, name)
        label = f"{name} (extension)"
        if locked is None:
            remedy = f"look at it, install it, then: remit extensions enable {name}"
            yield Row(pack=label, extension=name, state="not locked", reason="nothing of it is locked", remedy=remedy)
            continue
        row = Row(
            pack=label, extension=name, distribution=locked.distribution, version=locked.version, state="to install"
        )
        installed = inventory.named(name)
        if locked.editable:
            yield _development(row, installed, strict=strict)
        elif installed is not None and not _differs(installed, locked):
            yield replace(row, state="ok")
        else:
            yield row


def _development(row: Row, installed: InstalledExtension | None, *, strict: bool) -> Row:
    if installed is not None and installed.editable and not strict:
        return replace(row, state="dev")
    reason = "it is a development install" + ("" if strict else ", and its project is not installed here")
    remedy = f"build a wheel of it, pip install that, then: remit extensions enable {row.extension}"
    return replace(row, state="failed", reason=reason, remedy=remedy)


def lock_extensions(
    environment: Environment,
    lock: Lock,
    wanted: Mapping[str, LockedExtension],
    closure: Closure,
    pins: Mapping[str, Mapping[str, str]],
    site: str,
    *,
    strict: bool,
) -> tuple[Lock, tuple[str, ...]]:
    """Compare what was fetched with the lock; return the lock with hashes that it did not have, and what they are.

    Args:
        environment: into which they would go.
        lock: as it is so far.
        wanted: name to what is locked.
        closure: what would be installed.
        pins: name to the wheels that each is made of.
        site: folder that the wheels were unpacked into.
        strict: nothing may be new.

    Raises:
        LockError: something is not what was accepted.
    """
    inventory, news = find_extensions(environment.import_order(site)), list[str]()
    known = {wheel for _, wheels in lock.wheels for wheel in wheels}
    for name, locked in wanted.items():
        found = _named(name, inventory, locked)
        differs = list(_differs(found, locked))
        tag = wheel_tag(found)
        line = f"its compiled files for {tag} are not locked yet"
        if line in differs and not strict:
            differs.remove(line)
            news.append(f"extension {name}: compiled files for {tag}, which nobody has accepted yet")
            locked = lock_extension(found, digests_of(found), before=locked)
        if differs:
            raise LockError(
                f"extension {name}: what pip finds is not what is locked: {'; '.join(differs)}",
                remedy=f"look at it, pip install it where a person can, then: remit extensions enable {name}",
            )
        fresh = sorted(pins[name].keys() - known)
        if fresh and not strict:
            what = "files of these wheels, which run in the host and whose hashes nobody has accepted yet"
            news.append(f"extension {name}: {what}: {', '.join(fresh)}")
            locked = replace(locked, wheels={**locked.wheels, **pins[name]})
        lock = lock.with_extension(found.name, locked)
    return lock, tuple(news)


def check_extension(environment: Environment, name: str, locked: LockedExtension) -> None:
    """Raise PackError unless what is installed is what was locked."""
    try:
        found = _named(name, find_extensions(environment.import_order()), locked)
    except LockError as error:
        raise PackError(error.message, remedy=error.remedy) from None
    if differs := _differs(found, locked):
        raise PackError(f"extension {name}: what was installed differs from what was inspected: {'; '.join(differs)}")


def _locked(lock: Lock, name: str) -> LockedExtension | None:
    return next((one for known, one in lock.extensions.items() if fold(known) == fold(name)), None)


def _named(name: str, inventory: ExtensionInventory, locked: LockedExtension) -> InstalledExtension:
    found = inventory.named(name)
    if found is not None:
        return found
    problem = inventory.problems.get(name)
    why = problem.reason if problem is not None else "it has no such entry point"
    raise LockError(f"{locked.distribution} {locked.version} gives no extension {name}: {why}")


def _differs(installed: InstalledExtension, locked: LockedExtension) -> Sequence[str]:
    try:
        return changed(installed, locked, digests_of(installed))
    except Broken as broken:
        return (broken.reason,)
