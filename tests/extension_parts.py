"""Writes installed extensions by hand, and deployments that enable them."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.deployment.deployment import Deployment
from remit.deployment.extending import enable_extension
from remit.deployment.init import init
from remit.deployment.trust import trust
from tests.dist_info import entry_points

NOWHERE = Path("/nonexistent/remit.toml")
_numbers = itertools.count()

HEAD = "from remit.extensions import hookimpl\n"


def write_extension(
    site: Path,
    name: str,
    code: str,
    *,
    package: str | None = None,
    entry: str | None = None,
    version: str = "1.0",
    distribution: str | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Install an extension into `site` and return its package's folder.

    Args:
        site: the site folder.
        name: of the extension.
        code: of its package's `__init__.py`, below an import of `hookimpl`.
        package: its package; by default one that no other test has, since imports last as long as the process.
        entry: what the entry point names; by default the package.
        version: of its distribution.
        distribution: name of its distribution; by default `NAME-ext`.
        files: more files of the package, path below it to text.
    """
    package = package or f"ext_{name}_{next(_numbers)}"
    distribution = distribution or f"{name.replace('_', '-')}-ext"
    root = site / package
    contents = {"__init__.py": HEAD + textwrap.dedent(code), **(files or {})}
    for path, text in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(entry_points({"remit.extensions": {name: entry or package}}))
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    lines = [f"{package}/{path},," for path in contents]
    lines += [f"{info.name}/{part},," for part in ("METADATA", "entry_points.txt", "RECORD")]
    (info / "RECORD").write_text("\n".join(lines) + "\n")
    return root


@dataclass(frozen=True, kw_only=True)
class Place:
    """A deployment's folder and a site folder."""

    folder: Path
    site: Path

    def write(self, name: str, code: str, **options: Any) -> Path:
        """Install an extension."""
        return write_extension(self.site, name, code, **options)

    def enable(self, name: str, **options: Any) -> None:
        """Enable an extension, as a person who says yes."""
        enable_extension(self.folder, name, paths=[str(self.site)], managed=NOWHERE, **options).apply()

    def add(self, name: str, code: str, **options: Any) -> Path:
        """Install an extension and enable it."""
        root = self.write(name, code)
        self.enable(name, **options)
        return root

    def edit(self, old: str, new: str) -> None:
        """Change text of `remit.toml`, and accept it."""
        path = self.folder / "remit.toml"
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new, 1))
        trust(self.folder)

    def open(self, **options: Any) -> Deployment:
        """Open the deployment."""
        return Deployment.open(self.folder, paths=[str(self.site)], **{"managed": NOWHERE, **options})


def make_place(tmp_path: Path) -> Place:
    """Return a new deployment that runs wherever tests run, without packs or extensions."""
    folder, site = tmp_path / "deployment", tmp_path / "site-packages"
    folder.mkdir()
    site.mkdir()
    init(folder, enforcement="available").apply()
    return Place(folder=folder, site=site)
