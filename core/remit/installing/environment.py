"""The Python environment that packs are installed into, read without importing anything of it."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from remit.errors import RunError
from remit.packs.discovery import discover
from remit.packs.distribution import Refused, read_record
from remit.packs.folding import fold
from remit.packs.installed import Inventory
from remit.packs.sites import read_sites, site_paths


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One installed distribution.

    Attributes:
        name: as its folder spells it.
        version: of its folder's name.
        folder: its `.dist-info` folder.
    """

    name: str
    version: str
    folder: Path

    @property
    def shown(self) -> str:
        """Its name as people write it, with dashes."""
        return self.name.replace("_", "-")

    @cached_property
    def requires(self) -> tuple[str, ...]:
        """Its requirements as METADATA writes them; empty when that cannot be read."""
        from email.parser import BytesHeaderParser

        try:
            headers = BytesHeaderParser().parsebytes((self.folder / "METADATA").read_bytes())
        except (OSError, ValueError):
            return ()
        return tuple(" ".join(str(one).split()) for one in headers.get_all("Requires-Dist", []))

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Absolute normal paths of what its RECORD lists; empty when there is none."""
        try:
            listed = read_record(self.folder)
        except Refused:
            return ()
        return tuple(os.path.normpath(self.folder.parent / path) for path in listed)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where packs are installed.

    Attributes:
        python: its interpreter, which has pip.
        prefix: its root folder.
        site: the folder that packages are put into.
        scripts: the folder that commands are put into.
        paths: site folders in the order of import; None for those of this process.
    """

    python: str
    prefix: Path
    site: Path
    scripts: Path
    paths: tuple[str, ...] | None = None

    @classmethod
    def here(cls) -> Environment:
        """Return the environment that Remit itself runs in.

        Raises:
            RunError: it has no pip.
        """
        if find_spec("pip") is None:
            raise RunError(
                f"the Python environment in {sys.prefix} has no pip, which fetches and installs packs",
                remedy="python -m ensurepip --upgrade\n(in an environment that uv made: uv pip install pip)",
            )
        places = sysconfig.get_paths()
        return cls(
            python=sys.executable,
            prefix=Path(sys.prefix),
            site=Path(places["purelib"]),
            scripts=Path(places["scripts"]),
        )

    def installed(self) -> dict[str, Installed]:
        """Return every distribution that is installed now, by folded name; of two copies the one that is imported."""
        return dict(self._found())

    def _found(self) -> Iterator[tuple[str, Installed]]:
        seen: set[str] = set()
        for site in read_sites(site_paths(self.paths)):
            for name, folders in site.infos.items():
                if name not in seen:
                    seen.add(name)
                    spelled, _, version = folders[0].removesuffix(".dist-info").rpartition("-")
                    yield name, Installed(name=spelled, version=version, folder=Path(site.path, folders[0]))

    def inventory(self, *before: str, sources: Mapping[str, str] | None = None) -> Inventory:
        """Discover the packs of this environment, with the folders `before` put in front."""
        paths = None if self.paths is None and not before else self.import_order(*before)
        return discover(paths, sources=sources)

    def import_order(self, *before: str) -> list[str]:
        """Return the site folders, with `before` put in front."""
        own = self.paths if self.paths is not None else [path for path, _ in site_paths()]
        return [*before, *own]

    def owner(self, path: str, installed: Mapping[str, Installed]) -> str | None:
        """Return the folded name of the distribution whose RECORD lists an absolute path, None when none does."""
        return next((name for name, one in installed.items() if path in one.files), None)


def same(one: str, other: str) -> bool:
    """Whether two names of distributions mean the same one."""
    return fold(one) == fold(other)
