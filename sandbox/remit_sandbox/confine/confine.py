"""The order in which a cell confines itself: privileges, Landlock, seccomp. Nothing of a pack runs before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from remit_sandbox.confine import landlock, process, readable, seccomp
from remit_sandbox.confine.landlock import EXECUTE, READ, READ_DIR, READ_FILE, TRUNCATE, WRITE, WRITE_FILE
from remit_sandbox.confine.programs import check, loader_of
from remit_sandbox.confine.shared import PLACE
from remit_sandbox.values import EnforcedBy

Opened = tuple[int, int, bool]
"""A descriptor, the Landlock rights on it, and whether it is a folder."""

_TREE = "/**"


@dataclass(frozen=True, kw_only=True)
class Means:
    """What the kernel offers here.

    Attributes:
        landlock: the ABI, 0 where there is none.
        no_landlock: why there is none, in words.
        no_seccomp: why there are no system call filters, in words; empty when there are.
    """

    landlock: int
    no_landlock: str
    no_seccomp: str

    @property
    def missing(self) -> tuple[str, ...]:
        """What `enforcement = "kernel"` needs and this machine lacks."""
        return tuple(reason for reason in (self.no_landlock, self.no_seccomp) if reason)


def means(highest_abi: int = landlock.HIGHEST_ABI) -> Means:
    """Ask the kernel. `highest_abi` makes a newer Landlock look older; 0 makes it look absent."""
    level = min(landlock.abi(), highest_abi)
    reason = landlock.missing() or ("" if level else "Landlock is left out")
    return Means(landlock=level, no_landlock=reason, no_seccomp=seccomp.missing())


@dataclass(frozen=True, kw_only=True)
class Paths:
    """The paths of one cell; a grant is a real path of a file, or `/folder/**`.

    `digests` says which SHA-256 a program must have; `shm` that `/dev/shm` is the cell's own.
    """

    read: Sequence[str] = ()
    write: Sequence[str] = ()
    programs: Sequence[str] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    shm: bool = False
    site: Sequence[str] = ()
    tmp: str = ""


def open_paths(paths: Sequence[str], rights: int = READ) -> list[Opened]:
    """Descriptors of paths that exist; a symbolic link is followed now and never again."""
    return [_opened(os.open(path, os.O_PATH | os.O_CLOEXEC), rights) for path in paths if os.path.exists(path)]


def open_grants(paths: Paths) -> list[Opened]:
    """Descriptors of everything granted to one cell.

    Raises:
        OSError: when a granted path does not exist, is a link by now, or is no folder where one is due; when a
            program is not the one that was granted, or could be written by the cell that runs it.
    """
    opened = [_open_grant(grant, READ) for grant in paths.read]
    opened += [_open_grant(grant, WRITE) for grant in paths.write]
    opened += _open_programs(paths)
    opened += open_paths(paths.site)
    opened += open_paths((PLACE,), WRITE) if paths.shm else []
    return opened + open_paths((paths.tmp,), WRITE)


def open_own_process() -> list[Opened]:
    """Descriptors of what a process may read of itself in /proc.

    Whoever keeps them open keeps the right: without them the kernel may drop these entries from its
    cache and make new ones, which no rule knows.
    """
    return open_paths(("/proc/self",), READ_DIR) + open_paths(readable.OWN_PROCESS)


def _open_programs(paths: Paths) -> list[Opened]:
    opened = [_open_program(path, paths) for path in sorted(set(paths.programs))]
    loaders = {loader for program in paths.programs if (loader := loader_of(program))}
    return opened + [_open_grant(path, EXECUTE | READ_FILE) for path in sorted(loaders - set(paths.programs))]


def _open_program(path: str, paths: Paths) -> Opened:
    opened = _open_grant(path, EXECUTE | READ_FILE)
    if path in paths.digests:
        check(path, opened[0], paths.digests[path])
    if not path.endswith(_TREE) and any(_contains(grant, path) for grant in paths.write):
        raise OSError(0, "is a program that the skill may run and write, too; grant one or the other", path)
    return opened


def _contains(grant: str, path: str) -> bool:
    return path == grant or (grant.endswith(_TREE) and path.startswith(grant.removesuffix("**")))


def _open_grant(grant: str, rights: int) -> Opened:
    folder = grant.endswith(_TREE)
    path = (grant.removesuffix(_TREE) or "/") if folder else grant
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | (os.O_DIRECTORY if folder else 0))
    if os.readlink(f"/proc/self/fd/{descriptor}") != path:
        raise OSError(0, "is reached through a symbolic link", path)
    opened = _opened(descriptor, rights)
    if opened[2] and not folder:
        raise OSError(0, "is a folder; a grant of a folder ends in /**", path)
    return opened


def _opened(descriptor: int, rights: int) -> Opened:
    return descriptor, rights, stat.S_ISDIR(os.fstat(descriptor).st_mode)


def open_devices(paths: Iterable[str]) -> list[Opened]:
    """Descriptors of devices that may be read and written."""
    return open_paths([*paths], READ_FILE | WRITE_FILE | TRUNCATE)


def confine(
    machine: Means,
    opened: Sequence[Opened],
    *,
    children: bool,
    limits: Mapping[str, float | None],
    tasks: int | None = None,
) -> None:
    """Bind this process, for good, to its limits, the opened paths and the filter of a cell.

    Every step that the machine offers must succeed: there is no going on with less.

    Args:
        machine: what the kernel offers; what it lacks is left out.
        opened: what may be reached.
        children: whether the cell may fork and exec.
        limits: see `process.set_limits`.
        tasks: most processes of this user, None for any.

    Raises:
        OSError: when a step fails.
    """
    ruleset = landlock.Ruleset(machine.landlock) if machine.landlock else None
    if ruleset:
        landlock.allow_all(ruleset, opened)
    process.drop_capabilities()
    process.set_limits(limits, tasks=tasks)
    process.forbid_new_privileges()
    if ruleset:
        ruleset.restrict()
    if not machine.no_seccomp:
        seccomp.restrict(children=children, abi=machine.landlock, pid=os.getpid())


def enforcement(machine: Means, *, linux: bool, broker: bool) -> dict[str, EnforcedBy]:
    """Who holds which right of a cell that `confine` has bound."""
    files: EnforcedBy = "kernel" if machine.landlock else "not enforced"
    filtered: EnforcedBy = "not enforced" if machine.no_seccomp else "kernel"
    return {
        "files": files,
        "network": "broker" if broker and filtered == "kernel" else filtered,
        "processes": filtered,
        "shared memory": "kernel" if files == filtered == "kernel" else "not enforced",
        "signals": filtered,
        "memory": "kernel" if linux else "not enforced",
        "cpu": "kernel",
        "time": "process",
        "disk": "polled",
        "secrets": "process",
    }
