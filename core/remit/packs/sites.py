"""The site folders of an environment: which count, and what lies in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from remit.packs.folding import fold
from remit.packs.site_paths import site_paths as site_paths

_MODULES = (".py", ".pyc", ".so", ".pyd")


@dataclass(frozen=True, kw_only=True)
class Site:
    """One site folder.

    Attributes:
        path: its real path.
        stamp: its modification time in nanoseconds.
        infos: names of its `.dist-info` folders, by folded distribution name.
        modules: top-level names that could be imported from it, with the entries that provide them.
    """

    path: str
    stamp: int
    infos: dict[str, list[str]] = field(default_factory=dict)
    modules: dict[str, list[str]] = field(default_factory=dict)

    def hides(self, package: str) -> bool:
        """Whether an import of `package` would be served from this folder."""
        return bool(self.provides(package))

    def provides(self, package: str) -> str:
        """Return the file of this folder that an import of `package` would load, empty when there is none."""
        for entry in self.modules.get(package, ()):
            path = f"{self.path}/{entry}"
            if entry.endswith(_MODULES):
                return path
            if os.path.isfile(f"{path}/__init__.py"):
                return f"{path}/__init__.py"
        return ""


def read_sites(paths: Sequence[tuple[str, int]]) -> Iterator[Site]:
    """List each folder; those that are none (a zip file, one that cannot be read) are left out."""
    for path, stamp in paths:
        site = Site(path=path, stamp=stamp)
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    _note(site, entry.name)
        except OSError:
            continue
        yield site


def _note(site: Site, name: str) -> None:
    if not name.endswith(".dist-info"):
        site.modules.setdefault(name.partition(".")[0], []).append(name)
        return
    distribution = name.removesuffix(".dist-info").rpartition("-")[0]
    if distribution and not distribution.startswith("~"):
        site.infos.setdefault(fold(distribution), []).append(name)


def import_paths(paths: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the folders that a cell may import from: given ones, or those of `sys.path` that pip installs into.

    A folder counts when it holds a `.dist-info`; so neither the working directory nor the source folder of an
    editable install gets in.
    """
    return tuple(site.path for site in read_sites(site_paths(paths)) if site.infos or paths is not None)
