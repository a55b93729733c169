"""Looks through site folders for packs: one problem never hides another pack."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from remit.packs.contents import entry_point, own_files
from remit.packs.distribution import (
    GROUP,
    Distribution,
    Refused,
    editable_source,
    pack_names,
    read_distribution,
    read_record,
)
from remit.packs.editable import editable_root
from remit.packs.installed import InstalledPack, Inventory, PackProblem, fold
from remit.packs.sites import Site, read_sites


def survey(
    folders: Sequence[tuple[str, int]], sources: Mapping[str, str], *, seen: list[list[str]] | None = None
) -> Inventory:
    """Look through folders that `site_paths` returned.

    Args:
        folders: in the order of import.
        sources: pack to distribution, where two ship one name.
        seen: gets what the answer depends on, for `remit.packs.listing.stamps`.
    """
    watched = [] if seen is None else seen
    found: list[InstalledPack] = []
    problems: list[PackProblem] = []
    earlier: list[Site] = []
    for site in read_sites(folders):
        for name, infos in site.infos.items():
            for info in infos:
                _examine(site, name, info, earlier, found, problems, watched)
        earlier.append(site)
    packs = _settle(found, sources, problems)
    return Inventory(
        packs={pack.name: pack for pack in sorted(packs, key=lambda pack: pack.name)},
        problems=tuple(sorted(problems, key=lambda problem: (problem.pack, problem.distribution))),
    )


def _examine(
    site: Site,
    name: str,
    info: str,
    earlier: Sequence[Site],
    found: list[InstalledPack],
    problems: list[PackProblem],
    watched: list[list[str]],
) -> None:
    """Look at one `.dist-info` folder; append a pack or a problem when it names one, and what was looked at."""
    folder = f"{site.path}/{info}"
    pack, distribution = name, info.removesuffix(".dist-info").rpartition("-")[0]
    watched.append([folder])
    try:
        groups = pack_names(folder)
        if groups is None:
            return
        pack = _shown(groups[GROUP], name)
        watched[-1] += [f"{site.path}/{package}" for package in list(groups[GROUP].values())[:1]]
        _check_only_copy(site, name, earlier)
        found.append(_installed(read_distribution(site.path, folder, groups), name, earlier, watched[-1]))
    except Refused as refused:
        problems.append(PackProblem(pack=pack, distribution=distribution, reason=refused.reason, remedy=refused.remedy))
    except (OSError, ValueError) as error:
        problems.append(PackProblem(pack=pack, distribution=distribution, reason=f"it cannot be examined: {error!a}"))


def _shown(entries: Mapping[str, str], name: str) -> str:
    """Return the pack's name for messages: printable ASCII, whatever the entry point says."""
    first = next(iter(entries), name)
    return first if first.isascii() and first.isprintable() and len(first) <= 60 else name


def _check_only_copy(site: Site, name: str, earlier: Iterable[Site]) -> None:
    if len(site.infos[name]) > 1:
        raise Refused(
            f"there are {len(site.infos[name])} copies of it in {site.path}",
            f"pip uninstall {name}, then install it again",
        )
    for first in earlier:
        if name in first.infos:
            raise Refused(f"the copy in {site.path} is hidden by the one in {first.path}, and gives nothing")


def _installed(distribution: Distribution, folded: str, earlier: Sequence[Site], watched: list[str]) -> InstalledPack:
    name, package = entry_point(distribution.groups)
    if fold(distribution.name) != folded:
        raise Refused(f"its METADATA names another distribution, {distribution.name}")
    record = read_record(distribution.folder)
    source = editable_source(distribution.folder)
    commands = distribution.groups.get("console_scripts", {})
    files = own_files(
        record,
        package=package,
        folder=distribution.folder.name,
        commands=commands,
        loaders=source is not None,
    )
    if source is None:
        root = _package_root(distribution, package, files, earlier)
    else:
        watched += [f"{distribution.folder}/direct_url.json"]
        watched += [f"{distribution.site}/{path}" for path in record if path.endswith(".pth")]
        root = editable_root(distribution.site, record, package, source)
        watched[1] = str(root)
    if not os.path.isfile(f"{root}/pack.toml"):
        raise _forgotten(package)
    return InstalledPack(
        name=name,
        distribution=distribution.name,
        version=distribution.version,
        package=package,
        root=root,
        manifest=root / "pack.toml",
        editable=source is not None,
        files=files if source is None else (),
        metadata=distribution.folder,
        source=source,
    )


def _package_root(distribution: Distribution, package: str, files: Sequence[str], earlier: Sequence[Site]) -> Path:
    """Return the package's folder, having made sure that it is the distribution's own and would be imported."""
    root = distribution.site / package
    listed = set(files)
    if f"{package}/__init__.py" not in listed:
        raise Refused(f"it ships no package {package}", "its entry point must name a package with __init__.py")
    if f"{package}/pack.toml" not in listed:
        raise _forgotten(package)
    if root.is_symlink() or not os.path.isfile(root / "__init__.py"):
        raise Refused(f"its files are not at {root}", "reinstall it: pip install --force-reinstall")
    for site in earlier:
        if site.hides(package):
            raise Refused(f"a folder or module named {package} in {site.path} hides its package")
    return root


def _forgotten(package: str) -> Refused:
    return Refused(
        f"its package {package} has no pack.toml",
        f'with setuptools add [tool.setuptools.package-data] {package} = ["pack.toml"]; '
        "hatchling includes it by itself",
    )


def _settle(
    found: Sequence[InstalledPack], sources: Mapping[str, str], problems: list[PackProblem]
) -> list[InstalledPack]:
    """Keep one pack per name and per package; report the others."""
    chosen = _one_each(found, lambda pack: fold(pack.name), sources, problems)
    return _one_each(chosen, lambda pack: str(pack.root), {}, problems)


def _one_each(
    found: Sequence[InstalledPack],
    key: Callable[[InstalledPack], str],
    sources: Mapping[str, str],
    problems: list[PackProblem],
) -> list[InstalledPack]:
    groups: dict[str, list[InstalledPack]] = {}
    for pack in found:
        groups.setdefault(key(pack), []).append(pack)
    kept: list[InstalledPack] = []
    for rivals in groups.values():
        if len(rivals) == 1:
            kept += rivals
            continue
        wanted = {fold(source) for name, source in sources.items() if fold(name) == fold(rivals[0].name)}
        winners = [pack for pack in rivals if fold(pack.distribution) in wanted]
        kept += winners
        problems += [_rivalry(pack, rivals) for pack in rivals if not winners]
    return kept


def _rivalry(pack: InstalledPack, rivals: Sequence[InstalledPack]) -> PackProblem:
    others = " and ".join(sorted(rival.distribution for rival in rivals))
    if len({fold(rival.name) for rival in rivals}) == 1:
        reason = f"{others} both ship a pack of this name"
        remedy = f'say which: from = "{pack.distribution}" under [packs.{pack.name}] in remit.toml'
    else:
        reason = f"{others} both install the package {pack.package}"
        remedy = "uninstall one of them"
    return PackProblem(pack=pack.name, distribution=pack.distribution, reason=reason, remedy=remedy)
