"""From what a skill was seen to do to the smallest permission table that we know would let it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from remit.errors import PolicyError
from remit.packs.path_patterns import parse_path, path_within

Seen = Mapping[str, frozenset[str]]
"""What was done (see `remit_sandbox.inside.observe.Observer`) to what it was done to."""

MANY = 8
"""Files of one folder from which on the folder is proposed instead."""

_STANDARD = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "XDG_CACHE_HOME", "SQLITE_TMPDIR"})
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/shm", "/proc")


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where a skill ran.

    Attributes:
        anchors: `workspace` and `data` to absolute real paths.
        tmp: its cell's temporary folder, which every cell has.
        always: real paths that every cell may read.
    """

    anchors: Mapping[str, Path]
    tmp: str
    always: Sequence[str]

    def given(self, path: str) -> bool:
        """Tell whether every cell may use this path without a permission."""
        return any(_below(path, place) for place in (self.tmp, *self.always, *_DEVICES))

    def written(self, path: str, *, folder: bool) -> str:
        """Return a path as a manifest writes it, empty for what no pattern can say."""
        for name, place in self.anchors.items():
            if _below(path, str(place)):
                path = f"${{{name}}}{path.removeprefix(str(place))}"
                break
        try:
            return parse_path(f"{path.rstrip('/')}/**" if folder else path)
        except PolicyError:
            return ""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a skill needs.

    Attributes:
        table: permission key to entries, in the manifest's words; without what is empty.
        notes: what a person should know before accepting it.
    """

    table: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def needs(seen: Seen, hosts: Iterable[str], ground: Ground, *, broad: bool = False) -> Needs:
    """Return the table.

    Args:
        seen: what was observed.
        hosts: `host:port` of every connection that the broker made.
        ground: where it ran.
        broad: whole folders instead of files, and the whole workspace: for what Python did not see.
    """
    found = _Paths(seen, ground, broad=broad)
    programs = sorted(map(_program, seen.get("run", ())))
    table = {
        "fs.read": found.read,
        "fs.write": found.write,
        "net": tuple(sorted(set(hosts))),
        "exec": tuple(dict.fromkeys(programs)),
        "env": tuple(sorted(name for name in seen.get("env", ()) if name in os.environ and name not in _STANDARD)),
        "secrets": tuple(sorted(seen.get("secret", ()))),
        "shm": ("true",) if seen.get("shm") else (),
    }
    notes = tuple(_notes(seen, table, found))
    return Needs(table={key: entries for key, entries in table.items() if entries}, notes=notes)


def by_settings(proposal: Needs, settings: Mapping[str, object]) -> Needs:
    """Return the proposal with `${setting.NAME}` for every host that a setting of the pack names."""
    named = {value.lower(): f"${{setting.{name}}}" for name, value in settings.items() if isinstance(value, str)}
    hosts = proposal.table.get("net", ())
    moved = tuple(dict.fromkeys(named.get(host.lower(), host) for host in hosts))
    return proposal if moved == hosts else replace(proposal, table={**proposal.table, "net": moved})


def _notes(seen: Seen, table: Mapping[str, tuple[str, ...]], found: _Paths) -> Iterator[str]:
    if table["exec"]:
        yield "what the programs themselves open is not seen: they run inside the same walls and may need more"
    if seen.get("fork") and not table["exec"]:
        yield 'it forks: the skill needs isolation = "process", and limits.processes for its children'
    unset = sorted(name for name in seen.get("env", ()) if name not in os.environ and name not in _STANDARD)
    if unset:
        yield f"it asked for variables that are not set here, and they are left out: {', '.join(unset[:10])}"
    if found.unsaid:
        yield f"no pattern can name {found.unsaid} of the paths"


class _Paths:
    """The file patterns of one table."""

    def __init__(self, seen: Seen, ground: Ground, *, broad: bool) -> None:
        self._seen = seen
        self._ground = ground
        self._broad = broad
        self.unsaid = 0

    @cached_property
    def write(self) -> tuple[str, ...]:
        """Patterns for `fs.write`."""
        folders = {path if os.path.isdir(path) else str(Path(path).parent) for path in self._of("make")}
        files = {path for path in self._of("change") if os.path.isfile(path)}
        if self._broad:
            folders |= {str(Path(path).parent) for path in files}
        return self._patterns(files, folders)

    @cached_property
    def read(self) -> tuple[str, ...]:
        """Patterns for `fs.read`, without what may be written and so may be read, too."""
        folders = {path for path in self._of("list") if os.path.isdir(path)}
        files = {path for path in self._of("read") if os.path.isfile(path)}
        workspace = str(self._ground.anchors.get("workspace", "/nowhere"))
        inside = [path for path in (*files, *folders) if _below(path, workspace)]
        if self._relative(workspace) or (self._broad and (inside or self._seen.get("run"))):
            folders.add(workspace)
        if self._broad:
            folders |= {str(Path(path).parent) for path in files}
        for folder in {str(Path(path).parent) for path in files}:
            if sum(str(Path(path).parent) == folder for path in files) > MANY:
                folders.add(folder)
        return tuple(p for p in self._patterns(files, folders) if not any(path_within(p, w) for w in self.write))

    def _relative(self, workspace: str) -> bool:
        """The workspace is the working directory only where all of it may be read."""
        return any(_below(os.path.realpath(path), workspace) for path in self._seen.get("relative", ()))

    def _of(self, kind: str) -> set[str]:
        real = map(os.path.realpath, self._seen.get(kind, ()))
        return {path for path in real if not self._ground.given(path)}

    def _patterns(self, files: set[str], folders: set[str]) -> tuple[str, ...]:
        found = [self._ground.written(path, folder=False) for path in files]
        found += [self._ground.written(path, folder=True) for path in folders]
        self.unsaid += found.count("")
        patterns = sorted(set(found) - {""})
        return tuple(p for p in patterns if not any(p != other and path_within(p, other) for other in patterns))


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _program(path: str) -> str:
    """Return the name of a program where that finds it, else its path."""
    found = shutil.which(Path(path).name)
    return Path(path).name if found and os.path.realpath(found) == path else path
