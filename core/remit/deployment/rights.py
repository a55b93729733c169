"""Permission, grant and mode become the right of one skill, resolved to this machine."""

from __future__ import annotations

import ipaddress
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from remit.deployment.anchors import resolve_paths
from remit.deployment.config import PackConfig
from remit.deployment.protected import Protected, conflict, narrower
from remit.errors import PolicyError
from remit.packs.limits import to_limits
from remit.packs.manifest import Manifest, Setting
from remit.packs.permissions import Permission
from remit.values import ReadOnly
from remit_sandbox.confine.programs import digest_of, script_interpreter
from remit_sandbox.values import Limits, Rights

_PROCESSES = 16


@dataclass(frozen=True, kw_only=True)
class PackGrant:
    """What a deployment gives a pack.

    Attributes:
        settings: the manifest's settings with the deployment's values.
        permission: what the pack asks for, with those settings.
        grant: what every layer gives: never more than the permission.
        private_net: entries for which the deployment itself named the host.
    """

    settings: Mapping[str, Setting]
    permission: Permission
    grant: Permission
    private_net: frozenset[str] = frozenset()


def pack_grant(manifest: Manifest, pack: PackConfig, upper: Mapping[str, Any]) -> PackGrant:
    """Return what the deployment gives a pack.

    Args:
        manifest: of the pack.
        pack: its table in the deployment.
        upper: what the managed file gives at most.

    Raises:
        PolicyError: the grant is wider than the permission, or is no grant.
        DeploymentError: a setting that does not exist or has the wrong type.
    """
    settings = manifest.settings_with(pack.settings)
    permission = manifest.permission(settings)
    given = Permission.granted(pack.grant.given(), permission)
    wider = given.beyond(permission)
    if wider:
        raise PolicyError(
            f"pack {manifest.name} is granted more than it asks for: {'; '.join(wider)}",
            remedy=f"grant at most what it asks for: {_asked(permission)}",
        )
    grant = given.by_key(Permission.granted(upper, given))
    return PackGrant(
        settings=settings,
        permission=permission,
        grant=grant,
        private_net=_named_by_deployer(manifest, pack, grant),
    )


def _asked(permission: Permission) -> str:
    words = permission.words()
    return "; ".join(f"{key} = {', '.join(entries)}" for key, entries in words.items()) or "nothing"


def _named_by_deployer(manifest: Manifest, pack: PackConfig, grant: Permission) -> frozenset[str]:
    """Hosts that the deployment wrote itself may have non-public addresses; the pack's own may not."""
    own = {
        *manifest.permission().net,
        *(net for name in manifest.skills for net in manifest.skill_permission(name).net),
    }
    written = set(Permission.granted({"net": pack.grant.net or ()}, Permission()).net)
    named = {
        entry
        for entry in grant.net
        if not entry.startswith("*") and (entry not in own or (entry in written and _is_private(entry)))
    }
    return frozenset(named)


def _is_private(entry: str) -> bool:
    host = entry.rpartition(":")[0].strip("[]")
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def in_mode(right: Permission, read_only: ReadOnly) -> Permission:
    """Return what is left in read-only mode: no write root, and no network when it is strict."""
    if not read_only:
        return right
    readable = tuple(sorted({*right.fs_read, *right.fs_write}))
    narrowed = replace(right, fs_read=readable, fs_write=())
    return replace(narrowed, net=()) if read_only == "strict" else narrowed


def check_protected(pack: str, grant: Permission, anchors: Mapping[str, Path], protected: Iterable[Protected]) -> None:
    """Refuse a grant to write that opens something protected. `${data}` and `${tmp}` are the pack's own.

    Raises:
        PolicyError: with narrower grants as the remedy.
    """
    listed = tuple(protected)
    for pattern in grant.fs_write:
        if pattern.startswith(("${data}", "${tmp}")):
            continue
        for path in resolve_paths([pattern], anchors).paths:
            root = Path(path.removesuffix("/**") or "/")
            hit = conflict(root, listed)
            if hit is not None:
                raise PolicyError(
                    f"pack {pack} would be able to write {hit.what} ({hit.path}) through {pattern}",
                    remedy=_narrower_lines(pack, root, listed, anchors),
                )


def _narrower_lines(pack: str, root: Path, protected: Iterable[Protected], anchors: Mapping[str, Path]) -> str:
    found = narrower(root, protected)
    if not found:
        return f"set grant.fs.write in [packs.{pack}] to a folder that holds nothing protected"
    patterns = ", ".join(f'"{_shorten(path, anchors)}/**"' for path in found)
    return f"in [packs.{pack}] write grant.fs.write = [{patterns}]"


def _shorten(path: Path, anchors: Mapping[str, Path]) -> str:
    workspace = anchors.get("workspace")
    if workspace is not None and path.is_relative_to(workspace):
        return f"${{workspace}}/{path.relative_to(workspace)}"
    return str(path)


@dataclass(frozen=True, kw_only=True)
class ResolvedRight:
    """A right resolved to this machine, with what of it gives nothing here."""

    rights: Rights
    notes: tuple[str, ...] = field(default=())


def resolve_right(
    right: Permission, anchors: Mapping[str, Path], *, private_net: frozenset[str] = frozenset()
) -> ResolvedRight:
    """Resolve a right to absolute real paths, programs and variables.

    Raises:
        PolicyError: a link leads out of an anchor.
    """
    write = resolve_paths(right.fs_write, anchors, create=True)
    read = resolve_paths(right.fs_read, anchors)
    programs, missing = _programs(right.exec)
    digests, unreadable = _digests(programs)
    rights = Rights(
        read=read.paths,
        write=write.paths,
        net=right.net,
        private_net=tuple(entry for entry in right.net if entry in private_net),
        exec=tuple(digests),
        program_digests=digests,
        shm=right.shm,
        env={name: os.environ[name] for name in right.env if name in os.environ},
        limits=_limits(right),
    )
    return ResolvedRight(rights=rights, notes=(*read.notes, *write.notes, *missing, *unreadable))


def _limits(right: Permission) -> Limits:
    """A program that may be started needs a process to run in, even where the pack names no number."""
    limits = to_limits(right.limits)
    return replace(limits, processes=_PROCESSES) if right.exec and not limits.processes else limits


def _digests(programs: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what each program is now, which is what may run from here on, and what cannot be held to that."""
    digests: dict[str, str] = {}
    notes: list[str] = []
    for path in programs:
        try:
            digests[path] = digest_of(path)
        except OSError as error:
            notes.append(f"the program {path} is left out: it cannot be read ({error.strerror or error})")
            continue
        interpreter = script_interpreter(path)
        if interpreter and os.path.realpath(interpreter) not in programs:
            notes.append(f"{path} is a script, which runs only where its interpreter is granted as well: {interpreter}")
    return digests, tuple(notes)


def _programs(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: list[str] = []
    missing: list[str] = []
    for name in names:
        path = shutil.which(name)
        if path is None:
            missing.append(f"there is no program {name}")
        else:
            found.append(os.path.realpath(path))
    return tuple(sorted(set(found))), tuple(missing)
