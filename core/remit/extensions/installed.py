"""Finds installed extensions without running a line of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remit.extensions.values import ExtensionProblem
from remit.packs.distribution import Refused, editable_source, pack_names, read_distribution, read_record
from remit.packs.editable import editable_root
from remit.packs.folding import fold
from remit.packs.site_paths import site_paths
from remit.packs.sites import Site, read_sites

GROUP = "remit.extensions"
"""Entry-point group of extensions."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
_ENTRY = re.compile(r"(?P<package>[A-Za-z_]\w*)(?P<more>(\.[A-Za-z_]\w*)*)(:(?P<object>[A-Za-z_]\w*))?", re.ASCII)
_LONGEST = 24


@dataclass(frozen=True, kw_only=True)
class InstalledExtension:
    """An extension that is installed and well-formed. Nothing of it has been imported.

    Attributes:
        name: the entry point's name.
        distribution: name of the pip distribution as its METADATA writes it.
        version: of the distribution.
        entry: what the entry point names, `package`, `package.module` or `package.module:object`.
        package: its top-level package.
        root: the package's folder.
        editable: installed with `pip install -e`.
        files: what RECORD lists, as POSIX paths below `root.parent`; empty for an editable install.
        metadata: the distribution's `.dist-info` folder.
    """

    name: str
    distribution: str
    version: str
    entry: str
    package: str
    root: Path
    editable: bool
    files: tuple[str, ...] = ()
    metadata: Path

    @property
    def source(self) -> str:
        """Distribution and version, for people."""
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True, kw_only=True)
class ExtensionInventory:
    """All extensions of an environment.

    Attributes:
        extensions: name to extension, sorted.
        problems: name to why it is left out.
    """

    extensions: Mapping[str, InstalledExtension] = field(default_factory=dict)
    problems: Mapping[str, ExtensionProblem] = field(default_factory=dict)

    def named(self, name: str) -> InstalledExtension | None:
        """Return the extension that `name` means (compared after folding), None when there is none."""
        return next((one for known, one in self.extensions.items() if fold(known) == fold(name)), None)

    def nearest(self, name: str) -> str | None:
        """Return the extension whose name, package or distribution is most like `name`, None when none is."""
        import difflib

        known = {fold(alias): one.name for one in self.extensions.values() for alias in (one.distribution, one.package)}
        known.update((fold(one), one) for one in (*self.problems, *self.extensions))
        found = difflib.get_close_matches(fold(name), list(known), n=1, cutoff=0.6)
        return known[found[0]] if found else None


def find_extensions(paths: Sequence[str] | None = None) -> ExtensionInventory:
    """Find every extension on `paths` (default: `sys.path` without the working directory)."""
    found: dict[str, list[InstalledExtension]] = {}
    problems: dict[str, ExtensionProblem] = {}
    earlier: list[Site] = []
    for site in read_sites(site_paths(paths)):
        for distribution, infos in site.infos.items():
            for one in _of_distribution(site, distribution, infos, earlier):
                if isinstance(one, InstalledExtension):
                    found.setdefault(fold(one.name), []).append(one)
                else:
                    problems[one.extension] = one
        earlier.append(site)
    extensions = {rivals[0].name: rivals[0] for rivals in found.values() if len(rivals) == 1}
    for rivals in found.values():
        if len(rivals) > 1:
            problems[rivals[0].name] = _rivalry(rivals)
    return ExtensionInventory(extensions=dict(sorted(extensions.items())), problems=dict(sorted(problems.items())))


def _of_distribution(
    site: Site, name: str, infos: Sequence[str], earlier: Sequence[Site]
) -> Iterator[InstalledExtension | ExtensionProblem]:
    if any(name in first.infos for first in earlier):
        return  # the copy that Python would take is looked at already
    for info in infos:
        folder = f"{site.path}/{info}"
        try:
            groups = pack_names(folder, GROUP)
        except Refused as refused:
            yield ExtensionProblem(extension=name, reason=refused.reason, remedy=refused.remedy)
            continue
        for entry in groups[GROUP] if groups else ():
            yield _examined(site, folder, groups or {}, entry, earlier, copies=len(infos))


def _examined(
    site: Site,
    folder: str,
    groups: Mapping[str, Mapping[str, str]],
    entry: str,
    earlier: Sequence[Site],
    *,
    copies: int,
) -> InstalledExtension | ExtensionProblem:
    shown = entry if entry.isascii() and entry.isprintable() and len(entry) <= 60 else "(a name that cannot be shown)"
    try:
        if copies > 1:
            raise Refused(f"there are {copies} copies of its distribution in {site.path}", "uninstall and reinstall it")
        return _installed(site, folder, groups, entry, earlier)
    except Refused as refused:
        return ExtensionProblem(extension=shown, reason=refused.reason, remedy=refused.remedy)
    except (OSError, ValueError) as error:
        return ExtensionProblem(extension=shown, reason=f"it cannot be examined: {error!a}")


def _installed(
    site: Site, folder: str, groups: Mapping[str, Mapping[str, str]], name: str, earlier: Sequence[Site]
) -> InstalledExtension:
    entry = groups[GROUP][name]
    package = _package(name, entry)
    distribution = read_distribution(site.path, folder, groups)
    record = read_record(distribution.folder)
    source = editable_source(distribution.folder)
    if source is not None:
        root = editable_root(distribution.site, record, package, source)
    else:
        root = distribution.site / package
        if f"{package}/__init__.py" not in record or root.is_symlink() or not os.path.isfile(root / "__init__.py"):
            raise Refused(f"its distribution ships no package {package}", "an extension is a package with __init__.py")
        hiding = next((first.path for first in earlier if first.hides(package)), None)
        if hiding is not None:
            raise Refused(f"a folder or module named {package} in {hiding} hides its package")
    return InstalledExtension(
        name=name,
        distribution=distribution.name,
        version=distribution.version,
        entry=entry,
        package=package,
        root=root,
        editable=source is not None,
        files=record if source is None else (),
        metadata=distribution.folder,
    )


def _package(name: str, entry: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise Refused(
            f"{name[:60]!a} is no name for an extension",
            f"lower-case ASCII letters, digits and single _ between, at most {_LONGEST} characters",
        )
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise Refused(f"its entry point names {entry[:80]!a}", "write package, package.module or package.module:object")
    package = found["package"]
    if package in sys.stdlib_module_names or package in ("remit", "remit_sandbox"):
        raise Refused(f"its package {package} has a name that is taken", "rename the package")
    return package


def _rivalry(rivals: Sequence[InstalledExtension]) -> ExtensionProblem:
    others = " and ".join(sorted(rival.distribution for rival in rivals))
    return ExtensionProblem(
        extension=rivals[0].name,
        reason=f"{others} both ship an extension of this name",
        remedy="uninstall one of them",
    )
