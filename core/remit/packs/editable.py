"""Finds the package of an editable install: its path-only `.pth` is read, never executed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from remit.packs.distribution import Refused

_LARGEST = 64 * 1024
_REMEDY = "use a src layout or hatchling as build backend; remit packs try DIR always works"


def editable_root(site: Path, record: Iterable[str], package: str, source: Path) -> Path:
    """Return the folder of `package` in a project that was installed with `pip install -e`.

    Args:
        site: the site folder that the `.pth` file lies in.
        record: paths as RECORD writes them.
        package: the pack's package.
        source: the project's folder, from `direct_url.json`.

    Raises:
        Refused: the `.pth` would run code, or leads to no such package inside the project.
    """
    loaders = [path for path in record if path.endswith(".pth") and "/" not in path and "\\" not in path]
    if any(path.endswith(".start") for path in record):
        raise Refused("it installs a .start file, which every Python would run")
    if not loaders:
        raise Refused("it is an editable install without a .pth file", _REMEDY)
    home = os.path.realpath(source)
    for folder in [folder for loader in loaders for folder in _folders(site, loader)]:
        root = os.path.realpath(os.path.join(folder, package))
        if os.path.isfile(os.path.join(root, "__init__.py")):
            return _inside(Path(root), home)
    raise Refused(f"package {package} is not where its .pth file says", f"pip install -e {source}")


def _folders(site: Path, loader: str) -> list[str]:
    path = site / loader
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError):
        raise Refused(f"its {loader[:80]!a} cannot be read", "reinstall it: pip install -e DIR") from None
    lines = [line.strip() for line in text.splitlines()]
    if len(data) > _LARGEST or any(not line.isprintable() for line in lines if not line.startswith("import")):
        raise Refused(f"its {loader[:80]!a} names a folder that cannot be", "reinstall it: pip install -e DIR")
    if any(line.startswith(("import ", "import\t")) for line in lines):
        raise Refused("it is an editable install by import hook, which would have to be run", _REMEDY)
    return [os.path.join(site, line) for line in lines if line and not line.startswith("#")]


def _inside(root: Path, home: str) -> Path:
    if not str(root).startswith(home.rstrip("/") + os.sep):
        raise Refused("its .pth file leads out of the project that was installed", "pip install -e DIR again")
    return root
