"""What discovery finds: packs, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit.errors import PackError, UnknownPack
from remit.packs.folding import fold as fold


@dataclass(frozen=True, kw_only=True)
class InstalledPack:
    """A pack that is installed and well-formed. Nothing of it has been imported, its manifest is unread.

    Attributes:
        name: the pack's name, which is the entry point's name.
        distribution: name of the pip distribution as its METADATA writes it.
        version: of the distribution.
        package: the top-level package that holds handlers and post-hooks.
        root: the package's folder.
        manifest: the file `pack.toml` in that folder.
        editable: installed with `pip install -e`; derived anew per run and labelled `dev`.
        files: what RECORD lists, as POSIX paths below `root.parent`; empty for an editable install,
            and in what `list_packs` answers from its index.
        metadata: the distribution's `.dist-info` folder.
        source: the project's folder of an editable install; None for others.
    """

    name: str
    distribution: str
    version: str
    package: str
    root: Path
    manifest: Path
    editable: bool
    files: tuple[str, ...] = ()
    metadata: Path
    source: Path | None = None

    @property
    def location(self) -> str:
        """What `CellSpec.location` takes: a cell imports the package that was looked at, and no other."""
        return str(self.root.parent)


@dataclass(frozen=True, kw_only=True)
class PackProblem:
    """Why a pack is left out, and what to do about it. Everything else keeps working.

    Attributes:
        pack: the pack's name, or the nearest to it that is known.
        distribution: the pip distribution; empty when it is not known.
        reason: one sentence.
        remedy: the command or line that would help; empty when there is none.
    """

    pack: str
    distribution: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"pack {self.pack}: {self.reason}{remedy}"


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """All packs of an environment.

    Attributes:
        packs: name to pack, sorted.
        problems: what was left out, sorted by pack.
    """

    packs: Mapping[str, InstalledPack] = field(default_factory=dict)
    problems: tuple[PackProblem, ...] = ()

    def get(self, name: str) -> InstalledPack:
        """Return the pack that `name` means (compared after folding).

        Raises:
            PackError: it cannot be used; the message says why.
            UnknownPack: there is none; the message has the nearest name.
        """
        folded = fold(name)
        for pack in self.packs.values():
            if fold(pack.name) == folded:
                return pack
        for problem in self.problems:
            if fold(problem.pack) == folded:
                raise PackError(f"pack {problem.pack}: {problem.reason}", remedy=problem.remedy)
        nearest = self.nearest(name)
        hint = f"; did you mean {nearest}?" if nearest else ""
        raise UnknownPack(
            f"no pack named {name!r} is installed{hint}", remedy="remit packs list shows what is installed"
        )

    def nearest(self, name: str) -> str | None:
        """Return the pack whose name, package or distribution is most like `name`, None when none is."""
        import difflib

        known: dict[str, str] = {}
        for pack in self.packs.values():
            for alias in (pack.distribution, pack.package, pack.name):
                known[fold(alias)] = pack.name
        found = difflib.get_close_matches(fold(name), list(known), n=1, cutoff=0.6)
        return known[found[0]] if found else None
