"""What a person means by a pack's name, a wheel or a project's folder: looked at, and nothing of it run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Literal

from remit.deployment.try_pack import development_pack
from remit.errors import ManifestError, PackError, UnknownPack
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack, PackProblem
from remit.packs.manifest import Manifest, read_pack_manifest
from remit.packs.wheel import WheelFacts, read_wheel

Kind = Literal["installed", "wheel", "folder"]
"""What was looked at."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One version of a pack, somewhere.

    Attributes:
        kind: what was looked at.
        where: the installed pack's folder, the wheel's file or the project's folder.
        pack: the pack's name; empty for a library, or where no name can be read.
        distribution: its distribution.
        version: of the distribution.
        summary: one line of its author.
        package: its package; empty where none can be read.
        manifest: its manifest; None where there is none that can be read.
        requires: what it depends on, as METADATA writes it.
        problems: why it must not be used; empty when nothing speaks against it.
        notes: what to know about it.
        installed: the pack as a cell would load it; None for a wheel, which has to be unpacked first.
        wheel: what was read of the wheel; None for the other kinds.
    """

    kind: Kind
    where: Path
    pack: str
    distribution: str
    version: str
    summary: str = ""
    package: str = ""
    manifest: Manifest | None = None
    requires: tuple[str, ...] = ()
    problems: tuple[PackProblem, ...] = ()
    notes: tuple[str, ...] = ()
    installed: InstalledPack | None = None
    wheel: WheelFacts | None = None

    @property
    def title(self) -> str:
        """Its name and version, and where it was found."""
        place = {"installed": "installed", "wheel": self.where.name, "folder": f"folder {self.where}"}[self.kind]
        return f"{self.pack or self.distribution} {self.version} ({place})"


def look_at(thing: str, *, paths: Sequence[str] | None = None) -> Subject:
    """Find and read what `thing` means: a wheel, a folder, or the name of an installed pack.

    Args:
        thing: as a person writes it.
        paths: site folders; None for this interpreter's own.

    Raises:
        PackError: there is no such thing, or it cannot be read at all.
        ManifestError: the manifest of a folder or an installed pack is wrong.
    """
    if thing.endswith(".whl") and not os.path.lexists(thing):
        raise PackError(f"there is no file {thing}", remedy="write where the wheel lies, or the name of a pack")
    if thing.endswith(".whl"):
        return _wheel(read_wheel(thing))
    if os.path.isdir(thing):
        return _present("folder", development_pack(Path(thing)), Path(thing).resolve())
    try:
        installed = discover(paths).get(thing)
    except UnknownPack as error:
        remedy = f"`remit packs add {thing}` shows it before anything of it is installed"
        raise UnknownPack(error.message, remedy=remedy) from None
    return _present("installed", installed, installed.root)


def _wheel(facts: WheelFacts) -> Subject:
    return Subject(
        kind="wheel",
        where=facts.path,
        pack=facts.pack,
        distribution=facts.distribution,
        version=facts.version,
        summary=facts.manifest.summary if facts.manifest else facts.summary,
        package=facts.package,
        manifest=facts.manifest,
        requires=facts.requires,
        problems=facts.problems,
        notes=facts.notes,
        wheel=facts,
    )


def _present(kind: Kind, installed: InstalledPack, where: Path) -> Subject:
    problems: tuple[PackProblem, ...] = ()
    manifest = None
    try:
        manifest = read_pack_manifest(installed)
    except ManifestError as error:
        broken = PackProblem(
            pack=installed.name, distribution=installed.distribution, reason=error.message, remedy=error.remedy
        )
        problems = (broken,)
    return Subject(
        kind=kind,
        where=where,
        pack=installed.name,
        distribution=installed.distribution,
        version=installed.version,
        summary=manifest.summary if manifest else "",
        package=installed.package,
        manifest=manifest,
        requires=_requires(installed) if kind == "installed" else (),
        problems=problems,
        notes=("a development install: derived anew per run, its files are not held",) if installed.editable else (),
        installed=installed,
    )


def _requires(installed: InstalledPack) -> tuple[str, ...]:
    try:
        with (installed.metadata / "METADATA").open("rb") as file:
            headers = BytesHeaderParser().parsebytes(file.read(512 * 1024))
    except OSError:
        return ()
    return tuple(" ".join(str(one).split()) for one in headers.get_all("Requires-Dist", []))
